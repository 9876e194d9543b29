"""Lines of which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.binding import Binding
from textual.widgets import OptionList


class LineList(OptionList):
    """An `OptionList` with the look and the keys of the console's tables."""

    DEFAULT_CSS = """
    LineList {
        padding: 0;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        background: transparent;
        scrollbar-size-vertical: 1;
        &, &:focus { border: none; background-tint: transparent; }
        & > .option-list--option-highlighted {
            color: $text;
            background: $block-cursor-blurred-background;
            text-style: bold;
        }
        &:focus > .option-list--option-highlighted { color: $text; background: $primary-muted; text-style: bold; }
    }
    """
    BINDINGS = [
        Binding("enter", "select", "Open", tooltip="Open what the line names."),
        Binding("up,k", "move(-1)", "Line above", show=False, tooltip="To the line above."),
        Binding("down,j", "move(1)", "Line below", show=False, tooltip="To the line below."),
        Binding("home,g", "first", "First line", show=False, tooltip="To the first line."),
        Binding("end,G", "last", "Last line", show=False, tooltip="To the last line."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._texts: Sequence[Text] = ()

    def show(self, texts: Sequence[Text], chosen: int | None) -> None:
        """Draw these lines, where they differ from before, with the cursor on one of them."""
        self._texts = texts
        if len(texts) != self.option_count:
            self.set_options(texts)
        self.highlighted = chosen
        self._mark()

    def action_move(self, step: int) -> None:
        """To the line above or below. Textual's own keys join the ends; here they are ends, as in the tables."""
        self.highlighted = (-1 if self.highlighted is None else self.highlighted) + step

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self._mark()

    def _mark(self) -> None:
        """The chosen line is told without colour, too."""
        for at, (text, option) in enumerate(zip(self._texts, self.options, strict=False)):
            line = Text("› " if at == self.highlighted else "  ").append_text(text)
            if line != option.prompt:
                self.replace_option_prompt_at_index(at, line)
