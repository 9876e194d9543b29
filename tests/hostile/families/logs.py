"""A run's own files, as another program or a bad disk may leave them: log, record, lock, requests, commands."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from app.runs.run_list import read_progress
from app.state.run import RunState
from engine.events import Event, Header
from engine.run.control import answer
from engine.run.directory import RunDirectory, inspect
from engine.run.event_log import EventLog, LogReader
from engine.run.gate import Gate
from engine.run.lock import read_lock
from engine.servers.usage import UsageBook
from tests.hostile.family import Family

RECORDED = Path(__file__).resolve().parents[1] / "recorded"


@cache
def _lines() -> tuple[bytes, ...]:
    """Ten events each."""
    lines = (RECORDED / "events.jsonl").read_bytes().splitlines(keepends=True)
    return tuple(b"".join(lines[at : at + 10]) for at in range(0, len(lines), 10))


def _log(data: bytes, folder: Path) -> object:
    """Followed to its end, past lines that are no events, and folded into what screens draw."""
    path = folder / "events.jsonl"
    path.write_bytes(data)
    reader, state = LogReader(path), RunState()
    while entries := reader.poll():
        for entry in entries:
            state.apply(entry.event, entry.offset, entry.length)
    read_progress(RunDirectory(folder))
    return state


def _taken_up(data: bytes, folder: Path) -> None:
    """A worker goes on with the log."""
    path = folder / "events.jsonl"
    path.write_bytes(data)
    log = EventLog(path, Header(schema_version=1, run_id="r", name="n", stages=[], seed=0))
    try:
        log.emit(Event())
    except ValueError:
        pass
    finally:
        log.close()


def _record(data: bytes, folder: Path) -> object:
    (folder / "run.json").write_bytes(data)
    return inspect(folder)


def _lock(data: bytes, folder: Path) -> object:
    (folder / "worker.lock").write_bytes(data)
    return read_lock(folder / "worker.lock")


def _usage(data: bytes, folder: Path) -> object:
    (folder / "usage.jsonl").write_bytes(data)
    book = UsageBook(folder)
    book.open()
    return book.totals


_USAGE = (
    b'{"time":1.5,"stage":"evolve","role":"judge","server":"http://h/v1","model":"m","outcome":"answered",'
    b'"prompt_tokens":5,"completion_tokens":7,"seconds":0.2}\n'
)
FAMILIES = [
    Family("log", "lines", _lines, _log),
    Family("log taken up", "lines", _lines, _taken_up),
    Family("run.json", "json", lambda: [(RECORDED / "run.json").read_bytes()], _record),
    Family(
        "worker.lock", "json", lambda: [b'{"pid": 1, "host": "h", "started": "a-1", "last_words": ""}'], _lock
    ),
    Family("usage.jsonl", "lines", lambda: [_USAGE * 3], _usage),
    Family(
        "command",
        "json",
        lambda: [b'{"command": "status"}', b'{"command": "pause"}'],
        lambda data, _: answer(data, Gate(lambda _: None), dict, lambda *_: []),
    ),
]
