"""Where the console shows an event: the method's screen, and the place in it."""

from __future__ import annotations

from pathlib import Path

from app.methods.pages import cases_of_events, pages
from app.methods.place import OfEvent, Place
from engine import events as ev
from engine.errors import RunError
from engine.run.find_event import find_event


def event_place(run_dir: Path, seq: int) -> tuple[str, Place]:
    """(method, place in its screen) of the event with this number. Raises RunError if it is not in the log or is no
    item, OSError."""
    where = f"{run_dir}@{seq}"
    entry = find_event(run_dir / "events.jsonl", seq)
    if entry is None:
        raise RunError(
            what="the log has no event of this number",
            where=where,
            hint="events count from 0; y copies a row's number",
        )
    if (place := place_of(entry.event, entry.offset)) is None:
        what = f"event {seq} is {type(entry.event).__name__}, which no table has a row for"
        raise RunError(what=what, where=where, hint="name the event of a decision, an answer, a question, …")
    return place


def place_of(event: ev.Event, offset: int) -> tuple[str, Place] | None:
    """(method, place in its screen) of an event that begins at a byte of the log; None if no table has a row for it."""
    for page in pages().values():
        if (place := page.event_places.get(type(event))) is not None:
            return page.title, place(event)
    owner = cases_of_events().get(type(event))
    return None if owner is None else (owner[0].title, Place(owner[1].name, OfEvent(offset), open=True))


def kinds_with_place() -> dict[type[ev.Event], str]:
    """Which events have a place, each with its method."""
    cases = {kind: page.title for kind, (page, _) in cases_of_events().items()}
    return cases | {kind: page.title for page in pages().values() for kind in page.event_places}
