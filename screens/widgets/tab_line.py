"""Tabs in one line, by number where numbers are their keys; the line can be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from screens.widgets.tones import tone


@dataclass(frozen=True)
class Tab:
    """One tab: its content's id and its label."""

    id: str
    label: str


class TabLine(Widget):
    """`1 Cases 300  2 Results …`; the active one is reversed. With a `hint`, which says how to choose, no numbers."""

    COMPONENT_CLASSES = {"tab-line--active", "tab-line--key"}
    DEFAULT_CSS = """
    TabLine {
        height: 1;
        padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
        background: $panel;
        color: $text-muted;
        & > .tab-line--active { color: $text; text-style: bold reverse; }
        & > .tab-line--key { color: $text-accent; }
    }
    """

    active = reactive(0)

    @dataclass
    class Chosen(Message):
        """Another tab was chosen."""

        tab: Tab

    def __init__(self, tabs: Sequence[Tab], *, hint: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self.tabs = tabs
        self._hint = hint
        self._counts: dict[str, str] = {}

    def count(self, tab_id: str, count: str) -> None:
        """Show a count beside a label."""
        if self._counts.get(tab_id) != count:
            self._counts[tab_id] = count
            self.refresh()

    def render(self) -> Text:
        text = Text()
        for i, label in enumerate(self._labels()):
            place = Style(meta={"tab": i})
            if i == self.active:
                text.append(label, tone(self, "tab-line--active") + place)
            else:
                key = 0 if self._hint else 2
                text.append(label[:key], tone(self, "tab-line--key") + place)
                text.append(label[key:], place)
            text.append(" ")
        if self._hint:
            text.append(f"  {self._hint}")
        return text

    def _labels(self) -> list[str]:
        """With as many counts as there is room for: all, the active tab's, none."""
        labels: list[str] = []
        for counted in (range(len(self.tabs)), (self.active,), ()):
            labels = [self._label(i, i in counted) for i in range(len(self.tabs))]
            if sum(cell_len(label) + 1 for label in labels) <= self.content_size.width + 1:
                break
        return labels

    def _label(self, i: int, with_count: bool) -> str:
        tab = self.tabs[i]
        count = self._counts.get(tab.id, "") if with_count else ""
        number = "" if self._hint else f"{i + 1} "
        return f" {number}{tab.label}{' ' + count if count else ''} "

    def on_click(self, event: events.Click) -> None:
        if (at := event.style.meta.get("tab")) is not None:
            self.post_message(self.Chosen(self.tabs[at]))
