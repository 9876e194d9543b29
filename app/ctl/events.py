"""`ctl events`: the run's log, as it is or in words."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence

from app.batch.display import sentence
from app.ctl.output import DONE, write_json, write_line, write_warning
from app.ctl.wait import code_of_state
from engine.errors import RunError
from engine.events import Event, encode, event_types
from engine.run.directory import RunDirectory, inspect
from engine.run.event_log import LogEntry, LogReader

_POLL_SECONDS = 0.2


def events(
    directory: RunDirectory, types: Sequence[str] | None, since: int, follow: bool, as_json: bool
) -> int:
    """Write the events from number `since` on; with `follow` until no worker works on the run. Raises RunError for a
    type that does not exist."""
    _check(types)
    tail = LogReader(directory.events)
    while True:
        working = follow and inspect(directory.path).alive
        for entry in poll_all(tail):
            if entry.event.seq >= since and (types is None or type(entry.event).__name__ in types):
                _write(entry.event, as_json)
        if not working:
            return code_of_state(inspect(directory.path).state) if follow else DONE
        time.sleep(_POLL_SECONDS)


def poll_all(tail: LogReader) -> Iterator[LogEntry]:
    """All events that are there, without the damaged lines between them; standard error says how many there are."""
    before = tail.broken
    while entries := tail.poll():
        yield from entries
    if tail.broken > before:
        write_warning(tail.damage)


def _write(event: Event, as_json: bool) -> None:
    if as_json:
        write_json(json.loads(encode(event)))
        return
    clock = time.strftime("%H:%M:%S", time.localtime(event.time))
    stage = f"{event.stage}: " if event.stage else ""
    write_line(f"{event.seq:>7} {clock} {stage}{sentence(event) or type(event).__name__}")


def _check(types: Sequence[str] | None) -> None:
    known = sorted(kind.__name__ for kind in event_types())
    wrong = [name for name in types or () if name not in known]
    if wrong:
        what = f"there are no events of type {', '.join(wrong)}"
        raise RunError(what=what, where="--type", hint=f"the types are {', '.join(known)}")
