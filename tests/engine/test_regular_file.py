"""Pipes, devices and links in the place of a run's files: nobody waits for them, nobody writes where they lead."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import BufferedReader, FileIO
from pathlib import Path

import pytest

from app.runs.notes import NOTHING, Notes, read_notes
from app.runs.run_list import RunList
from engine.comparison.run_items import read_items
from engine.config.file import load_config
from engine.errors import ConfigError, DataError, DiskError, RunError
from engine.events import SCHEMA_VERSION, Header, Notice
from engine.files import append_jsonl, read_jsonl, recover_jsonl, write_jsonl
from engine.regular_file import file_stamp, last_line, open_to_append, read_regular, written_from
from engine.run.directory import RunDirectory, SweepPoint, discover
from engine.run.event_log import EventLog, LogReader
from engine.run.find_event import find_event
from engine.run.lock import RunLock, read_lock
from engine.run.stage_files import read_stage_files
from engine.sweep.sweep import SweepFolder
from screens.runs.source import sweep_of
from tests.made_run import create_run


def pipe(path: Path) -> None:
    """Whoever opens it waits for a writer."""
    os.mkfifo(path)


def endless(path: Path) -> None:
    """Whoever reads it never comes to an end."""
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


in_its_place = pytest.mark.parametrize("put", [pipe, endless, loop])
Put = Callable[[Path], None]


def a_run(outputs: Path) -> RunDirectory:
    """A run whose log holds an event."""
    run = create_run(outputs, "x", seed=0, stages=["mine"], config={}, config_text="", versions={})
    header = Header(
        schema_version=SCHEMA_VERSION, name="x", run_id=run.path.name, seed=0, stages=["mine"], versions={}
    )
    log = EventLog(run.events, header)
    log.emit(Notice(text="well"))
    log.close()
    return run


@in_its_place
def test_a_record_that_is_no_file(tmp_path: Path, put: Put) -> None:
    run = a_run(tmp_path)
    run.record.unlink()
    put(run.record)
    with pytest.raises(RunError, match="not a run"):
        run.read()
    assert discover(tmp_path) == RunList(tmp_path).read() == []


@in_its_place
def test_a_log_that_is_no_file(tmp_path: Path, put: Put) -> None:
    run = a_run(tmp_path)
    run.events.unlink()
    put(run.events)
    assert [row.progress.name for row in RunList(tmp_path).read()] == [""]
    with pytest.raises(RunError, match="log cannot be read"):
        LogReader(run.events).poll()
    with pytest.raises(DataError, match="log cannot be read"):
        read_items(run.path)
    with pytest.raises(OSError, match=r"Errno"):
        find_event(run.events, 1)


@in_its_place
def test_a_lock_notes_and_a_configuration_that_are_no_files(tmp_path: Path, put: Put) -> None:
    run = a_run(tmp_path)
    run.config.unlink()
    notes = Notes(run.path)
    for path in (run.lock, run.config, notes.path):
        put(path)
    assert read_lock(run.lock) is None
    assert read_notes(run.path) == NOTHING
    with pytest.raises(ConfigError):
        load_config(run.config)
    for write in (
        lambda: notes.add(None, "the run", "a note"),
        lambda: RunLock(run.lock),
        lambda: append_jsonl(notes.path, [{}]),
    ):
        with pytest.raises(DiskError, match="something else has this name"):
            write()


@in_its_place
def test_a_sweep_that_is_no_file(tmp_path: Path, put: Put) -> None:
    put(tmp_path / "sweep.json")
    with pytest.raises(RunError, match="not a sweep"):
        SweepFolder(tmp_path).read()


@in_its_place
def test_records_that_are_no_file(tmp_path: Path, put: Put) -> None:
    put(tmp_path / "x")
    for read in (read_jsonl, recover_jsonl):
        if put is loop and read is recover_jsonl:
            continue  # what leads nowhere is not there
        with pytest.raises(DataError, match="cannot be read"):
            read(tmp_path / "x")


def test_nothing_is_appended_to_what_a_link_leads_to(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "profile", tmp_path / "answers.jsonl"
    write_jsonl(elsewhere, [{"a": 1}])
    before = elsewhere.read_bytes() + b'{"torn'
    elsewhere.write_bytes(before)
    link.symlink_to(elsewhere)
    with pytest.raises(DiskError):
        append_jsonl(link, [{"b": 2}])
    with pytest.raises(DiskError):
        recover_jsonl(link)
    with pytest.raises(OSError, match=r"Errno"):
        open_to_append(link)
    assert elsewhere.read_bytes() == before


def test_nothing_is_written_to_a_file_that_has_a_second_name(tmp_path: Path) -> None:
    """An archive may hold hard links, and a copy by `cp -al` is made of them."""
    elsewhere, lock, answers = tmp_path / "profile", tmp_path / "worker.lock", tmp_path / "answers.jsonl"
    write_jsonl(elsewhere, [{"a": 1}])
    before = elsewhere.read_bytes() + b'{"torn'
    elsewhere.write_bytes(before)
    lock.hardlink_to(elsewhere)
    answers.hardlink_to(elsewhere)
    for write in (
        lambda: RunLock(lock),
        lambda: append_jsonl(answers, [{"b": 2}]),
        lambda: recover_jsonl(answers),
    ):
        with pytest.raises(DiskError, match=r"a hard link.*cp FILE COPY"):
            write()
    assert elsewhere.read_bytes() == before and read_jsonl(answers) == [{"a": 1}]


def test_a_name_that_no_file_can_have_is_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("a\0b", "half a letter \ud800"):
        with pytest.raises(OSError, match="no file can have this name"):
            read_regular(tmp_path / name)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RunError, match="larger than 64 MiB"):
        RunDirectory(tmp_path).read()
    assert last_line(path) == "\0" * 4096
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger"):
        read_regular(path, 4)


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is passed over in pieces, none of which is held with the others; what follows is read."""
    monkeypatch.setattr("engine.run.event_log.LONGEST_LINE", 1 << 18)
    run = a_run(tmp_path)
    whole = run.events.read_bytes()
    with run.events.open("ab") as file:
        file.write(b"\0" * (1 << 20) + b"\n" + whole.splitlines(keepends=True)[1])
    reader, texts = LogReader(run.events), list[str]()
    while reader.behind():
        texts += [entry.event.text for entry in reader.poll() if isinstance(entry.event, Notice)]
    assert texts == ["well", "well"]
    assert reader.broken == 5


def test_an_event_is_found_beside_a_line_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces, never the whole line at once."""
    pieces: list[int] = []

    class Watched(BufferedReader):
        def readline(self, size: int | None = -1, /) -> bytes:
            pieces.append(len(read := super().readline(size)))
            return read

    monkeypatch.setattr("engine.run.find_event.LONGEST_LINE", 1 << 18)
    monkeypatch.setattr("engine.run.find_event.open_to_read", lambda path: Watched(FileIO(path)))
    path = tmp_path / "events.jsonl"
    line = b'{"type":"Notice","seq":%d,"time":1.0,"text":"x"}\n'
    path.write_bytes(line % 0 + b"x" * (24 << 20))
    found = find_event(path, 0)
    assert found is not None and found.event.seq == 0 and find_event(path, 7) is None
    assert max(pieces) == 1 << 18


def test_terabytes_that_were_never_written_are_passed_over(tmp_path: Path) -> None:
    """By a reader of the log and by who looks for an event: nothing of them is read."""
    run = a_run(tmp_path)
    last = run.events.read_bytes().splitlines(keepends=True)[-1]
    os.truncate(run.events, 1 << 42)
    with run.events.open("ab") as file:
        file.write(b"\n" + last.replace(b'"seq":1', b'"seq":2'))
    reader, numbers = LogReader(run.events), list[int]()
    while reader.behind():
        numbers += [entry.event.seq for entry in reader.poll()]
    assert numbers == [0, 1, 2] and 0 < reader.broken < 10
    before, behind = find_event(run.events, 1), find_event(run.events, 9)
    assert before is not None and before.event.seq == 1 and behind is None


def test_a_log_that_shrinks_is_told_each_time(tmp_path: Path) -> None:
    """Unlike a broken line, behind which reading goes on: whoever passes these over would ask for ever."""
    run = a_run(tmp_path)
    tail = LogReader(run.events)
    assert tail.poll()
    run.events.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(RunError, match="shorter"):
            tail.poll()


def test_events_before_a_broken_line_are_not_lost(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    lines = run.events.read_bytes().splitlines(keepends=True)
    run.events.write_bytes(b"".join([*lines, b"broken\n", lines[1]]))
    tail = LogReader(run.events)
    assert len(tail.poll(2)) == 2
    assert len(tail.poll()) == 1 and (tail.broken, tail.first_broken) == (1, 3)
    assert tail.poll() == []


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"files": 1, "events": 2}', b"[" * 100_000, b"\xff"])
def test_a_spoilt_list_of_a_stages_files_is_none(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "mine.json").write_bytes(line)
    assert read_stage_files(tmp_path, "mine") is None


@pytest.mark.parametrize("folder", ["../../x", "/etc", "", "..", "a\0b"])
def test_a_record_leads_to_no_sweep_elsewhere(tmp_path: Path, folder: str) -> None:
    run = a_run(tmp_path)
    record = run.read()
    record.sweep = SweepPoint(folder=folder, number=0, setting={})
    run.write(record)
    (row,) = RunList(tmp_path).read()
    assert sweep_of(row) is None


def test_a_configuration_may_come_from_a_pipe_that_the_shell_opened() -> None:
    """`--config <(…)`: its writer is there, so that nobody waits in vain."""
    reading, writing = os.pipe()
    try:
        os.write(writing, b"run: {name: piped}\n")
        os.close(writing)
        assert load_config(Path(f"/dev/fd/{reading}")).run.name == "piped"
    finally:
        os.close(reading)


def test_a_stamp_tells_when_a_file_was_written_and_its_size(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert file_stamp(path) == (0, 0)
    path.write_bytes(b"12345")
    os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    assert file_stamp(path) == (1_234_567_890_123_456_789, 5)


def test_the_last_line_is_the_last_that_says_something_near_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert last_line(path) == ""
    for content, last in (
        (b"", ""),
        (b"  \n\n", ""),
        (b"one\n two \n\n \n", "two"),
        (b"one\nh\xff", "h\ufffd"),
        (b"one\n" + b" " * 4093, "ne"),
        (b"one\n" + b" " * 4096, ""),
    ):
        path.write_bytes(content)
        assert last_line(path) == last, content


def test_where_written_bytes_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a hole, at its end, at the file's size where nothing was written any more; where one reads is left."""
    path = tmp_path / "log"
    path.write_bytes(b"a" * 10)
    os.truncate(path, 1 << 30)
    with path.open("r+b") as file:
        number = file.fileno()
        assert written_from(number, 3) == 3
        assert written_from(number, 1 << 20) == 1 << 30, "the rest was never written"
        os.lseek(number, 1 << 29, os.SEEK_SET)
        os.write(number, b"b")
        os.lseek(number, 7, os.SEEK_SET)
        assert written_from(number, 1 << 20) == 1 << 29
        assert os.lseek(number, 0, os.SEEK_CUR) == 7
        seek = os.lseek

        def refusing(file: int, offset: int, whence: int) -> int:
            if whence == os.SEEK_DATA:
                raise OSError(errno.EINVAL, "not on this file system")
            return seek(file, offset, whence)

        monkeypatch.setattr(os, "lseek", refusing)
        assert written_from(number, 1 << 20) == 1 << 20
        assert seek(number, 0, os.SEEK_CUR) == 7


def test_a_file_with_a_second_name_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a line\n")
    os.link(path, tmp_path / "other")
    assert read_regular(path) == b"a line\n" and last_line(path) == "a line"
    with pytest.raises(
        OSError, match="it has another name, a hard link, under which it would be changed"
    ) as caught:
        open_to_append(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EMLINK, str(path))
    (tmp_path / "other").unlink()
    open_to_append(path).close()
