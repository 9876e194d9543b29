"""The decision rule on cases computed by hand."""

import numpy as np
import pytest

from engine.config.esm import OnlineSection
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.decide import Hit, Probe, Retrieval, _nearest, choose, retrieve

VECTOR = np.ones(2, dtype=np.float32)
ONLINE = OnlineSection(beta=1.0, rho=2.0, k_scale=3.0, tau_null=0.1, k_retrieve=2, min_sim=0.5)


def _entry(name: str, quality: float = 1.0, wrong: bool = True, m: int = 1) -> Entry:
    return Entry(name, 0, m, quality, VECTOR if wrong else None, "train-0")


def _hit(ahat: float) -> Hit:
    return Hit(_entry("w"), ahat, ahat)


def test_score_and_alpha() -> None:
    choice = choose([_hit(0.5), _hit(0.4)], 0.3, Probe([-1.0, -0.8], -0.9), ONLINE)
    assert choice.scores == pytest.approx([0.5 - 0.2, 0.4 + 0.2])
    assert (choice.index, choice.gate) == (1, "chosen")
    assert choice.alpha == pytest.approx(3 * 0.6)


@pytest.mark.parametrize(
    ("null", "ahat", "gate"), [(0.6, 0.5, "null_best"), (0.5, 0.5, "tie"), (0.0, 0.05, "tau_null")]
)
def test_null_wins(null: float, ahat: float, gate: str) -> None:
    choice = choose([_hit(ahat)], null, None, ONLINE)
    assert (choice.gate, choice.index, choice.alpha) == (gate, None, 0.0)


def test_null_has_the_support_of_any_right_entry_that_was_retrieved() -> None:
    """Also of the last of many."""
    far = [Hit(_entry(f"r{n}", wrong=False), 0.9 - n / 100, n / 10) for n in range(12)]
    assert Retrieval(None, 12, far).null_ahat() == pytest.approx(1.1)


def test_retrieval_looks_one_control_point_back_and_keeps_the_nearest() -> None:
    keys = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], dtype=np.float32)
    entries = [_entry("a", 0.5), _entry("b", wrong=False), _entry("c"), _entry("later", m=2)]
    memory = EpisodicMemory.of(entries, keys)
    found = retrieve(memory, 2, np.array([[2.0, 0.0]], dtype=np.float32), ONLINE)
    assert [hit.entry.tool_name for hit in found.hits] == ["a", "b"]
    assert (found.size, found.gate) == (3, None)
    assert found.null_ahat() == pytest.approx(0.8)
    assert found.candidates(3)[0].ahat == pytest.approx(0.5)


def test_retrieval_is_the_literal_one_over_layers_control_points_and_equal_keys() -> None:
    """Each key against the state of its own layer, best first, the earlier entry first among equals."""
    rng = np.random.default_rng(3)
    keys = rng.normal(size=(60, 8)).astype(np.float32)
    keys[30:] = keys[:30]
    layers, points = rng.integers(0, 3, 60) * 4 + 1, rng.integers(1, 4, 60)
    entries = [Entry(f"e{i}", int(layers[i]), int(points[i]), 1.0, VECTOR, "x") for i in range(60)]
    states = rng.normal(size=(3, 8)).astype(np.float32)
    memory = EpisodicMemory.of(entries, keys)
    online = ONLINE.model_copy(update={"k_retrieve": 7, "min_sim": -1.0})
    for m in (1, 2, 3):
        unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        query = states / np.linalg.norm(states, axis=1, keepdims=True)
        cosines = {
            i: float(unit[i] @ query[memory.layers.index(int(layers[i]))])
            for i in range(60)
            if points[i] == m
        }
        literal = sorted(cosines, key=lambda i: (-round(cosines[i], 5), i))
        rows, similarity = memory.similarities(m, states)
        assert rows.tolist() == sorted(cosines)
        assert similarity == pytest.approx([cosines[i] for i in sorted(cosines)], abs=1e-6)
        hits = retrieve(memory, m + 1, states, online).hits
        assert [hit.entry.tool_name for hit in hits] == [f"e{i}" for i in literal[:7]]
        assert memory.only(range(60)).similarities(m, states)[1] == pytest.approx(similarity, abs=1e-6)


@pytest.mark.parametrize(
    ("m", "state", "gate"), [(2, [-1.0, 0.0], "min_sim"), (9, [1.0, 0.0], "min_entries")]
)
def test_gates_before_probing(m: int, state: list[float], gate: str) -> None:
    memory = EpisodicMemory.of([_entry("a")], np.array([[1, 0]], dtype=np.float32))
    assert retrieve(memory, m, np.array([state], dtype=np.float32), ONLINE).gate == gate


def test_keys_of_any_length_are_directions() -> None:
    """A similarity is a cosine, whether keys were stored raw or as unit vectors."""
    entries = [Entry(f"e{i}", 0, 1, 1.0, None, "x") for i in range(2)]
    keys = np.array([[3.0, 4.0], [0.0, 2.0]], dtype=np.float32)
    rows, found = EpisodicMemory.of(entries, keys).similarities(1, np.array([[0.0, 5.0]], dtype=np.float32))
    assert rows.tolist() == [0, 1] and found.tolist() == pytest.approx([0.8, 1.0])


def test_where_no_neighbour_has_a_vector_there_is_nothing_to_choose_from() -> None:
    keys = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
    memory = EpisodicMemory.of([_entry("a", wrong=False), _entry("b", wrong=False), _entry("c")], keys)
    near_right, near_wrong = (np.array([state], dtype=np.float32) for state in ([1.0, 0.0], [0.0, 1.0]))
    assert retrieve(memory, 2, near_right, ONLINE).gate == "no_candidates", (
        "the two nearest are right entries"
    )
    found = retrieve(memory, 2, near_wrong, ONLINE)
    assert found.gate is None and [hit.entry.tool_name for hit in found.candidates(5)] == ["c"]
    assert found.null_ahat() == pytest.approx(found.hits[1].similarity) and found.top_similarity == 1.0


def test_gates_hold_at_their_very_value() -> None:
    """As many entries as asked for, and as similar, as gainful as asked for: enough."""
    memory = EpisodicMemory.of([_entry("a"), _entry("b")], np.array([[0.6, 0.8], [0, 1]], dtype=np.float32))
    state = np.array([[1.0, 0.0]], dtype=np.float32)
    similarity = float(np.float32(0.6))
    at = {"min_entries": 2, "min_sim": similarity}
    assert retrieve(memory, 2, state, ONLINE.model_copy(update=at)).gate is None
    assert retrieve(memory, 2, state, ONLINE.model_copy(update=at | {"min_entries": 3})).gate == "min_entries"
    assert retrieve(memory, 2, state, ONLINE.model_copy(update=at | {"min_sim": 0.61})).gate == "min_sim"
    assert choose([_hit(0.1)], 0.0, None, ONLINE).gate == "chosen", "tau_null is 0.1"
    nothing = retrieve(memory, 3, state, ONLINE.model_copy(update={"min_entries": 0}))
    assert (nothing.gate, nothing.size) == ("min_entries", 0), "of no entry none is the nearest"


def test_candidates_are_ranked_by_similarity_times_quality_and_the_nearer_first_among_equals() -> None:
    hits = [
        Hit(_entry(name, wrong=name != "r"), similarity, ahat)
        for name, similarity, ahat in (("x", 0.9, 0.3), ("r", 0.8, 2.0), ("y", 0.7, 0.6), ("z", 0.6, 0.6))
    ]
    found = Retrieval(None, 4, hits)
    assert [hit.entry.tool_name for hit in found.candidates(2)] == ["y", "z"]
    assert [hit.entry.tool_name for hit in found.candidates(9)] == ["y", "z", "x"]
    assert found.null_ahat() == 2.0 and found.top_similarity == 0.9


@pytest.mark.parametrize("k", [1, 7, 99, 100, 500])
def test_of_many_that_are_as_near_the_earliest_are_taken(k: int) -> None:
    alike = np.zeros(100, dtype=np.float32)
    assert _nearest(alike, k).tolist() == [*range(100)][:k]
    alike[[40, 90]] = 1.0
    others = [place for place in range(100) if place not in (40, 90)]
    assert _nearest(alike, k).tolist() == [40, 90, *others][:k]
