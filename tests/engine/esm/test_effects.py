"""Vectors that help, and vectors that change as much for the worse as for the better."""

from __future__ import annotations

from engine.esm.mining.effects import layer_effects, no_better_than_chance, nothing_to_inject


def pairs(layer: int, becomes_right: int, becomes_wrong: int, stay: int = 50) -> list[dict[str, object]]:
    outcomes = [(True, False)] * becomes_right + [(False, True)] * becomes_wrong + [(False, False)] * stay
    return [
        {"layer": layer, "steered_correct": with_vector, "wrong_correct": without}
        for with_vector, without in outcomes
    ]


def test_as_many_for_the_worse_as_for_the_better_is_chance() -> None:
    found = layer_effects([*pairs(8, 33, 31), *pairs(12, 31, 44)])
    assert [(e.layer, e.pairs, e.becomes_right, e.becomes_wrong) for e in found] == [
        (8, 114, 33, 31),
        (12, 125, 31, 44),
    ]
    assert not any(effect.helps for effect in found)
    warning = no_better_than_chance(found)
    assert warning == (
        "with their vectors, wrong answers became right no more often than right ones wrong: layer 8: 33 became "
        "right, 31 "
        "wrong (p = 0.9); layer 12: 31 became right, 44 wrong (p = 0.17). What this library steers is chance: "
        "mine other "
        "layers, another k_scale or more examples"
    )


def test_one_layer_that_helps_is_enough() -> None:
    assert no_better_than_chance(layer_effects([*pairs(8, 5, 5), *pairs(12, 30, 5)])) is None


def test_vectors_that_harm_beyond_chance_do_not_help() -> None:
    (effect,) = layer_effects(pairs(8, 5, 40))
    assert effect.p < 0.001 and not effect.helps
    assert no_better_than_chance([effect]) is not None


def test_layers_are_told_from_the_lowest_on() -> None:
    found = layer_effects([*pairs(16, 1, 0), *pairs(1, 0, 2), *pairs(8, 1, 1)])
    assert [effect.layer for effect in found] == [1, 8, 16]


def test_pairs_that_were_not_verified_say_nothing() -> None:
    assert layer_effects([{"layer": 8}]) == []
    assert no_better_than_chance([]) is None


def test_a_library_without_a_vector_is_warned_of() -> None:
    assert nothing_to_inject([], [{"kind": "right"}, {"kind": "wrong"}]) is None
    assert nothing_to_inject(pairs(8, 2, 1, 0), [{"kind": "right"}]) == (
        "of 3 pairs none that is kept has a vector which turned its own wrong answer right: the memory has nothing to "
        "inject, and esm will answer as the model does alone. Mine other layers, change online.k_scale, take more "
        "examples, raise offline_mine.keep_top_C, or set offline_mine.verify to false"
    )
