"""A question's sampled paths: how often each comes up, what it is paid, where it leads."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from app.blocks.bars import bar
from app.blocks.block import Block, Drawn, Palette, Paragraph, Span, Table, Words
from app.blocks.terminal import line
from app.wording.figures import fixed, probability
from engine.events import PathStep, QuestionSampled, SampledPath

LEGEND = """━ edge of a shortest path  ─ other edge  ★ answer  ≠ here a path that meets none leaves the shortest ones
P_F: probability of the path  R: its reward"""
_MOST_IN_DOCUMENTS = 30


class Paths(Drawn):
    """All distinct paths of a question, each with its way."""

    def __init__(self, event: QuestionSampled) -> None:
        self._event = event

    def draw(self, palette: Palette, width: int) -> RenderableType:
        paths = (
            draw_path(rank, path, self._event, palette) for rank, path in enumerate(self._event.paths, 1)
        )
        return Group(Text(LEGEND, palette["dim"]), *paths)

    def in_documents(self) -> Sequence[Block]:
        paths = self._event.paths
        rows = [
            (way(path), met(path), str(path.count), probability(path.probability), fixed(path.reward))
            for path in paths[:_MOST_IN_DOCUMENTS]
        ]
        table = Table(("path", "meets", "drawn", "P_F", "R"), rows, 3, notes=LEGEND.splitlines())
        more = len(paths) - _MOST_IN_DOCUMENTS
        return [table, Paragraph(f"{more} more paths are in the log.", "dim")] if more > 0 else [table]


def draw_path(
    rank: int, path: SampledPath, event: QuestionSampled, palette: Palette, sign: str = " "
) -> RenderableType:
    """One of an event's paths: a line of figures behind a sign, below it the way that it goes."""
    share = path.probability if event.distinct else path.count / event.samples if event.samples else 0.0
    text = Text.assemble((sign, palette["warn"]), (f"{rank:>2} ", palette["dim"]))
    text.append_text(bar(share, 10, palette["accent"], palette["dim"]))
    if not event.distinct:
        text.append(f" ×{path.count:<3}", palette["strong"])
    text.append(f" P_F {probability(path.probability)}  R {fixed(path.reward)}  ")
    text.append_text(line(met(path), palette))
    return Group(text, Padding(line(way(path), palette), (0, 0, 0, 4)))


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
