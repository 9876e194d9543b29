"""What if: the paths of a question at another temperature, with another prior or draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from app.blocks.model_text import clean, one_line
from app.figures import outcome
from app.methods.gflownet.paths import LEGEND, draw_path
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from app.text import counted
from engine.events import EvidenceAnswered, PathsTried, QuestionSampled, SampledPath
from screens.what_if.drawing import ABREAST, abreast, draw_exact
from screens.what_if.fields import Field, number, whole, yes_or_no
from screens.what_if.screen import Palette, WhatIfScreen


class PathsWhatIf(WhatIfScreen[PathsTried]):
    """A question's paths, drawn again."""

    SYSTEM = "gflownet"
    HELP = """\
# What if: other paths

Draws the question's paths again with other settings. Random draws belong to a question and a draw number, so with draw
0 whatever is new comes from the settings. Three lists stand side by side: as they were *committed*, without the
retriever's scores (*no prior*), and *yours*. `+` marks a path that the committed ones do not have, `−` those that are
missing.

*temperature* 1 is the trained sampler; lower is surer, higher more varied. *prior α* is the weight of the retriever's
log score. *distinct* 1: no path comes twice; 0: independent samples of P_F. *draw* 0: the run's own random numbers.

The line on top says whether the unchanged settings repeat the record. Every try is kept in `gflownet/what_if.jsonl` of
the run; its figures stay as they are.
"""

    def __init__(self, process: WhatIfProcess, shown: QuestionSampled) -> None:
        super().__init__(process)
        self._shown = shown

    def heading(self) -> Text:
        s = self._shown
        return Text.assemble(
            f"What if · {s.sample_id} · temperature {s.temperature:g}, prior α {s.prior_alpha:.3g}\n",
            one_line(s.question),
            f"\nto {one_line(', '.join(s.answers))}",
        )

    def rows(self) -> Sequence[Sequence[Field]]:
        s = self._shown
        return [
            [
                Field("temperature", "temperature", f"{s.temperature:g}", "", 9),
                Field("prior", "prior α", f"{s.prior_alpha:.3g}", "", 9),
                Field("samples", "samples", str(s.samples), "", 8),
            ],
            [Field("distinct", "distinct", str(int(s.distinct)), "", 5), Field("draw", "draw", "0", "", 9)],
        ]

    def wanted(self, sweep: bool) -> dict[str, Any]:
        samples = whole(self.value("samples"), "samples", 1000)
        if not samples:
            raise ValueError("samples: expected at least 1")
        return {
            "sample_id": self._shown.sample_id,
            "temperature": number(self.value("temperature"), "temperature", 1e-6, 100),
            "prior_alpha": number(self.value("prior"), "prior α", 0, 100),
            "samples": samples,
            "distinct": yes_or_no(self.value("distinct"), "distinct"),
            "draw": whole(self.value("draw"), "draw"),
        }

    def draw_tried(self, tried: PathsTried, palette: Palette, width: int) -> RenderableType:
        columns = (("committed", tried.committed), ("no prior", tried.none), ("yours", tried.yours))
        short = width < ABREAST
        blocks = [_column(name, paths, tried.committed, palette, short) for name, paths in columns]
        exact = draw_exact(tried.exact, tried.difference, "sampling", palette)
        legend = f"{LEGEND}   + not among the committed paths"
        return Group(exact, Text(legend, palette["dim"]), Text(), abreast(blocks, width))


def _column(
    name: str, event: QuestionSampled, committed: QuestionSampled, palette: Palette, short: bool
) -> list[RenderableType]:
    """A heading, how often an answer is met, and the paths; in `short` of the others those alone that differ."""
    known = {_way(path) for path in committed.paths}
    mine = {_way(path) for path in event.paths}
    settings = f"temperature {event.temperature:g}, prior α {event.prior_alpha:.3g}"
    hits = sum(path.count for path in event.paths if path.answers)
    met = {answer for path in event.paths for answer in path.answers}
    words = f"{hits} of {counted(event.samples, 'paths')} meet an answer; "
    lines: list[RenderableType] = [
        Text(f"{name}: {settings}", palette["heading"]),
        Text.assemble(
            (f"{outcome(bool(met))} ", palette["good" if met else "bad"]),
            (f"{words}{len(met)} of {counted(len(event.answers), 'answers')} met", palette["dim"]),
        ),
    ]
    if event is not committed:
        new, gone = len(mine - known), len(known - mine)
        same = (
            "= the committed paths" if not new and not gone else f"+{new} −{gone} against the committed paths"
        )
        lines.append(Text(same, palette["warn" if new or gone else "dim"]))
    for rank, path in enumerate(event.paths, 1):
        if short and event is not committed and _way(path) in known:
            continue
        lines.append(draw_path(rank, path, event, palette, " " if _way(path) in known else "+"))
    if event is not committed:
        lines += [
            Text(f"− {_words(path)}", palette["dim"]) for path in committed.paths if _way(path) not in mine
        ]
    return lines


def _way(path: SampledPath) -> tuple[tuple[str, str, str], ...]:
    return tuple((step.head, step.relation, step.tail) for step in path.steps)


def _words(path: SampledPath) -> str:
    if not path.steps:
        return "STOP at once"
    return clean(path.steps[0].head + "".join(f" ─{step.relation}▶ {step.tail}" for step in path.steps))


def of_question(process: WhatIfProcess, event: QuestionSampled, source: CaseSource) -> PathsWhatIf:
    """A question's paths."""
    return PathsWhatIf(process, event)


def of_answer(process: WhatIfProcess, event: EvidenceAnswered, source: CaseSource) -> PathsWhatIf | str:
    """The paths that an answer was read from."""
    row = source.state.gflownet.questions.find(event.sample_id)
    sampled = None if row is None else source.at(row.place, QuestionSampled)
    return (
        "The log does not have the paths of this question."
        if sampled is None
        else PathsWhatIf(process, sampled)
    )
