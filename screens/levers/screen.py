"""A question answered by a model of the run with each lever on or off, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import one_line
from app.figures import signed
from app.runs.what_if import WhatIfProcess
from app.text import counted
from engine.events import LeveredAnswer, LeversTried
from screens.run_session import Session
from screens.what_if.drawing import ABREAST, Column, draw_columns
from screens.what_if.fields import Field, words_of
from screens.what_if.screen import Palette, WhatIfScreen

MODELS = ("run", "evolution", "slsm")
BEFORE = (
    "enter asks the question: without a lever, with each lever that fits the model, and with all of them. The run's"
    " figures stay as they are.\n\nmodel: run is the model that ESM steers; evolution and slsm are those that these"
    " methods steered."
)
_ABREAST = 3
"""Answers beside each other, the plain one always among them."""


class LeversScreen(WhatIfScreen[LeversTried]):
    """All levers of a run on one question."""

    SYSTEM = "levers"
    HELP = """\
# All levers on one question

A finished run leaves levers: ESM's memory, evolved deltas, the notes of SLSM's controller, evidence paths. Type a
question and press `enter`: a model of the run answers it without any lever, with each lever that fits this model, and
with all of them. Each answer is dim as far as it is the plain one's, and marked `≠` where it leaves it; above it stands
what each lever did and how many tokens that cost.

*model*: `run` is the run's own, `evolution` and `slsm` are those that these methods steered. *further runs* takes runs
of the same folder of outputs, such as `demo/20261122-165601-abb9`, whose levers are tried as well. The table says of
each lever whether it fits the model, and if not, why: a memory belongs to one model, deltas to one vocabulary; evidence
acts on questions whose graph the run has. Demonstrations are for questions about images: a typed question has none.

Every question is kept in `levers/what_if.jsonl` of the run; its figures stay as they are.
"""

    def __init__(self, session: Session) -> None:
        super().__init__(WhatIfProcess(session.run_dir))
        self._session = session

    async def on_unmount(self) -> None:
        await self._process.close()

    def heading(self) -> Text:
        run = self._session.run_dir
        return Text(f"All levers on one question · {run.parent.name}/{run.name}")

    def rows(self) -> Sequence[Sequence[Field]]:
        return [
            [Field("question", "question", self._example_question(), "any question; enter asks it", 0)],
            [
                Field("model", "model", "run", "", 12),
                Field("runs", "further runs", "", "none; or such as demo/20261122-165601-abb9", 0),
            ],
        ]

    def _example_question(self) -> str:
        """One that the run's evaluation asked."""
        return one_line(next(reversed(self._session.state.esm.questions.by_name.values()), ""))

    def wanted(self, sweep: bool) -> dict[str, Any]:
        question, model = self.value("question"), self.value("model")
        if not question:
            raise ValueError("question: type what the model is to answer")
        if model not in MODELS:
            raise ValueError(f"model: expected {', '.join(MODELS)}, found {model!r}")
        return {"question": question, "model": model, "runs": words_of(self.value("runs"))}

    def draw_tried(self, tried: LeversTried, palette: Palette, width: int) -> RenderableType:
        plain, *others = tried.answers
        first = _column(plain, plain, palette)
        parts: list[RenderableType] = []
        room = _ABREAST - 1 if width >= ABREAST else max(1, len(others))
        for at in range(0, max(1, len(others)), room):
            columns = [_column(answer, plain, palette) for answer in others[at : at + room]]
            parts += [draw_columns([first, *columns], palette, width, "plain"), Text()]
        if not others:
            parts.append(Text("No lever fits this model: the table says why.", palette["warn"]))
        return Group(*parts, draw_fits(tried, palette))

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        return Text() if self.asked or self._waiting else Text(BEFORE, palette["dim"])


def draw_fits(tried: LeversTried, palette: Palette) -> Table:
    """Which levers fit the model, and why others do not."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for name in ("lever", "run", f"on {tried.model}", "why"):
        table.add_column(name, no_wrap=name in ("lever", "run"), overflow="fold")
    for fit in tried.fits:
        sign = Text("✓ fits", palette["good"]) if fit.fits else Text("✗ does not", palette["bad"])
        table.add_row(fit.lever, fit.run.rsplit("/", 1)[-1], sign, Text(one_line(fit.why), palette["dim"]))
    return table


def _column(answer: LeveredAnswer, plain: LeveredAnswer, palette: Palette) -> Column:
    """An answer with what its levers did."""
    if not answer.levers:
        name = "plain: no lever"
    else:
        name = f"all: {', '.join(answer.levers)}" if len(answer.levers) > 1 else answer.levers[0]
    more = answer.tokens - plain.tokens
    tokens = counted(answer.tokens, "tokens") + (f" ({signed(more, 0)})" if more else "")
    spent = sum(effect.tokens for effect in answer.effects)
    about = [Text(tokens + (f" + {spent} for the levers" if spent else ""), palette["dim"])]
    for effect in answer.effects:
        sign = Text("▸ ", palette["accent"]) if effect.acted else Text("· ", palette["dim"])
        prefix = f"{effect.lever}: " if len(answer.levers) > 1 else ""
        about.append(sign.append(f"{prefix}{one_line(effect.what)}", palette["dim"]))
    return Column(name, about, answer.text)
