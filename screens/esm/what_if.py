"""What if: another choice at the control point of an opened decision, decoded beside the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.text import Text

from app.blocks.model_text import one_line
from app.entry_names import typed_names
from app.methods.esm.answers import answers_of
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from engine.esm.entry_names import chosen_name
from engine.events import Candidate, DecisionTaken, WhatIfTried
from screens.esm.what_if_drawing import draw_choices, draw_tried
from screens.what_if.fields import Field, of_list, strengths, whole, yes_or_no
from screens.what_if.screen import Palette, WhatIfScreen

_HINT = "numbers or names of entries, several with + are added up; null: none"


class DecisionWhatIf(WhatIfScreen[WhatIfTried]):
    """An answer of ESM with another choice at one of its control points."""

    SYSTEM = "esm"
    SWEEPS: ClassVar[bool] = True
    HELP = """\
# What if: another choice at a decision

Decodes the answer again with another choice at one control point. Every random draw belongs to an example and a control
point, so whatever is new in the answer comes from your choice. `enter` tries what the fields say, `F2` tries nine
strengths around α. Three answers stand side by side: as it was *committed*, with *null* at this control point, and
*yours*; each is dim as far as it is the committed one's, and marked `≠` where it leaves it.

*inject* takes the numbers of the list below, or names of entries of the library; several are added up; `null` is
none. *α* takes one strength or several. *layer* empty: the entries' own. *to the end* 1: the same at all later control
points; 0: there the controller chooses again.

The line on top says whether the unchanged answer repeats the record. Every try is kept in `esm/what_if.jsonl` of the
run; its figures stay as they are.
"""

    def __init__(self, process: WhatIfProcess, decision: DecisionTaken, question: str, gold: str) -> None:
        super().__init__(process)
        self._decision = decision
        self._question, self._gold = question, gold
        self.choices: list[Candidate] = [c for c in decision.candidates if c.kind == "wrong"]

    def heading(self) -> Text:
        d = self._decision
        done = f"{chosen_name(d)} at α {d.alpha:.3g}, layer {d.layer}" if d.chosen else "null"
        return Text.assemble(
            f"What if · {d.method} · {d.example} · control point {d.m} chose {done}\n",
            one_line(self._question),
            f"\nright answer {one_line(self._gold)}" if self._gold else "",
        )

    def rows(self) -> Sequence[Sequence[Field]]:
        return [
            [Field("entries", "inject", self._first_choice(), _HINT, 0)],
            [
                Field("alphas", "α", f"{self._decision.alpha or 1.0:.4g}"),
                Field("layer", "layer", "", "own", 6),
                Field("onward", "to the end", "0", "", 5),
            ],
        ]

    def wanted(self, sweep: bool) -> dict[str, Any]:
        alphas = strengths(self.value("alphas"), "α", sweep)
        layer, d = self.value("layer"), self._decision
        return {
            "method": d.method,
            "example": d.example,
            "m": d.m,
            "entries": self._entries(),
            "layer": whole(layer, "layer") if layer else None,
            "alphas": alphas,
            "onward": yes_or_no(self.value("onward"), "to the end"),
        }

    def draw_tried(self, tried: WhatIfTried, palette: Palette, width: int) -> RenderableType:
        return draw_tried(tried, palette, width)

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        return draw_choices(self.choices, palette, width)

    def _first_choice(self) -> str:
        """What was committed; where nothing was, the best that could have been."""
        names = [choice.entry for choice in self.choices]
        taken = self._decision.chosen
        return str(names.index(taken) + 1) if taken in names else "1" if names else ""

    def _entries(self) -> list[str]:
        text = self.value("entries")
        if not text:
            raise ValueError(f"inject: {_HINT}")
        if text == "null":
            return []
        entries = [choice.entry for choice in self.choices]
        return [of_list(name, "inject", entries) if name.isdecimal() else name for name in typed_names(text)]


def of_decision(process: WhatIfProcess, d: DecisionTaken, source: CaseSource) -> DecisionWhatIf | str:
    """The screen for a decision, or why nothing else can be tried there."""
    if d.phase == "tail":
        return "What follows the last control point is never steered: choose an earlier segment."
    answer = answers_of(d.method, d.example, source).steered
    if answer is None:
        return "This answer is not finished yet."
    return DecisionWhatIf(
        process, source.state.esm.named(d), source.state.esm.question(d.example), answer.gold
    )
