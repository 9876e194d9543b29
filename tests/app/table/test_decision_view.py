"""Which decisions are shown, in which order, while the log grows, is scrubbed back, and outcomes come in."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS, sign_against_greedy
from app.table.decision_rows import DecisionRows
from app.table.decision_view import DecisionView
from app.table.filter import predicate
from app.table.filter_parser import parse
from engine.events import DecisionTaken, Event, ExampleEvaluated, QuestionAsked, RolloutsMined
from tests.synthetic_run import SyntheticRun

EVENTS: list[Event] = list(SyntheticRun(examples=12).events())


def folded(upto: int, state: RunState | None = None, begin: int = 0) -> RunState:
    state = state or RunState()
    for k, event in enumerate(EVENTS[begin:upto], begin):
        state.apply(event, k * 10, 9)
    return state


def shown(view: DecisionView) -> list[int]:
    return [view.decision(position) for position in range(len(view))]


def expected(state: RunState, text: str) -> list[int]:
    expression = parse(text, DECISION_FIELDS)
    assert expression is not None
    test = predicate(expression, DecisionRows(state.esm))
    return [row for row in range(len(state.esm.decisions)) if test(row)]


FILTERS = [
    "chosen:null",
    "correct and alpha>0.5",
    "not correct",
    "differs",
    "stamps",
    "method:esm m>=3",
    "steered",
]


@pytest.mark.parametrize("text", FILTERS)
def test_a_growing_log_shows_what_a_fresh_look_would(text: str) -> None:
    """Rows that came before their outcome are found when it comes."""
    state = RunState()
    view = DecisionView(state.esm)
    view.filter(parse(text, DECISION_FIELDS))
    for begin in range(0, len(EVENTS), 17):
        folded(min(begin + 17, len(EVENTS)), state, begin)
        view.update(state.esm)
        assert view.complete
        assert shown(view) == expected(state, text)
    assert shown(view)


@pytest.mark.parametrize("text", FILTERS)
def test_scrubbing_back_and_on(text: str) -> None:
    """A view that is handed states of other moments shows each as if it had never seen another."""
    live = folded(len(EVENTS))
    copies = {k: folded(k) for k in (100, 200)}
    shared: dict[int, RunState] = {}
    state = RunState()
    for begin, end in ((0, 150), (150, 220)):
        folded(end, state, begin)
        shared[end] = state.share()
    folded(len(EVENTS), state, 220)
    view = DecisionView(live.esm)
    view.filter(parse(text, DECISION_FIELDS))
    for moment in (copies[100], live, shared[150], state, shared[220], copies[200], state):
        view.update(moment.esm)
        assert shown(view) == expected(moment, text)


def test_the_rows_of_another_state_are_ordered_at_once_however_long_the_last_order_took() -> None:
    first, other = folded(len(EVENTS)), folded(200)
    view = DecisionView(first.esm)
    view.sort("alpha", True)
    view._sort_took = 1e9
    view.update(other.esm)
    assert sorted(shown(view)) == list(range(len(other.esm.decisions))) and len(view) > 10


def moments() -> tuple[RunState, RunState]:
    """Of one log: after some of its decisions, and at its end."""
    state, decisions = RunState(), [e for e in EVENTS if isinstance(e, DecisionTaken)]
    for k, event in enumerate(decisions[:20]):
        state.apply(event, k * 10, 9)
    early = state.share()
    for k, event in enumerate(decisions[20:50], 20):
        state.apply(event, k * 10, 9)
    return early, state


def test_back_in_the_same_log_an_order_has_the_rows_of_then() -> None:
    """At once, however long the last one took."""
    early, live = moments()
    view = DecisionView(live.esm)
    view.sort("m", True)
    assert len(view) == 50
    view._sort_took = 1e9
    view.update(early.esm)
    assert sorted(shown(view)) == list(range(20))


def test_what_a_filter_finds_back_in_time_and_at_the_end_again() -> None:
    early, live = moments()
    view = DecisionView(live.esm)
    view.filter(parse("m>=1", DECISION_FIELDS))
    for moment, count in ((live, 50), (early, 20), (live, 50)):
        view.update(moment.esm)
        assert view.complete and shown(view) == list(range(count))


def test_a_decision_that_has_not_been_taken_stands_nowhere() -> None:
    """Neither in the order of the log, nor behind the last row that a filter shows."""
    live = moments()[1]
    view = DecisionView(live.esm)
    assert (view.find(0), view.find(49), view.find(50), view.find(-1)) == (0, 49, None, None)
    view.filter(parse("m:1", DECISION_FIELDS))
    view.update(live.esm)
    last = shown(view)[-1]
    assert view.find(last) == len(view) - 1 and view.find(last + 1) is None and view.find(99) is None


def test_a_long_log_is_gone_through_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time one portion is looked at a call, and the view says that it is not through. Where a portion takes
    20 ms, two of them are looked at in 30 ms."""
    state = RunState()
    decision = next(e for e in EVENTS if type(e).__name__ == "DecisionTaken")
    for k in range(9_000):
        state.apply(msgspec.structs.replace(decision, m=k + 1), k * 10, 9)
    view = DecisionView(state.esm)
    view.filter(parse("m>=1", DECISION_FIELDS))
    lengths = []
    while not view.complete:
        view.update(state.esm, budget_ms=0.0)
        lengths.append(len(view))
    assert len(lengths) == 5
    assert len(view) == 9_000
    assert not view.update(state.esm), "nothing new"
    ticks = itertools.count()
    monkeypatch.setattr("app.table.decision_view.time.perf_counter", lambda: next(ticks) * 0.02)
    timed = DecisionView(state.esm)
    timed.filter(parse("m>=1", DECISION_FIELDS))
    assert timed.update(state.esm, budget_ms=30.0)
    assert len(timed) == 4_000


@pytest.mark.parametrize("field", sorted(DECISION_FIELDS))
@pytest.mark.parametrize("reverse", [False, True])
def test_every_field_sorts(field: str, reverse: bool) -> None:
    """All rows stay; those without a value stand together at one end; ties stay in the order of the log."""
    state = folded(len(EVENTS))
    view = DecisionView(state.esm)
    view.sort(field, reverse)
    order = shown(view)
    assert sorted(order) == list(range(len(state.esm.decisions)))
    get = view.rows.getter(field)
    values = [get(row) for row in order]
    there = [v for v in values if v is not None and v == v]
    assert there == sorted(there, reverse=reverse)  # type: ignore[type-var]
    missing = [v is None or v != v for v in values]
    assert missing == sorted(missing, reverse=not reverse)
    view.sort(None, False)
    assert shown(view) == list(range(len(state.esm.decisions)))


def test_find_is_the_inverse_of_decision() -> None:
    """A row is found again in any order, or is known not to be shown."""
    state = folded(len(EVENTS))
    view = DecisionView(state.esm)
    for prepare in (
        lambda: None,
        lambda: view.filter(parse("chosen:null", DECISION_FIELDS)),
        lambda: view.sort("alpha", True),
    ):
        prepare()
        view.update(state.esm)
        for position, decision in enumerate(shown(view)):
            assert view.find(decision) == position
    hidden = set(range(len(state.esm.decisions))) - set(shown(view))
    assert hidden and all(view.find(decision) is None for decision in hidden)


def test_an_order_by_outcomes_is_made_anew_when_they_come() -> None:
    """A row that was not known yet comes last; wrong answers stand before right ones."""
    rows = [DecisionTaken(method="esm", example=name, m=1, gate="chosen") for name in "abc"]
    state = RunState()
    for at, event in enumerate(rows):
        state.apply(event, at * 10, 9)
    view = DecisionView(state.esm)
    view.sort("correct", False)
    assert shown(view) == [0, 1, 2]
    for name, correct in (("a", True), ("c", False)):
        answer = ExampleEvaluated(
            method="esm", index=0, example=name, question="", gold="", pred="", correct=correct, tokens_used=1
        )
        state.apply(answer, 100, 9)
        view._sort_took = 0.0  # a list so short is sorted at once
        view.update(state.esm)
    assert shown(view) == [1, 2, 0]
    view.sort("correct", True)
    assert shown(view) == [0, 2, 1]


def test_what_differs_from_greedy_is_fixed_or_broken() -> None:
    state = folded(len(EVENTS))
    sets = [set(expected(state, text)) for text in ("fixed", "broken", "differs")]
    assert sets[0] and sets[1] and not sets[0] & sets[1] and sets[0] | sets[1] == sets[2]
    sign = sign_against_greedy(state.esm)
    assert {sign(row) for row in sets[0]} == {1} and {sign(row) for row in sets[1]} == {-1}


@pytest.mark.parametrize(
    "text", ["stamps", "not stamps", "stamps m>=2", "not stamps m>=2", "question~stamps"]
)
def test_words_are_looked_for_in_questions_that_come_with_the_outcome(text: str) -> None:
    """As in a log of steered answers alone, which has no question before its answer is evaluated."""
    steered = SyntheticRun(examples=12).events(("esm",))
    events = [event for event in steered if not isinstance(event, QuestionAsked | RolloutsMined)]
    state = RunState()
    view = DecisionView(state.esm)
    view.filter(parse(text, DECISION_FIELDS))
    for at, event in enumerate(events):
        state.apply(event, at * 10, 9)
        view.update(state.esm)
    assert view.complete and shown(view) == expected(state, text)
    assert 0 < len(shown(view)) < len(state.esm.decisions)


def test_back_in_time_no_row_of_later_is_shown_while_all_are_gone_through_again() -> None:
    """The outcome, which came after 4,000 rows, is not known yet there: the rows are looked at again, 2,000 a time. Of
    those of before, the 4,000 that were there stay meanwhile."""
    state = RunState()
    decision = next(e for e in EVENTS if isinstance(e, DecisionTaken))
    for k in range(4_000):
        state.apply(msgspec.structs.replace(decision, m=k + 1), k * 10, 9)
    earlier = state.share()
    evaluated = next(e for e in EVENTS if isinstance(e, ExampleEvaluated) and e.method == decision.method)
    state.apply(msgspec.structs.replace(evaluated, example=decision.example), 40_000, 9)
    for k in range(4_001, 5_001):
        state.apply(msgspec.structs.replace(decision, m=k), k * 10, 9)
    view = DecisionView(state.esm)
    view.filter(parse("m>=1 or correct", DECISION_FIELDS))
    while not view.complete:
        view.update(state.esm)
    assert shown(view) == list(range(5_000))
    view.update(earlier.esm, budget_ms=0.0)
    assert not view.complete and shown(view) == list(range(4_000))
