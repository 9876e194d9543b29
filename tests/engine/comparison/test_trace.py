"""Where two traces part."""

from __future__ import annotations

import pytest

from engine.comparison.trace import Step, Value, align, same


def step(key: str, text: str = "", probe: float = -0.1, **decided: object) -> Step:
    return Step(key, key, decided, {"e": probe}, text, weighed_as="probe")  # type: ignore[arg-type]


def test_the_first_step_that_was_decided_otherwise() -> None:
    a = [step("1", "same"), step("2", "same", probe=-0.5, α=1.0), step("3", "x", α=0.0), step("4", "y")]
    b = [step("1", "same"), step("2", "same", probe=-0.2, α=1.0), step("3", "x", α=2.0), step("4", "z")]
    traces = align(a, b)
    assert traces.first == 2 and traces.first_weighed == 1
    assert traces.summary == "3: α" and traces.steps[3].differs == ("text",)


def test_a_text_may_differ_later_than_what_was_decided() -> None:
    a = [step("1", "same"), step("2", "same", α=1.0), step("3", "x")]
    b = [step("1", "same"), step("2", "same", α=2.0), step("3", "y")]
    assert (align(a, b).first, align(a, b).first_text) == (1, 2)
    later = align([*a, step("4", probe=-0.5)], [*b, step("4", probe=-0.2)])
    assert later.first_weighed is None, "only what was weighed otherwise before the runs part"
    assert (align(a, a).first, align(a, a).first_text, align(a, a).summary) == (None, None, "")


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (0.5, None, False),
        (None, 0.5, False),
        (None, None, True),
        (0.5, "0.5", False),
        ("x", "x", True),
        (0.0, 5e-5, True),
    ],
)
def test_a_value_that_one_run_lacks_is_another_value(a: Value, b: Value, equal: bool) -> None:
    assert same(a, b) is equal


def test_rounding_is_no_difference() -> None:
    a, b = [step("1", probe=-0.0148841, α=4.010874)], [step("1", probe=-0.0148839, α=4.010879)]
    assert align(a, b).first is None and align(a, b).first_weighed is None
    assert align(a, [step("1", α=4.05)]).first == 0


def test_a_step_that_one_run_lacks_is_a_difference_in_its_place() -> None:
    a = [step("1"), step("2"), step("answer")]
    b = [step("1"), step("2"), step("3"), step("tail"), step("answer")]
    for traces, words in ((align(a, b), "only in B"), (align(b, a), "only in A")):
        assert [pair.step.key for pair in traces.steps] == ["1", "2", "3", "tail", "answer"]
        assert traces.first == 2 and traces.steps[2].differs == (words,)


def test_steps_that_either_run_lacks_stand_where_they_were_made() -> None:
    a = [step("1"), step("2"), step("3"), step("answer")]
    b = [step("1"), step("x"), step("answer")]
    assert [pair.step.key for pair in align(a, b).steps] == ["1", "x", "2", "3", "answer"]


def test_of_names_that_differ_those_of_the_first_run_come_first() -> None:
    a, b = [step("1", "x", α=1.0, gate="best")], [step("1", "y", probe=-0.9, entry="e", gate="null", α=2.0)]
    assert align(a, b).summary == "1: α, gate, entry, text, probe"


def test_of_traces_as_long_as_each_other_the_first_gives_the_order() -> None:
    a, b = [step("1"), step("2"), step("answer")], [step("2"), step("1"), step("answer")]
    assert [pair.step.key for pair in align(a, b).steps] == ["1", "2", "answer"]
    assert [pair.step.key for pair in align(b, a).steps] == ["2", "1", "answer"]
