"""What an event is, in words: the name of a marked item, and the title of its page."""

from __future__ import annotations

from app.methods.pages import cases_of_events
from engine.events import Event


def item_words(event: Event) -> str:
    """`decision of esm on t-1, segment 2`"""
    owner = cases_of_events().get(type(event))
    return f"{type(event).__name__} {event.seq}" if owner is None else owner[1].words(event)
