"""The list of configuration files, one of them chosen."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.widget import Widget
from textual.widgets import Input

from app.runs.configs import ConfigFile
from screens.widgets.tones import tone

_OTHER_ROWS = 17
"""Rows of the console for the dialog's other parts, with three lines of description."""
_LEAST_SHOWN = 3


class ConfigList(Widget):
    """The list of configurations; a click chooses one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"config-list--chosen"}
    DEFAULT_CSS = """
    ConfigList {
        height: auto;
        & > .config-list--chosen { background: $block-cursor-background; text-style: bold; }
    }
    """

    def __init__(self, configs: list[ConfigFile], chosen: int) -> None:
        super().__init__()
        self.configs = configs
        self.chosen = chosen

    @property
    def shown(self) -> range:
        """Numbers of the configurations on the screen: the dialog leaves room for the description."""
        count = min(len(self.configs), max(_LEAST_SHOWN, self.app.size.height - _OTHER_ROWS))
        first = max(0, min(self.chosen - count // 2, len(self.configs) - count))
        return range(first, first + count)

    def render(self) -> Text:
        names = {at: self.configs[at].path.stem for at in self.shown}
        width = max(map(len, names.values()), default=0)
        dim = tone(self, "dim")
        lines: list[Text] = []
        for at, name in names.items():
            mark = "› " if at == self.chosen else "  "
            line = Text(f"{mark}{name:<{width}}  ", no_wrap=True).append(self.configs[at].headline, dim)
            line.truncate(self.content_size.width, overflow="ellipsis", pad=True)
            if at == self.chosen:
                line.stylize(self.get_component_rich_style("config-list--chosen", partial=True))
            lines.append(line)
        return Text("\n").join(lines) if lines else Text("no configs/*.yaml in this folder: type a path", dim)

    def get_content_height(self, container, viewport, width: int) -> int:  # type: ignore[no-untyped-def]
        return max(1, len(self.shown))

    def choose(self, at: int) -> Path | None:
        """Choose another; returns its path."""
        if not self.configs:
            return None
        self.chosen = max(0, min(at, len(self.configs) - 1))
        self.refresh()
        return self.configs[self.chosen].path

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self.shown):
            path = self.choose(self.shown[event.y])
            self.screen.query_one("#config-path", Input).value = str(path)
