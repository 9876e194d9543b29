"""A question's sampled paths: how often each comes up, what it is paid, where it leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.blocks.bars import plain_bar
from app.blocks.block import Span, Table, Words, spans
from app.wording.figures import fixed, probability
from engine.events import PathStep, QuestionSampled, SampledPath

LEGEND = (
    "━ edge of a shortest path  ─ other edge  ★ answer  ≠ here a path that meets none leaves the shortest ones",
    "share: of the draws, without replacement P_F, the probability of the path; R: its reward",
)


def path_table(
    paths: Iterable[tuple[str, int, SampledPath]], event: QuestionSampled, notes: Sequence[str] = LEGEND
) -> Table:
    """Paths of an event with a sign and their ranks, each with its way."""
    rows: list[Sequence[Words]] = [
        (
            (Span(f"{sign}{rank} ", "warn" if sign else "dim"), *spans(way(path))), met(path),
            Span(plain_bar(_share(path, event), 10), "accent"), str(path.count),
            probability(path.probability), fixed(path.reward),
        )
        for sign, rank, path in paths
    ]  # fmt: skip
    header = ("path", "meets", "share", "drawn", "P_F", "R")
    return Table(header, rows, 4, notes=notes, priority=(0, 1, 4, 3, 0, 2))


def _share(path: SampledPath, event: QuestionSampled) -> float:
    return path.probability if event.distinct else path.count / max(1, event.samples)


def met(path: SampledPath) -> Span:
    """The answers that a path meets."""
    return Span("✓ " + ", ".join(path.answers), "good") if path.answers else Span("✗ no answer", "bad")


def left_at(path: SampledPath) -> int:
    """The step, from 1, in which a path leaves the shortest ones to an answer; 0 where it does not."""
    return next((number for number, step in enumerate(path.steps, 1) if not step.gt), 0)


def way(path: SampledPath) -> Words:
    """The path from node to node."""
    if not path.steps:
        return Span("STOP at once", "dim")
    words, left = [Span(path.steps[0].head)], 0 if path.answers else left_at(path)
    for number, step in enumerate(path.steps, 1):
        words += [Span(" ≠" if number == left else "", "bad"), *_step(step)]
    return words


def _step(step: PathStep) -> tuple[Span, Span]:
    edge = "━" if step.gt else "─"
    arrow = Span(f" {edge}{step.relation}{edge}▶ ", "accent" if step.gt else "dim")
    return arrow, Span(f"{step.tail}★", "good") if step.answer else Span(step.tail)
