"""Scores as events, and the events of iterations that a branch took over from its parent."""

from __future__ import annotations

import msgspec

from engine.events import AnswersScored, Event, IterationBegan, ReflectorReplied
from engine.evolution.answers import MINIBATCH, VALIDATION
from engine.evolution.history import Iteration
from engine.evolution.scoring.score import Score


def scored_event(iteration: int, split: str, score: Score, best: bool = False) -> AnswersScored:
    """The event that reports a score."""
    return AnswersScored(iteration=iteration, split=split, best=best, **msgspec.structs.asdict(score))


def inherited_events(item: Iteration) -> list[Event]:
    """The events that the parent logged for an iteration, without its answers."""
    events: list[Event] = [
        IterationBegan(
            iteration=item.iteration, deltas=item.deltas, examples=item.examples, inherited=item.inherited
        ),
        scored_event(item.iteration, MINIBATCH, item.score, item.best and item.validation is None),
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
