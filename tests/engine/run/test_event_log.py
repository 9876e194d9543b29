from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import DataError, DiskError, RunError
from engine.events import Header, IterationFinished, Notice, StageFinished, StageProgress, decode, encode
from engine.run.event_log import EventLog, LogReader, read_event
from engine.run.lock import RunLock
from tests.exactly import exactly

HEADER = Header(schema_version=1, name="n", run_id="r", seed=0, stages=["mine"])


def write(path: Path, *texts: str) -> None:
    log = EventLog(path, HEADER)
    for text in texts:
        log.emit(Notice(text=text), stage="mine")
    log.close()


def texts(reader: LogReader, **how: int) -> list[str]:
    return [entry.event.text for entry in reader.poll(**how) if isinstance(entry.event, Notice)]


def test_events_are_stamped(tmp_path: Path) -> None:
    clock = iter([10.0, 11.0, 12.0])
    log = EventLog(tmp_path / "e", HEADER, clock=lambda: next(clock))
    log.emit(Notice(text="a"), stage="mine")
    log.emit(Notice(text="b", stage="own"))
    log.close()
    found = [entry.event for entry in LogReader(tmp_path / "e").poll()]
    assert [(e.seq, e.time, e.stage) for e in found] == [(0, 10.0, ""), (1, 11.0, "mine"), (2, 12.0, "own")]
    assert isinstance(found[0], Header)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(log._file)


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"Notice","seq":-3,"time":1.0,"text":"x"}',
        '{"type":"Notice","seq":3,"time":1e300,"text":"x"}',
        '{"type":"Notice","seq":3,"time":-1.0,"text":"x"}',
        '{"type":"Notice","seq":1000000000000000000000,"time":1.0,"text":"x"}',
        '{"type":"StageProgress","seq":3,"time":1.0,"done": -9223372036854775809,"total":3}',
        '{"type":"MemoryBuilt","seq":3,"time":1.0,"entries":1,"hidden_size":8,"by_control_point":{},"layers":[1, '
        + "9" * 20
        + "]}",
        '{"type":"Notice","seq":3,"time":1.0,"text":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"type":"Foreign","more":' + "[" * 100_000 + "]" * 100_000 + "}",
        "[" * 200_000,
    ],
    ids=[
        "negative number",
        "end of time",
        "before time",
        "long number",
        "long field",
        "long in a list",
        "deep",
        "deep and unknown",
        "open",
    ],
)
def test_a_hostile_line_is_told_and_the_log_goes_on(tmp_path: Path, line: str) -> None:
    """It stopped the reading without a word, or crashed what draws clocks."""
    path = tmp_path / "e"
    write(path, "one")
    with path.open("a") as file:
        file.write(line + "\n")
        file.write('{"type":"Notice","seq":9,"time":2.0,"text":"two"}\n')
    reader = LogReader(path)
    assert texts(reader) == ["one", "two"]
    assert reader.damage == f"damaged lines of the log, passed over: 1; the first is {path}:3"


def test_long_digits_in_a_text_are_text(tmp_path: Path) -> None:
    path = tmp_path / "e"
    write(path, "pi: 31415926535897932384", "all: 9223372036854775808, and more")
    assert texts(LogReader(path)) == ["pi: 31415926535897932384", "all: 9223372036854775808, and more"]


def test_links_are_not_written_through(tmp_path: Path) -> None:
    """A lock or a log of a foreign run may be a link to a file of one's own."""
    own = tmp_path / "own"
    own.write_text("precious")
    for name in ("worker.lock", "events.jsonl"):
        (tmp_path / name).symlink_to(own)
    with pytest.raises(DiskError):
        RunLock(tmp_path / "worker.lock")
    with pytest.raises(DiskError):
        EventLog(tmp_path / "events.jsonl", HEADER)
    assert own.read_text() == "precious"


@given(st.integers(0, 200))
def test_a_kill_at_any_byte_costs_at_most_one_event(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "e"
    write(path, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    before = len(LogReader(path).poll())
    write(path, "three")
    after = [entry.event for entry in LogReader(path).poll()]
    assert [event.seq for event in after] == list(range(len(after)))
    assert len(after) == max(before, 1) + 1 and isinstance(after[0], Header)


def test_reader_waits_for_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "e"
    write(path, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    reader = LogReader(path)
    assert texts(reader) == ["one"]
    path.write_bytes(whole)
    assert texts(reader) == ["two"] and reader.behind() == 0
    assert reader.poll() == [], "nothing new"


def test_reader_survives_a_tail_that_is_cut_and_replaced(tmp_path: Path) -> None:
    """A worker that resumes removes the torn line the reader has already seen bytes of."""
    path = tmp_path / "e"
    write(path, "one")
    with path.open("ab") as file:
        file.write(b'{"type":"Notice","text":"to')
    reader = LogReader(path)
    assert texts(reader) == ["one"]
    write(path, "two")
    assert texts(reader) == ["two"]


def test_log_is_followed_while_it_grows(tmp_path: Path, wait_until: Callable[..., None]) -> None:
    path, reader, found = tmp_path / "e", LogReader(tmp_path / "e"), []
    assert reader.poll() == []

    def grow() -> None:
        for start in range(0, 500, 100):
            write(path, *map(str, range(start, start + 100)))

    thread = threading.Thread(target=grow)
    thread.start()
    wait_until(lambda: found.extend(texts(reader, max_events=7)) or len(found) >= 500, "500 events")
    thread.join()
    assert found == list(map(str, range(500)))


def test_broken_lines_are_counted_and_passed_over(tmp_path: Path) -> None:
    """Lines 3, 5 and 6, the last two with no event behind them."""
    path = tmp_path / "e"
    write(path, "one")
    with path.open("ab") as file:
        file.write(b'{"type":"Notice"}\n{"type":"Notice","text":"after","seq":3}\n')
    reader = LogReader(path)
    assert reader.damage == ""
    assert texts(reader) == ["one", "after"] and (reader.line, reader.broken) == (4, 1)
    with path.open("ab") as file:
        file.write(b"?\n\n")
    assert texts(reader) == [] and (reader.line, reader.broken, reader.first_broken) == (6, 3, 3)
    assert reader.damage == f"damaged lines of the log, passed over: 3; the first is {path}:3"


def test_events_behind_more_lines_without_any_than_are_read_at_once_are_found(tmp_path: Path) -> None:
    """Of damaged lines and of unknown types: 2¹⁸ bytes are read at once."""
    path = tmp_path / "e"
    path.write_bytes(b"\xff\n" * (1 << 18) + b'{"type":"FromTheFuture"}\n' * (1 << 14) + EVENT + b"\n")
    reader = LogReader(path)
    assert texts(reader) == ["a"] and reader.behind() == 0
    assert (reader.broken, reader.unknown) == (1 << 18, {"FromTheFuture": 1 << 14})


@given(st.binary(max_size=40).filter(lambda line: b"\n" not in line))
def test_any_garbage_is_broken_or_unknown(tmp_path_factory: pytest.TempPathFactory, line: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "e"
    path.write_bytes(line + b"\n")
    reader = LogReader(path)
    assert reader.poll() == [] and reader.broken + reader.unknown.total() == 1


EVENT = b'{"type":"Notice","text":"a","seq":1}'
AWKWARD = (
    EVENT,
    EVENT + EVENT,
    EVENT + b" ",
    b"",
    b'{"type":"FromTheFuture","x":1}',
    b'{"type":"Notice"}',
    b'{"type":"Notice","text":"a","seq":-1}',
    b'{"type":"Notice","text":"a","time":1e12}',
    b'{"type":"StageFinished","seconds":1,"summary":',
    b'{"a":1}}',
    b'{"type":"Notice","text":"\xff"}',
)


@example([EVENT + EVENT, b"", EVENT], 7)
@example([EVENT[:18], EVENT[18:], EVENT + EVENT], 7)
@given(st.lists(st.sampled_from([EVENT] * 8 + list(AWKWARD)), max_size=7), st.integers(1, 7))
def test_lines_decoded_together_give_what_each_gives(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "e"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + EVENT[:9])
    together, each = LogReader(path), LogReader(path)
    each._decode = each._decode_each  # type: ignore[method-assign]
    for _ in range(len(lines) + 1):
        assert polled(together, most) == polled(each, most)


def polled(reader: LogReader, most: int) -> tuple[object, ...]:
    return reader.poll(most), reader.offset, reader.line, dict(reader.unknown), reader.damage


def test_unknown_types_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(
        b'{"type":"FromTheFuture","x":1}\n' * 3 + b'{"type":"Notice","text":"a","new_field":1}\n'
    )
    reader = LogReader(path)
    assert texts(reader) == ["a"] and reader.unknown == {"FromTheFuture": 3}


def test_event_is_read_again_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "e"
    write(path, "one", "zwei ü\n", "x" * 600_000, "four")
    for entry in LogReader(path).poll():
        assert read_event(path, entry.offset, entry.length) == entry.event
        assert decode(path.read_bytes()[entry.offset :][: entry.length]) == entry.event
    with pytest.raises(DataError):
        read_event(path, 3, 10)
    path.unlink()
    with pytest.raises(
        DataError,
        match=exactly(
            "the log cannot be read any more: No such file or directory (…/e): put the run's folder back where it"
            " was, or open the run anew"
        ),
    ):
        read_event(path, 0, 10)


def test_shrunken_log_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "e"
    write(path, "one")
    reader = LogReader(path)
    reader.poll()
    path.write_bytes(b"")
    assert reader.behind() == 0
    with pytest.raises(
        RunError,
        match=exactly(
            "the log is shorter (0 bytes) than what was already read of it (…) (…/e): open the run again; if "
            "this repeats, something else writes into its folder"
        ),
    ):
        reader.poll()


def test_event_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    """NaN becomes null in JSON, which no reader would take for a number: the log must not be broken by it."""
    log = EventLog(tmp_path / "e", HEADER)
    with pytest.raises(
        ValueError,
        match=exactly(
            "this event cannot be read back (Expected `float`, got `null` - at `$.cost`): "
            'b\'{"type":"IterationFinished","seq":1,"time":…,"iteration":0,"cost":null}\\n\''
        ),
    ):
        log.emit(IterationFinished(iteration=0, cost=float("nan")))
    log.emit(StageProgress(done=1, total=2))
    log.close()
    assert [entry.event.seq for entry in LogReader(tmp_path / "e").poll()] == [0, 1]


def test_threads_may_write_at_once(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "e", HEADER)
    threads = [
        threading.Thread(target=lambda: [log.emit(Notice(text="x" * 50)) for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert [entry.event.seq for entry in LogReader(tmp_path / "e").poll()] == list(range(801))


def test_a_line_that_is_written_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system may write less than it is given."""
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, data[:7], at))
    write(tmp_path / "e", "one", "two")
    assert texts(LogReader(tmp_path / "e")) == ["one", "two"]
    assert (tmp_path / "e").read_bytes().count(b"\n") == 3


def test_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """In a child process, because a limit on file sizes holds for a whole process."""
    path = tmp_path / "e"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
            write(path, *["x" * 90] * 1000)
        except DiskError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    data = path.read_bytes()
    assert data.endswith(b"\n") and 9_000 < len(data) <= 10_000
    write(path, "after")
    assert texts(LogReader(path))[-1] == "after"


def test_a_stretch_that_was_never_written_is_passed_over_at_once(tmp_path: Path) -> None:
    """A file of any apparent size takes no room to send."""
    path = tmp_path / "events.jsonl"
    log = EventLog(path, HEADER)
    log.emit(Notice(text="before"))
    log.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size + (1 << 42))
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + encode(Notice(text="behind")))
    reader = LogReader(path)
    found: list[str] = []
    while reader.behind():
        found += texts(reader)
    assert found == ["before", "behind"] and reader.broken == 3 and reader.first_broken == 3
    assert reader.offset == path.stat().st_size


def test_what_did_not_reach_the_disk_is_told_by_every_later_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat alone may have met the error, and it tells nobody."""
    log = EventLog(tmp_path / "e", HEADER)
    log.emit(Notice(text="a"))

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DiskError):
            log.sync()
    for _ in range(2):
        with pytest.raises(DiskError):
            log.emit(Notice(text="b"))
    assert texts(LogReader(tmp_path / "e")) == ["a"]


def test_the_log_is_brought_to_the_disk_once_for_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once at the beginning and the end of a stage; in its middle when asked, and no second time for the same."""
    log = EventLog(tmp_path / "e", HEADER)
    log.sync()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    log.sync()
    assert not synced
    log.emit(StageProgress(done=1, total=2))
    log.emit(Notice(text="a"))
    assert not synced
    log.sync()
    log.sync()
    assert len(synced) == 1
    log.emit(StageFinished(seconds=1.0))
    assert len(synced) == 2
    log.emit(Notice(text="b"))
    log.close()
    assert len(synced) == 3


@pytest.mark.parametrize("instead", [None, "another file"])
def test_a_run_whose_folder_was_moved_says_so(tmp_path: Path, instead: str | None) -> None:
    """What is written by path from now on would lie apart from the log."""
    folder = tmp_path / "run"
    folder.mkdir()
    log = EventLog(folder / "e", HEADER)
    log.check_place()
    assert log.events == 1
    folder.rename(tmp_path / "away")
    if instead is not None:
        folder.mkdir()
        (folder / "e").write_text(instead)
    with pytest.raises(
        DiskError,
        match=exactly(
            "the run's folder was moved or deleted while the engine worked in it (…/run): if it was moved, "
            "resume it where "
            "it is now; if it was deleted, start a new run"
        ),
    ):
        log.check_place()
    with pytest.raises(DiskError, match="moved or deleted"):
        log.emit(Notice(text="a"))
    log.close()


@pytest.mark.parametrize("chunk", range(1, 40))
def test_a_torn_tail_is_cut_off_wherever_a_piece_of_the_log_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """The log is looked through from its end in pieces: a line may end in any byte of one."""
    path = tmp_path / "e"
    write(path, "a", "b")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"Noti')
    monkeypatch.setattr("engine.run.event_log._CHUNK", chunk)
    log = EventLog(path, HEADER)
    assert log.events == 3 and path.read_bytes() == whole
    log.close()
