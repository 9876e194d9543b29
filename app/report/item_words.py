"""What an event is, in words: the name of a marked item, and the title of its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.methods.pages import cases_of_events
from engine import events as ev

_WORDS: dict[type[ev.Event], Callable[[Any], str]] = {
    ev.ExampleEvaluated: lambda e: f"answer of {e.method} to {e.example}",
    ev.RolloutEnded: lambda e: f"rollout {e.draw + 1} of {e.example}",
    ev.RolloutsMined: lambda e: f"rollouts of {e.example}",
    ev.SamplerStep: lambda e: f"training step {e.step}",
    ev.PoolPairEvaluated: lambda e: f"pair {e.pair[0]}, {e.pair[1]} tried on {e.query_id}",
    ev.SelectorStep: lambda e: f"training step {e.step} of the selector",
}


def item_words(event: ev.Event) -> str:
    """`decision of esm on t-1, segment 2`"""
    words = _WORDS.get(type(event))
    if (owner := cases_of_events().get(type(event))) is not None:
        words = owner[1].words
    return f"{type(event).__name__} {event.seq}" if words is None else words(event)
