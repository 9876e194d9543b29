"""The fold: what it knows after a log, at any event of it, and that copies never disturb each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from app.state.columns import AppendOnlyList, Columns, Names
from app.state.event_index import EventIndex
from app.state.method import shared
from app.state.run import RunState
from engine import events as ev
from engine.run.directory import new_record
from engine.run.event_log import LogReader, read_event
from tests.synthetic_run import METHODS, SyntheticRun, write_log

Entries = list[tuple[ev.Event, int, int]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "events.jsonl"
    write_log(path, SyntheticRun().events())
    return path


@pytest.fixture(scope="module")
def entries(log: Path) -> Entries:
    reader, entries = LogReader(log), []
    while portion := reader.poll():
        entries += [tuple(entry) for entry in portion]
    return entries


def _evaluated(example: str, correct: bool) -> ev.ExampleEvaluated:
    return ev.ExampleEvaluated(
        method="esm", index=0, example=example, question="", gold="", pred="", correct=correct, tokens_used=1
    )


def folded(entries: Entries, upto: int | None = None) -> RunState:
    state = RunState()
    for event, offset, length in entries[:upto]:
        state.apply(event, offset, length)
    return state


def picture(state: RunState) -> object:
    """Everything a screen can read, comparable."""
    return (
        state.header,
        state.status,
        state.stages,
        state.models,
        state.esm.memory,
        list(state.notices),
        list(state.esm.pairs),
        list(state.esm.picks),
        state.esm.running,
        state.esm.final,
        {name: list(curve) for name, curve in state.esm.curves.items()},
        [
            [repr(v) for v in state.esm.decisions.column(n)[: len(state.esm.decisions)]]
            for n in state.esm.decisions.TYPES
        ],
        state.esm.ledger,
        [list(state.esm.outcomes.column(n)[: len(state.esm.outcomes)]) for n in state.esm.outcomes.TYPES],
        (state.seq, state.time),
    )


def test_the_end_of_a_run(entries: Entries) -> None:
    """Counts, figures and statuses are those of the events."""
    state = folded(entries)
    counts = Counter(type(event) for event, _, _ in entries)
    assert state.status == "finished"
    assert [s.status for s in state.stages.values()] == ["finished"] * 4
    assert len(state.esm.decisions) == counts[ev.DecisionTaken]
    assert len(state.esm.outcomes) == counts[ev.ExampleEvaluated]
    assert (len(state.esm.pairs), len(state.esm.picks)) == (40, 60)
    assert sum(name.startswith("train-") for name in state.esm.questions) == 20
    assert state.esm.final == {
        e.method: e for e, _, _ in entries if isinstance(e, ev.MethodEvaluated) and e.final
    }
    assert state.esm.methods == [state.esm.final[m] for m in METHODS[:4]]
    assert state.stages["mine"].summary["pairs"] == 40
    assert state.esm.memory is not None and state.esm.memory.entries == 60
    assert state.esm.question("test-0003").startswith("Ben has 53 stamps")


def test_rows_lead_back_to_whole_events(log: Path, entries: Entries) -> None:
    """A row's place in the log holds the event that the row is of."""
    state = folded(entries)
    for row in (0, 7, len(state.esm.decisions) - 1):
        event = read_event(log, *state.esm.decisions.place(row))
        assert isinstance(event, ev.DecisionTaken)
        assert (event.m, event.seq) == (
            state.esm.decisions.column("m")[row],
            state.esm.decisions.column("seq")[row],
        )
        assert (event.chosen or "null") == state.esm.decisions.text("chosen", row)
    place = state.esm.outcomes.place("esm", "test-0002")
    assert place is not None
    outcome = read_event(log, *place)
    assert isinstance(outcome, ev.ExampleEvaluated) and outcome.example == "test-0002"
    assert state.esm.outcomes.place("esm", "nobody") is None


def test_disagreement_with_greedy(entries: Entries) -> None:
    """`against_greedy` is the difference of the outcomes, unknown until both are known."""
    state = folded(entries)
    right = {(e.method, e.example): e.correct for e, _, _ in entries if isinstance(e, ev.ExampleEvaluated)}
    number = state.esm.names.__getitem__
    for (method, example), correct in right.items():
        sign = state.esm.outcomes.against_greedy(number(method), number(example))
        assert sign == int(correct) - int(right["greedy", example])
    assert state.esm.outcomes.against_greedy(number("esm"), number("test-9999")) is None
    final = state.esm.final["esm"]
    signs = [state.esm.outcomes.against_greedy(number("esm"), number(f"test-{i:04d}")) for i in range(25)]
    assert (signs.count(1), signs.count(-1)) == (final.fixed, final.broken)


def test_any_moment_from_any_copy(entries: Entries) -> None:
    """Folding on from a copy gives what folding from the start gives, and leaves the others alone."""
    copies, state = {}, RunState()
    for k, (event, offset, length) in enumerate(entries):
        if k % 60 == 0:
            copies[k] = state.share()
        state.apply(event, offset, length)
    whole = picture(state)
    for k, kept in copies.items():
        for target in (k, min(k + 37, len(entries))):
            again = kept.share()
            for event, offset, length in entries[k:target]:
                again.apply(event, offset, length)
            assert picture(again) == picture(folded(entries, target))
            assert again.esm.decisions.shares(state.esm.decisions)
    assert picture(state) == whole


def test_copies_of_different_futures() -> None:
    """Two copies that go on differently part, and neither sees the other's rows."""
    state = RunState()
    state.apply(ev.DecisionTaken(method="esm", example="a", m=1, gate="chosen"), 0, 10)
    one, other = state.share(), state.share()
    one.apply(ev.DecisionTaken(method="esm", example="b", m=2, gate="chosen"), 11, 10)
    one.apply(_evaluated("b", True), 22, 5)
    other.apply(ev.DecisionTaken(method="esm", example="c", m=3, gate="chosen"), 12, 10)
    other.apply(_evaluated("c", False), 23, 5)
    assert [one.esm.decisions.text("example", i) for i in range(2)] == ["a", "b"]
    assert [other.esm.decisions.text("example", i) for i in range(2)] == ["a", "c"]
    assert len(state.esm.decisions) == 1
    number = state.esm.names.__getitem__
    assert one.esm.outcomes.correct(number("esm"), number("c")) is None
    assert other.esm.outcomes.correct(number("esm"), number("b")) is None


def test_what_is_told_twice_counts_once(entries: Entries) -> None:
    """A worker that was killed between an event and its state file says the same again after it has resumed."""
    once = folded(entries)
    state = RunState()
    at = 0
    for k, (event, _, _) in enumerate(entries):
        state.apply(event, at, 5)
        at += 6
        if k % 50 == 49:
            for again, _, _ in entries[k - 29 : k + 1]:
                state.apply(again, at, 5)
                at += 6
    for name in ("pairs", "picks", "decisions", "outcomes"):
        assert len(getattr(state.esm, name)) == len(getattr(once.esm, name)), name


def test_stages_through_pause_stop_and_second_attempt() -> None:
    """Statuses follow the events; a new worker finds stopped stages waiting, finished ones finished."""
    state = RunState()
    sequence: list[tuple[ev.Event, str, str]] = [
        (ev.WorkerStarted(pid=1, attempt=1, stages=["mine", "eval"]), "running", "waiting"),
        (ev.StageStarted(stage="eval", total=10, done=2), "running", "running"),
        (ev.StageProgress(stage="eval", done=4, total=10, tokens=100, elapsed=4.0), "running", "running"),
        (ev.StagePaused(stage="eval"), "paused", "paused"),
        (ev.StageResumed(stage="eval"), "running", "running"),
        (ev.StageStopped(stage="eval", done=4), "running", "stopped"),
        (ev.WorkerStopped(status="stopped", kept="here"), "stopped", "stopped"),
        (ev.WorkerStarted(pid=2, attempt=2, stages=["mine", "eval"]), "running", "waiting"),
        (ev.StageFailed(stage="eval", what="no", hint="so"), "running", "failed"),
        (ev.WorkerStopped(status="failed"), "failed", "failed"),
    ]
    for event, status, stage in sequence:
        state.apply(event)
        assert (state.status, state.stages["eval"].status) == (status, stage)
        if isinstance(event, ev.StageProgress):
            eval_ = state.stages["eval"]
            assert (eval_.tokens_per_second, eval_.items_per_second, eval_.eta) == (25.0, 0.5, 12.0)
    assert state.failure is not None and state.failure.what == "no"


def test_unknown_events_are_counted() -> None:
    """A log of a later version is shown as far as it is understood, and says how far."""
    state = RunState()
    state.apply(ev.Unknown("FutureEvent"))
    assert (state.unknown, state.seq) == (1, -1)


class Three(Columns):
    TYPES = {"a": "i", "offset": "q"}


@pytest.mark.parametrize("make", [AppendOnlyList, lambda: Three(Names())])
def test_sharing_costs_no_memory(make: Callable[[], AppendOnlyList[int] | Columns]) -> None:
    """A copy holds the same memory until it goes on in another way."""
    original = make()
    for i in range(10):
        original.append(i) if isinstance(original, AppendOnlyList) else original.add(i, i, i)
    copy = original.share()
    assert len(copy) == 10
    original.append(10) if isinstance(original, AppendOnlyList) else original.add(10, 10, 10)
    assert (len(copy), len(original)) == (10, 11)


def test_pairs_of_a_query_that_are_tried_later_are_not_known_before() -> None:
    first, second = (ev.PoolPairEvaluated(query_id="q", pair=(1, at), score=0.5) for at in (2, 3))
    state = RunState()
    state.apply(first)
    before = state.share()
    state.apply(second)
    assert [len(run.pool.under_way["q"]) for run in (before, state)] == [1, 2]


def test_what_has_a_field_called_share_is_kept_as_it_is() -> None:
    """A cluster of tokens has one: its share of all tokens."""
    cluster = ev.TokenCluster(id="3", description="cluster 3", size=7, share=0.25)
    assert shared(cluster) is cluster
    assert shared({3: cluster}) == {3: cluster}


@pytest.mark.parametrize("number", [1 << 31, (1 << 63) - 1, -(1 << 63)])
def test_numbers_that_no_column_holds_are_the_largest_that_it_does(number: int) -> None:
    """A log from elsewhere may say anything: rows must stay whole, and those after it right."""
    taken = [event for event in SyntheticRun(2).events() if isinstance(event, ev.DecisionTaken)]
    odd = structs.replace(taken[0], m=number, memory_size=number, probe_tokens=number)
    state = RunState()
    for place, event in enumerate([odd, *taken[1:4]]):
        state.apply(event, 100 * place, 100)
    decisions = state.esm.decisions
    assert len(decisions) == 4 and {len(decisions.column(name)) for name in decisions.TYPES} == {4}
    assert abs(decisions.column("m")[0]) >= (1 << 31) - 1
    assert decisions.column("m")[1] == taken[1].m and decisions.place(1) == (100, 100)
    assert len(decisions.keys) == 4


def test_the_smallest_and_the_largest_numbers_of_a_column() -> None:
    """32 bits for a segment, 64 for a number in the log."""
    [taken] = [event for event in SyntheticRun(2).events() if isinstance(event, ev.DecisionTaken)][:1]
    state = RunState()
    for place, number in enumerate((-(1 << 70), 1 << 70, -(1 << 31), (1 << 31) - 1)):
        state.apply(structs.replace(taken, m=place + 1, memory_size=number, seq=number), 100 * place, 100)
    decisions, small, large = state.esm.decisions, 1 << 31, 1 << 63
    assert list(decisions.column("memory_size")) == [-small, small - 1, -small, small - 1]
    assert list(decisions.column("seq")) == [-large, large - 1, -small, small - 1]


def test_only_a_resumed_worker_is_marked_in_the_time_line() -> None:
    index = EventIndex()
    for seq, attempt in enumerate((1, 2)):
        index.add(ev.WorkerStarted(seq=seq, pid=1, attempt=attempt, stages=[]))
    assert [(mark.seq, mark.text) for mark in index.marks] == [(1, "resumed (attempt 2)")]


@pytest.mark.parametrize(
    ("recorded", "stage", "logged", "cut"),
    [
        ("finished", "finished", [], True),
        ("finished", "finished", [ev.StageStarted(stage="eval", total=4)], True),
        ("finished", "finished", [ev.StageFinished(stage="eval", seconds=1.0)], True),
        ("finished", "finished", [ev.StageFinished(stage="eval", seconds=1.0), ev.WorkerStopped(status="x")], False),
        ("finished", "finished", [ev.StageFinishedBefore(stage="eval"), ev.WorkerStopped(status="x")], False),
        ("finished", "finished", [ev.WorkerStopped(status="x")], True),
        ("stopped", "stopped", [ev.StageStarted(stage="eval", total=4)], True),
        ("stopped", "stopped", [ev.WorkerStopped(status="x")], False),
        ("running", "running", [ev.StageStarted(stage="eval", total=4)], False),
        ("prepared", "pending", [], False),
    ],
)  # fmt: skip
def test_whether_a_log_ends_before_its_run(
    recorded: str, stage: str, logged: list[ev.Event], cut: bool
) -> None:
    """Of a worker that vanished, the record does not know more than the log: it is at work in both."""
    state = RunState()
    for event in [ev.WorkerStarted(pid=1, attempt=1, stages=["eval"]), *logged] if logged else []:
        state.apply(event)
    record = new_record("a", "1", seed=0, stages=["eval"], config={}, versions={})
    record.status, record.stages["eval"].status = recorded, stage
    assert state.is_cut(record) is cut
