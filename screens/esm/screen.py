"""The ESM screen: its page, with a filter over the table of decisions."""

from __future__ import annotations

from dataclasses import replace

from textual.getters import query_one

from app.blocks.block import Target
from app.methods.cases import Cases
from app.methods.esm.decisions import DECISIONS
from app.methods.place import Place
from screens.esm.decisions import DecisionsPane
from screens.method_screen import MethodScreen
from screens.panes.cases import CasesPane
from screens.tabbed_screen import STYLES


class EsmScreen(MethodScreen):
    """The ESM screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "ESM"

    decisions = query_one(DecisionsPane)

    def make_cases(self, cases: Cases) -> CasesPane:
        if cases is not DECISIONS:
            return super().make_cases(cases)
        return DecisionsPane(self.session, cases, id=cases.name)

    @property
    def busy(self) -> bool:
        return self.decisions.busy

    def place_of(self, target: Target) -> Place | None:
        """A decision that the filter shows is opened without removing the filter."""
        place = super().place_of(target)
        if place is None or target.kind != "decision" or self.decisions.source.find(place.key) is None:
            return place
        return replace(place, filter=self.decisions.filter_text)
