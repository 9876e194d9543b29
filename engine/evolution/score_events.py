"""Finished iterations told again, for a run that took them over from another."""

from __future__ import annotations

import msgspec

from engine.events import AnswersScored, Event, IterationBegan, ReflectorReplied
from engine.evolution.answers import MINIBATCH, VALIDATION
from engine.evolution.history import Iteration
from engine.evolution.score import Score


def scored_event(iteration: int, split: str, found: Score, best: bool = False) -> AnswersScored:
    """A score as an event."""
    return AnswersScored(iteration=iteration, split=split, best=best, **msgspec.structs.asdict(found))


def inherited_events(item: Iteration) -> list[Event]:
    """What its own run logged, without the answers."""
    events: list[Event] = [
        IterationBegan(
            iteration=item.iteration, deltas=item.deltas, examples=item.examples, inherited=item.inherited
        ),
        scored_event(item.iteration, MINIBATCH, item.score),
    ]
    if item.validation is not None:
        events.append(scored_event(item.iteration, VALIDATION, item.validation, item.best))
    if item.new_deltas is not None:
        events.append(
            ReflectorReplied(
                iteration=item.iteration,
                reflector=item.reflector,
                deltas=item.new_deltas,
                summary=item.summary,
                attempts=item.attempts,
            )
        )
    return events
