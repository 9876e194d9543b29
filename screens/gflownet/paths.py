"""A sampled path drawn: how often it comes up, what it is paid, where it leads."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from app.blocks.model_text import clean
from app.figures import fixed, probability
from engine.events import PathStep, QuestionSampled, SampledPath
from screens.widgets.bars import bar

Palette = dict[str, Style]
LEGEND = """━ edge of a shortest path  ─ other edge  ★ answer  ≠ here a path that meets none leaves the shortest ones
P_F: probability of the path  R: its reward"""


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
    text.append("✓ " + clean(", ".join(path.answers)) if path.answers else "✗ no answer",
                palette["good"] if path.answers else palette["bad"])  # fmt: skip
    return Group(text, Padding(_way(path, palette), (0, 0, 0, 4)))


def left_at(path: SampledPath) -> int:
    """The step, from 1, in which a path leaves the shortest ones to an answer; 0 where it does not."""
    return next((number for number, step in enumerate(path.steps, 1) if not step.gt), 0)


def _way(path: SampledPath, palette: Palette) -> Text:
    if not path.steps:
        return Text("STOP at once", palette["dim"])
    text, left = Text(clean(path.steps[0].head)), 0 if path.answers else left_at(path)
    for number, step in enumerate(path.steps, 1):
        text.append(" ≠" if number == left else "", palette["bad"]).append_text(_step(step, palette))
    return text


def _step(step: PathStep, palette: Palette) -> Text:
    line = "━" if step.gt else "─"
    text = Text(f" {line}{clean(step.relation)}{line}▶ ", palette["accent"] if step.gt else palette["dim"])
    text.append(clean(step.tail), palette["good"] if step.answer else "")
    return text.append("★", palette["good"]) if step.answer else text
