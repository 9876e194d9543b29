"""The quick reading of a log against one that does literally what the columns, the ledger and the index are to hold."""

from __future__ import annotations

from collections import defaultdict
from math import isnan
from typing import Any
from zlib import crc32

import pytest
from msgspec.structs import replace

from app.state.decisions import NULL
from app.state.event_index import EventIndex
from app.state.ledger import EntryUse
from app.state.run import RunState
from engine import events as ev
from tests.synthetic_evolution import evolution_events
from tests.synthetic_run import SyntheticRun

Events = list[ev.Event]
_TEXTS = ("method", "example", "phase", "gate", "ended")
_FIGURES = (
    "top_similarity", "best_ahat", "null_ahat", "null_logprob", "null_score", "logprob", "delta_logprob", "score",
)  # fmt: skip
_NUMBERS = ("m", "memory_size", "alpha", "tokens_before", "committed_tokens", "probe_tokens", "seq")


@pytest.fixture(scope="module")
def events() -> Events:
    """Every event twice, as a killed worker may tell them; the third decisions are tails, and there is a notice."""
    run = [*SyntheticRun(examples=12).events(), ev.Notice(text="done", seq=100_000)]
    tails = [
        replace(event, phase="tail") if isinstance(event, ev.DecisionTaken) and event.m == 3 else event
        for event in run
    ]
    return [event for event in tails for _ in range(2)]


@pytest.fixture(scope="module")
def quick(events: Events) -> RunState:
    """Folded in portions, of which each copy is shared as the console does."""
    state = RunState()
    for i, event in enumerate(events):
        state.apply(event, 100 * i, 50 + i % 7)
        if i % 40 == 0:
            state.share()
    return state


def first_told(events: Events) -> dict[tuple[str, str, int, str], tuple[int, ev.DecisionTaken]]:
    told: dict[tuple[str, str, int, str], tuple[int, ev.DecisionTaken]] = {}
    for i, event in enumerate(events):
        if isinstance(event, ev.DecisionTaken):
            told.setdefault((event.method, event.example, event.m, event.phase), (i, event))
    return told


def test_every_decision_is_a_row(events: Events, quick: RunState) -> None:
    table = quick.esm.decisions
    told = list(first_told(events).values())
    assert len(table) == len(told) > 100
    for row, (i, event) in enumerate(told):
        assert [table.text(name, row) for name in _TEXTS] == [getattr(event, name) for name in _TEXTS]
        assert [table.column(name)[row] for name in _NUMBERS] == [getattr(event, name) for name in _NUMBERS]
        for name in _FIGURES:
            value = getattr(event, name)
            assert isnan(table.column(name)[row]) if value is None else table.column(name)[row] == value
        assert table.text("chosen", row) == (event.chosen or "null")
        assert table.column("layer")[row] == (NULL if event.layer is None else event.layer)
        assert table.column("characters")[row] == len(event.segment)
        assert table.column("crc")[row] == crc32(event.segment.encode())
        assert table.place(row) == (100 * i, 50 + i % 7)


def test_the_chain_of_an_answer_ends_with_its_tail(events: Events, quick: RunState) -> None:
    table, decisions = quick.esm.decisions, {key: event for key, (_, event) in first_told(events).items()}
    for method, example, *_ in decisions:
        steps: list[ev.DecisionTaken] = []
        while (step := _step(decisions, method, example, len(steps) + 1)) is not None:
            steps.append(step)
        number = table.names.__getitem__
        rows = table.chain(number(method), number(example))
        assert [table.column("seq")[row] for row in rows] == [step.seq for step in steps]


def test_the_chain_of_an_earlier_moment_ends_there() -> None:
    """The rows that came later are in the same memory, under the same keys."""
    state = RunState()
    steps = [ev.DecisionTaken(method="esm", example="a", m=m, gate="chosen") for m in (1, 2, 3)]
    moments: list[RunState] = []
    for i, step in enumerate(steps):
        state.apply(step, 100 * i, 50)
        moments.append(state.share())
    number = state.esm.decisions.names.__getitem__
    assert [moment.esm.decisions.chain(number("esm"), number("a")) for moment in moments] == [
        [0], [0, 1], [0, 1, 2],
    ]  # fmt: skip


def test_outcomes_and_the_segments_in_which_answers_left(events: Events, quick: RunState) -> None:
    esm, decisions = quick.esm, {key: event for key, (_, event) in first_told(events).items()}
    answers: dict[tuple[str, str], ev.ExampleEvaluated] = {}
    for event in events:
        if isinstance(event, ev.ExampleEvaluated):
            answers.setdefault((event.method, event.example), event)
    uses: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0.0, 0])
    for (method, *_), event in decisions.items():
        if method == "esm" and event.chosen is not None:
            use = uses[event.chosen]
            use[0] += 1
            use[3] += event.delta_logprob or 0.0
            use[4] += event.delta_logprob is not None
    assert len(esm.outcomes) == len(answers)
    for (method, example), answer in answers.items():
        greedy, at, m, left = answers["greedy", example], 0, 0, 0
        while left == 0 and (step := _step(decisions, method, example, m + 1)) is not None:
            m += 1
            left = 0 if greedy.text[at : at + len(step.segment)] == step.segment else m
            at += len(step.segment)
        left = left or (m if at < len(greedy.text) else 0)
        numbers = esm.names[method], esm.names[example]
        sign = answer.correct - greedy.correct
        assert esm.outcomes.correct(*numbers) == answer.correct
        assert esm.outcomes.against_greedy(*numbers) == sign
        assert esm.outcomes.left(*numbers) == (0 if method == "greedy" else left)
        step = _step(decisions, method, example, left)
        if method == "esm" and sign and step is not None and step.chosen is not None:
            uses[step.chosen][1 if sign > 0 else 2] += 1
    assert esm.ledger == {name: EntryUse(*use) for name, use in uses.items()}  # type: ignore[arg-type]


def _step(
    decisions: dict[tuple[str, str, int, str], ev.DecisionTaken], method: str, example: str, m: int
) -> ev.DecisionTaken | None:
    found = (decisions.get((method, example, m, phase)) for phase in ("segment", "tail"))
    return next((event for event in found if event is not None), None)


def test_marks_and_stops(events: Events) -> None:
    index, once = EventIndex(), events[::2]
    for event in once:
        index.add(event)
    stops = [e.seq for e in once if isinstance(e, ev.DecisionTaken | ev.ExampleEvaluated | ev.RolloutsMined
             | ev.EntryPicked | ev.StageStarted | ev.StageFinished)]  # fmt: skip
    assert [seq for seq in range(len(events)) if index.stop(seq - 1, 1) == seq] == stops
    assert [m.text for m in index.marks if m.kind == "stage"] == ["mine", "select", "memory", "eval"]
    assert [m.text for m in index.marks if m.kind == "notice"] == [
        e.text for e in once if isinstance(e, ev.Notice) and e.level == "info"
    ]
    index, evolution = EventIndex(), list(evolution_events(iterations=2))
    for event in evolution:
        index.add(event)
    stops = [e.seq for e in evolution if isinstance(e, ev.IterationBegan | ev.AnswersScored | ev.ReflectorReplied
             | ev.StageStarted | ev.StageFinished)]  # fmt: skip
    assert [e.seq for e in evolution if index.stop(e.seq - 1, 1) == e.seq] == stops


def test_every_field_of_a_decision_is_a_column_or_a_text_of_the_log() -> None:
    """Each of another value: none stands in another's place."""
    texts = {"null_probe": "p", "prefix": "q", "segment": "s", "null_segment": "n"}
    names = {name: f"the {name}" for name in ("method", "example", "phase", "gate", "chosen", "ended")}
    whole = ("m", "memory_size", "layer", "tokens_before", "committed_tokens", "probe_tokens", "seq")
    values = {name: 2 + i for i, name in enumerate(whole)}
    figures = {name: 0.5 + i for i, name in enumerate((*_FIGURES, "alpha"))}
    fields: dict[str, Any] = {**texts, **names, **values, **figures}
    event = ev.DecisionTaken(**fields)
    assert {*texts, *names, *values, *figures, "candidates", "time", "stage"} == {*event.__struct_fields__}
    state = RunState()
    state.apply(event, 70, 9)
    table = state.esm.decisions
    assert {name: table.text(name, 0) for name in names} == names
    assert {name: table.column(name)[0] for name in (*values, *figures)} == values | figures
    assert table.place(0) == (70, 9) and table.column("characters")[0] == 1


def test_a_pair_and_a_pick_are_rows_of_their_own_figures() -> None:
    """Control points and entries have other names in the events."""
    state = RunState()
    pair = ev.PairMined(
        pair="p", example="e", control_point_m=3, layer=2, quality=0.5, positives=4, negatives=6, delta_norm=7.5,
        steered_correct=True, wrong_correct=False,
    )  # fmt: skip
    pick = ev.EntryPicked(
        order=8, lib_id="lib_8", tool_name="t", kind="wrong", example="e", control_point_m=3, layer=2, quality=0.5,
        gain=1.5, objective=2.5, max_similarity=0.25,
    )  # fmt: skip
    state.apply(pair, 10, 1)
    state.apply(pick, 20, 2)
    assert list(state.esm.pairs) == [("p", "", "e", 3, 2, 0.5, 4, 6, 7.5, "rollout", "fixes", (10, 1))]
    assert list(state.esm.picks) == [(8, "t", "t", "wrong", "e", 3, 2, 0.5, 1.5, 2.5, 0.25, "dpp", (20, 2))]
