"""A session over a growing log: what is shown is always some prefix of it, folded whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from app.runs.orders import UserMessage
from app.runs.session import RunSession
from app.state.columns import AppendOnlyList, Columns, Names, Texts
from app.state.event_index import EventIndex
from app.state.method import MethodState
from app.state.run import RunState
from engine.events import (
    DecisionTaken,
    Event,
    ExampleEvaluated,
    Header,
    Notice,
    StageFinished,
    StageStarted,
    encode,
)
from engine.run.control import ControlServer
from engine.run.directory import RunDirectory
from engine.run.event_log import LogEntry, LogReader
from engine.run.gate import Gate
from engine.run.lock import RunLock
from tests.made_run import create_run
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun, write_log
from tests.synthetic_slsm import slsm_events

Wait = Callable[..., None]


class Watched(RunSession):
    """Shows what there is whenever a test looks."""

    @property
    def state(self) -> RunState:
        self.update()
        return self._shown


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A prepared run without a log."""
    return create_run(
        tmp_path, "demo", seed=1, stages=["mine", "eval"], config={}, config_text="{}\n", versions={}
    )


@pytest.fixture
def watch() -> Iterator[Callable[..., RunSession]]:
    """`watch(run)`: a session that is closed in the end."""
    opened: list[RunSession] = []

    def open_session(run: RunDirectory, **options: Any) -> RunSession:
        opened.append(Watched(run.path, **options))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()


def entries_of(run: RunDirectory) -> list[LogEntry]:
    reader, entries = LogReader(run.events), []
    while more := reader.poll():
        entries += more
    return entries


def folded(entries: list[LogEntry]) -> RunState:
    state = RunState()
    for event, offset, length in entries:
        state.apply(event, offset, length)
    return state


def figures(state: RunState) -> object:
    """Everything that a screen could show of a state, as comparable values."""
    d, o = state.esm.decisions, state.esm.outcomes
    return (
        state.seq, state.time, state.status, state.stages, list(state.notices), state.models,
        list(state.esm.pairs), list(state.esm.picks), state.esm.memory,
        [[d.text(name, row) for name in ("method", "example", "gate", "chosen")] for row in range(len(d))],
        list(d.column("offset")[: len(d)]), list(o.column("offset")[: len(o)]),
        state.esm.running, state.esm.final, {name: list(curve) for name, curve in state.esm.curves.items()},
    )  # fmt: skip


def test_seek_equals_a_fresh_fold(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    """Any order of seeks, across kept states and stage boundaries, shows what folding that prefix shows."""
    write_log(run.events, SyntheticRun(examples=12).events())
    entries = entries_of(run)
    last = len(entries) - 1
    session = watch(run, keep_every=50)
    wait_until(lambda: session.state.seq == last, "the whole log")
    for seq in (0, last, 49, 50, 51, 1, 300, 299, 301, 302, 17, last - 1):
        session.seek(seq)
        assert session.cursor == seq
        wait_until(lambda seq=seq: session.state.seq == seq, f"event {seq}")
        assert figures(session.state) == figures(folded(entries[: seq + 1]))
        assert session.behind == last - seq
    session.seek(None)
    assert (session.cursor, session.behind) == (None, 0)
    assert figures(session.state) == figures(folded(entries))


def test_how_much_of_a_long_log_is_read(run: RunDirectory, watch: Callable[..., RunSession]) -> None:
    """2 of 8 MB are a quarter; up to 2 MB that are left are soon read."""
    session = watch(run)
    session.close()
    session._folded, session.unread_bytes = 2_000_000, 6_000_000
    assert session.reading == 0.25
    session._folded, session.unread_bytes = 6_000_000, 2_000_000
    assert session.reading is None


def run_of_all_methods() -> Iterator[Event]:
    """Events of all methods in one log, some of them reported twice; every type of state has something to keep."""
    parts = (
        SyntheticRun(examples=12).events(),
        evolution_events(),
        gflownet_events(),
        slsm_events(),
        pool_events(),
    )
    first, *events = chain(*parts)
    events = [first, *(event for event in events if not isinstance(event, Header))]
    again = events[40:80] + [event for event in events if isinstance(event, ExampleEvaluated)][:5]
    for seq, event in enumerate([*events, *again]):
        yield structs.replace(event, seq=seq, time=1_760_000_000 + seq / 8)


def whole(value: object) -> object:
    """Everything that a state holds, comparable. Names and texts are left out: every state knows those of later
    events, too."""
    if isinstance(value, MethodState):
        return type(value), {name: whole(below) for name, below in vars(value).items()}
    if isinstance(value, Columns):
        columns = [[repr(figure) for figure in value.column(name)[: len(value)]] for name in value.TYPES]
        return columns, value.keys.part(len(value))
    if isinstance(value, AppendOnlyList):
        return [repr(item) for item in value]
    if isinstance(value, Names | Texts):
        return None
    if isinstance(value, dict):
        return [(key, whole(below)) for key, below in value.items()]
    return type(value), repr(value)


def test_the_states_of_all_methods_are_exact_at_every_moment(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    write_log(run.events, run_of_all_methods())
    entries = entries_of(run)
    last = len(entries) - 1
    session = watch(run, keep_every=50)
    wait_until(lambda: session.state.seq == last, "the whole log")
    for seq in (0, last, 49, 52, 1, last // 2, last // 2 - 1, 300, last - 1):
        session.seek(seq)
        wait_until(lambda seq=seq: session.state.seq == seq, f"event {seq}")
        assert whole(session.state) == whole(folded(entries[: seq + 1])), seq


def test_seek_stays_inside_the_log(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    write_log(run.events, SyntheticRun(examples=2).events())
    session = watch(run)
    wait_until(lambda: session.state.status == "finished")
    last = session.total_events - 1
    session.seek(10**9)
    assert session.cursor == last
    session.seek(-5)
    assert session.cursor == 0


def test_growing_log_with_a_torn_tail(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    """Half a line is never shown; when its other half comes, the event is."""
    lines = [encode(event) for event in SyntheticRun(examples=2).events()]
    session = watch(run)
    assert session.state.header is None and session.total_events == 0
    with run.events.open("ab", buffering=0) as log:
        log.write(b"".join(lines[:100]) + lines[100][:30])
        wait_until(lambda: session.total_events == 100, "a hundred whole events")
        time.sleep(0.15)
        assert (session.state.seq, session.total_events) == (99, 100)
        log.write(lines[100][30:] + b"".join(lines[101:]))
    wait_until(lambda: session.total_events == len(lines), "the rest")
    assert session.state.status == "finished" and not session.take_messages()


def test_frozen_view_stands_still_while_the_log_goes_on(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    lines = [encode(event) for event in SyntheticRun(examples=2).events()]
    run.events.write_bytes(b"".join(lines[:50]))
    session = watch(run)
    wait_until(lambda: session.total_events == 50)
    session.freeze()
    shown, before = session.state, figures(session.state)
    with run.events.open("ab") as log:
        log.write(b"".join(lines[50:120]))
    wait_until(lambda: session.behind == 70, "the events behind the frozen view")
    assert session.frozen and session.state is shown and figures(session.state) == before
    session.seek(None)
    assert not session.frozen and session.behind == 0 and session.state.seq == 119


def test_what_is_shown_changes_only_by_update(run: RunDirectory, wait_until: Wait) -> None:
    """Whoever draws while the log is folded sees one state, of which all figures belong together."""
    write_log(run.events, SyntheticRun(examples=150).events())
    session = RunSession(run.path)
    changes = 0
    while session.state.status != "finished":
        changes += session.update()
        state, revision = session.state, session.revision
        first = figures(state)
        time.sleep(0.001)
        assert session.state is state and session.revision == revision and figures(state) == first
        assert sum(outcome.n for outcome in state.esm.final.values()) <= len(state.esm.outcomes)
    assert changes > 3
    session.close()


def test_broken_line_is_told_once_and_passed(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    lines = [encode(event) for event in SyntheticRun(examples=2).events()]
    run.events.write_bytes(b"".join(lines[:40]) + b"what is this\n" * 102 + b"".join(lines[40:]))
    session = watch(run, keep_every=10)
    said: list[UserMessage] = []
    wait_until(lambda: said.extend(session.take_messages()) or said)
    assert session.total_events == len(lines)
    where = f"{run.events}:41"
    assert said == [UserMessage(f"damaged lines of the log, passed over: 102; the first is {where}", "error")]
    session.seek(60)
    wait_until(lambda: session.state.seq == 60, "a moment behind the broken line")
    assert session.take_messages() == []


def test_read_gives_the_whole_event(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    entries = write_log(run.events, SyntheticRun(examples=2).events())
    session = watch(run)
    wait_until(lambda: session.total_events == len(entries))
    for event, offset, length in entries[::25]:
        assert session.read(offset, length) == event


def test_commands_go_to_the_worker_and_its_answer_is_said(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    gate, lock = Gate(lambda event: None), RunLock(run.lock)
    server = ControlServer(run.control, gate, lambda: {"state": gate.state}, lambda *_: [])
    session = watch(run)
    session.send("pause")
    said: list[str] = []
    wait_until(lambda: said.extend(s.text for s in session.take_messages()) or said, "an answer")
    assert gate.state == "pausing" and said == ["The engine pauses after its current item."]
    server.close()
    session.send("continue")
    wait_until(lambda: said.extend(s.text for s in session.take_messages()) or len(said) == 2, "a refusal")
    assert "does not answer" in said[1]
    lock.release()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_mistake_of_ours_while_reading_is_told(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the screen would stand still without a word."""
    monkeypatch.setattr(RunState, "share", lambda self: 1 / 0)
    write_log(run.events, SyntheticRun().events())
    session = watch(run)
    said: list[str] = []
    wait_until(lambda: said.extend(s.text for s in session.take_messages()) or bool(said), "the mistake")
    assert said == ["the console stopped reading the log: ZeroDivisionError: division by zero"]


def test_vanished_worker_reads_as_interrupted(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    record = run.read()
    record.status = "running"
    run.write(record)
    session = watch(run)
    wait_until(lambda: session.update() and session.status is not None)
    assert session.status is not None and session.status.state == "interrupted"
    assert session.status is not None and not session.status.alive


def test_long_log_is_sought_fast(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    """A seek folds from the nearest kept state, not from the beginning."""
    write_log(run.events, (Notice(text="x", seq=seq, time=float(seq), stage="mine") for seq in range(60_000)))  # type: ignore[arg-type]
    began = time.perf_counter()
    session = watch(run)
    wait_until(lambda: session.total_events == 60_000)
    read, began = time.perf_counter() - began, time.perf_counter()
    for seq in (59_000, 100, 31_999):
        session.seek(seq)
        wait_until(lambda seq=seq: session.state.seq == seq)
    assert (time.perf_counter() - began) / 3 < read / 2


# ---------------------------------------------------------------- the index


@pytest.fixture
def index() -> EventIndex:
    index = EventIndex()
    for event in (
        Notice(seq=0, time=10.0, text="one", level="warning"),
        StageStarted(seq=1, time=11.0, stage="eval", total=2),
        DecisionTaken(seq=2, time=12.0, stage="eval", method="esm", example="a", m=1, gate="chosen"),
        Notice(seq=5, time=15.0, text="three events of unknown types were skipped"),
        ExampleEvaluated(
            seq=6, time=16.0, stage="eval", method="esm", index=0, example="a", question="", gold="", pred="",
            correct=True, tokens_used=1,
        ),
        StageFinished(seq=7, time=17.0, stage="eval", seconds=6.0),
    ):  # fmt: skip
        index.add(event)
    return index


def test_index_steps_over_skipped_numbers(index: EventIndex) -> None:
    assert [index.step(seq, 1) for seq in (0, 2, 3, 7)] == [1, 5, 5, None]
    assert [index.step(seq, -1) for seq in (0, 5, 4, 7)] == [None, 2, 2, 6]


def test_index_stops_at_decisions_answers_and_stages(index: EventIndex) -> None:
    assert [index.stop(seq, 1) for seq in (0, 1, 2, 6, 7)] == [1, 2, 6, 7, None]
    assert [index.stop(seq, -1) for seq in (0, 1, 2, 6, 7)] == [None, None, 1, 2, 6]


def test_index_knows_times_and_marks(index: EventIndex) -> None:
    assert (index.began(), index.time_of(4), index.at_time(15.5), index.at_time(0.0)) == (10.0, 12.0, 5, 0)
    assert [(mark.seq, mark.kind) for mark in index.marks] == [(0, "warning"), (1, "stage"), (5, "notice")]
    assert EventIndex().time_of(3) == 0.0 and EventIndex().step(0, 1) is None


def test_a_run_whose_worker_was_started_is_starting_until_the_worker_has_it(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    session = watch(run, has_started_worker=lambda path: path == run.path)

    def state() -> str:
        session.update()
        return "" if session.status is None else session.status.state

    wait_until(lambda: state() == "starting", "the start", 10)
    lock = RunLock(run.lock)
    session.poll_now()
    wait_until(lambda: state() == "running", "the worker", 10)
    lock.release()
