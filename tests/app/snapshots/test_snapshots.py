"""A run that is opened again is what reading its log anew gives, at every moment; and a snapshot that is not of these
very bytes is never used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import msgspec
import pytest

import app.snapshots.keeper as keeper
import app.snapshots.snapshot as snapshots
import engine.run.event_log as event_log
from app.runs.session import RunSession
from app.snapshots.cache import cache_folder, file_of, make_room
from app.snapshots.section_file import read_about
from app.snapshots.snapshot import KeptState, Prefix, Snapshot, Stamp, load, save
from app.state.columns import AppendOnlyList, Columns, Names, Texts
from app.state.event_index import EventIndex
from app.state.method import MethodState
from app.state.run import RunState
from engine import events as ev
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from tests.made_run import create_run
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events

Wait = Callable[..., None]


def run_of_all_methods() -> Iterator[ev.Event]:
    """Events of all methods in one log, some of them reported twice; every type of state has something to keep."""
    parts = (
        SyntheticRun(examples=12).events(),
        evolution_events(),
        gflownet_events(),
        slsm_events(),
        pool_events(),
    )
    first, *events = chain(*parts)
    events = [first, *(event for event in events if not isinstance(event, ev.Header))]
    again = events[40:80] + [event for event in events if isinstance(event, ev.ExampleEvaluated)][:5]
    for seq, event in enumerate([*events, *again, ev.WorkerStopped(status="finished")]):
        yield msgspec.structs.replace(event, seq=seq, time=1_760_000_000 + seq / 8)


LINES = [ev.encode(event) for event in run_of_all_methods()]
LAST = len(LINES) - 1
HALF = LAST // 2


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A finished run whose log has a torn line."""
    run = create_run(tmp_path, "demo", seed=1, stages=["mine"], config={}, config_text="{}\n", versions={})
    run.events.write_bytes(b"".join(LINES))
    return run


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short logs have snapshots, too."""
    monkeypatch.setattr(keeper, "LONG", 1)


@pytest.fixture
def watch(wait_until: Wait) -> Iterator[Callable[..., RunSession]]:
    """`watch(run)`: a session that has read the whole log, and is closed in the end."""
    opened: list[RunSession] = []

    def open_session(run: RunDirectory, seq: int = LAST) -> RunSession:
        session = RunSession(run.path, keep_every=50)
        opened.append(session)
        wait_until(lambda: session.update() and session.state.seq == seq, "the whole log")
        return session

    yield open_session
    for session in opened:
        session.close()


def whole(value: object) -> object:
    """Everything that a state holds, comparable. Names and texts are left out: every state knows those of later
    events, too."""
    if isinstance(value, MethodState):
        return type(value), {name: whole(below) for name, below in vars(value).items()}
    if isinstance(value, Columns):
        columns = [[repr(figure) for figure in value.column(name)[: len(value)]] for name in value.TYPES]
        return columns, {key: row for key, row in value.keys.rows().items() if row < len(value)}
    if isinstance(value, AppendOnlyList):
        keys = value.memory[1].rows()
        return [repr(item) for item in value], {key: row for key, row in keys.items() if row < len(value)}
    if isinstance(value, dict):
        return [(key, whole(below)) for key, below in value.items()]
    return None if isinstance(value, Names | Texts) else (type(value), repr(value))


def folded(log: Path, upto: int = LAST) -> RunState:
    """The log's events up to number `upto`, one after the other."""
    state, reader = RunState(), LogReader(log)
    while entries := reader.poll():
        for entry in entries:
            if entry.event.seq <= upto:
                state.apply(*entry)
    return state


def kept(log: Path, every: int = 40) -> Snapshot:
    """What a session knows of the log when it has read all of it."""
    state, index, reader, points = RunState(), EventIndex(), LogReader(log), []
    while entries := reader.poll(every):
        for entry in entries:
            state.apply(*entry)
            index.add(entry.event)
        points.append(_point(reader, state.share()))
    return Snapshot(Prefix(reader.offset, reader.line, reader.check), state, points, index, {})


def _point(reader: LogReader, state: RunState) -> KeptState:
    return KeptState(state.seq, reader.offset, reader.line, lambda: state)


def saved(log: Path) -> Path:
    """The file of the log's snapshot."""
    save(log, kept(log), Stamp.of(log))
    return file_of(log)


def test_a_loaded_snapshot_is_what_was_saved(run: RunDirectory) -> None:
    """Every state of it, and the index; the states share their memory again and can be folded on."""
    saved(run.events)
    before, found = kept(run.events), load(run.events)
    assert found is not None
    after, _ = found
    assert whole(after.state) == whole(before.state) == whole(folded(run.events))
    assert after.state.esm.names.texts == before.state.esm.names.texts
    assert after.state.esm.questions.by_name == before.state.esm.questions.by_name
    assert (after.prefix, after.index.marks) == (before.prefix, before.index.marks)
    assert after.index.arrays() == before.index.arrays()
    assert len(after.kept) > 10
    for mine, other in zip(after.kept, before.kept, strict=True):
        assert (mine.seq, mine.offset, mine.line) == (other.seq, other.offset, other.line)
        assert whole(mine.state()) == whole(other.state())
    one, two = after.kept[3].state(), after.kept[9].state()
    assert one.esm.decisions.shares(two.esm.decisions) and one.esm.names is two.esm.names


def test_a_run_opened_again_is_exact_at_every_moment(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read anew; scrubbing shows what a slow fold gives."""
    watch(run)
    wait_until(lambda: file_of(run.events).exists(), "the snapshot")
    read: list[int] = []
    poll = LogReader.poll

    def note(reader: LogReader, most: int = 1) -> list[event_log.LogEntry]:
        read.append(reader.offset)
        return poll(reader, most)

    monkeypatch.setattr(LogReader, "poll", note)
    session = watch(run)
    assert min(read, default=len(b"".join(LINES))) == len(b"".join(LINES))
    assert whole(session.state) == whole(folded(run.events))
    for seq in (0, LAST, 49, 52, 1, HALF, HALF - 1, 300, LAST - 1):
        session.seek(seq)
        wait_until(lambda seq=seq: session.update() is not None and session.state.seq == seq, f"event {seq}")
        assert whole(session.state) == whole(folded(run.events, seq)), seq
    assert session.index.step(HALF, 1) == HALF + 1 and session.index.marks == kept(run.events).index.marks


def test_what_came_later_is_folded_on(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    """Half of the log is known from the last time, with half a line behind it and a broken line in it; reports that
    come again count once."""
    spoilt = [*LINES[:30], b"what is this\n", *LINES[30:]]
    run.events.write_bytes(b"".join(spoilt[: HALF + 2]) + spoilt[HALF + 2][:20])
    watch(run, HALF).close()
    wait_until(lambda: file_of(run.events).exists(), "the snapshot")
    run.events.write_bytes(b"".join(spoilt))
    session = watch(run)
    assert whole(session.state) == whole(slow := slow_fold(run.events)) and slow.seq == LAST
    assert ["events.jsonl:31" in said.text for said in session.take_messages()] == [True]


def slow_fold(log: Path) -> RunState:
    """Line by line, without a reader."""
    state, offset = RunState(), 0
    for line in log.read_bytes().splitlines(keepends=True):
        try:
            event = ev.decode(line)
        except msgspec.DecodeError:
            pass
        else:
            state.apply(event, offset, len(line) - 1)
        offset += len(line)
    return state


def _edited(log: Path) -> None:
    """A letter is another one; size and time of the last change are as before."""
    status, data = log.stat(), log.read_bytes()
    log.write_bytes(data.replace(b'"seed":7', b'"seed":8', 1))
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGED: dict[str, Callable[[Path], object]] = {
    "edited": _edited,
    "cut": lambda log: log.write_bytes(b"".join(LINES[:-1])),
    "cut, and written on": lambda log: log.write_bytes(b"".join([*LINES[:-9], *LINES[-8:], *LINES[-8:]])),
    "another run": lambda log: log.write_bytes(b"".join(map(ev.encode, SyntheticRun(examples=60).events()))),
    "empty": lambda log: log.write_bytes(b""),
    "gone": lambda log: log.unlink(),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("settled", [-1.0, 1e9], ids=["known by its stamp", "known by its bytes"])
def test_a_log_that_was_changed_is_read_anew(
    run: RunDirectory, change: str, settled: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_SETTLED", settled)
    assert saved(run.events).exists()
    found = load(run.events)
    assert found is not None and found[1] == (settled < 0)
    CHANGED[change](run.events)
    assert load(run.events) is None


def test_a_changed_log_shows_what_stands_in_it_now(
    run: RunDirectory, watch: Callable[..., RunSession], wait_until: Wait
) -> None:
    watch(run)
    wait_until(lambda: file_of(run.events).exists(), "the snapshot")
    _edited(run.events)
    assert (header := watch(run).state.header) is not None and header.seed == 8


def test_a_log_that_only_grew_or_was_touched_is_still_known(run: RunDirectory) -> None:
    saved(run.events)
    os.utime(run.events)
    assert load(run.events) is not None
    with run.events.open("ab") as log:
        log.write(LINES[5])
    found = load(run.events)
    assert found is not None and found[0].prefix.offset == sum(map(len, LINES))


def test_a_spoilt_snapshot_is_not_used(run: RunDirectory) -> None:
    """Cut anywhere, longer than it was, a byte changed anywhere, or writable for others."""
    path = saved(run.events)
    good = path.read_bytes()
    assert load(run.events) is not None
    places = [0, 25, 40, len(good) // 3, len(good) // 2, len(good) - 4, len(good) - 1]
    wrong = [good[:place] for place in places] + [good + b"\0"]
    wrong += [good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :] for place in places]
    for data in wrong:
        path.write_bytes(data)
        assert load(run.events) is None
    path.write_bytes(good)
    path.chmod(0o666)
    assert load(run.events) is None
    path.chmod(0o600)
    assert load(run.events) is not None


def test_a_snapshot_of_holes_takes_no_memory(run: RunDirectory) -> None:
    """Its lengths are right, and room for them would be made before they are read."""
    path = saved(run.events)
    head = msgspec.msgpack.encode((read_about(path), [1 << 40]))
    begin = b"steer-tui sections 1\n" + len(head).to_bytes(8) + head
    path.write_bytes(begin)
    os.truncate(path, len(begin) + (1 << 40) + 8)
    assert load(run.events) is None


def test_a_snapshot_of_other_code_or_of_another_log_is_not_used(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(run.events)
    copy = run.path.with_name("copy") / "events.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(run.events.read_bytes())
    file_of(copy).write_bytes(path.read_bytes())
    assert load(copy) is None
    monkeypatch.setattr(snapshots, "code_key", lambda: "another version")
    assert load(run.events) is None


def test_what_cannot_be_packed_is_not_kept(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of another package may hold anything; and there may be no cache."""
    snapshot = kept(run.events)
    snapshot.state.others["foreign"] = object()  # type: ignore[assignment]
    save(run.events, snapshot, None)
    assert not file_of(run.events).exists() and load(run.events) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    save(run.events, kept(run.events), None)
    assert load(run.events) is None


def test_the_folder_keeps_within_its_room(tmp_path: Path) -> None:
    folder = cache_folder()
    folder.mkdir(parents=True)
    for age, name in enumerate(("new", "used", "old", "older")):
        (folder / f"{name}.snapshot").write_bytes(b"x" * 100)
        os.utime(folder / f"{name}.snapshot", (1e9 - age, 1e9 - age))
    (folder / "left.part").write_bytes(b"x")
    os.utime(folder / "left.part", (1e9, 1e9))
    make_room(folder / "older.snapshot", most=250)
    assert {path.name for path in folder.iterdir()} == {"new.snapshot", "used.snapshot", "older.snapshot"}
