"""Text that a model wrote, made safe and visible: no control codes, no markup, line breaks that can be seen."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from app.wording.text import without_controls

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
BREAK = "⏎"
_LONGEST_LINE = 20_000


def clean(text: str) -> str:
    """`text` without escape sequences, control codes and marks that turn the reading direction."""
    return without_controls(_ESCAPE.sub("", text.replace("\r\n", "\n").replace("\t", "    ")))


def one_line(text: str) -> str:
    """`text` on one line, with a sign for each line break; of a text that no screen holds, its beginning."""
    cut = text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…"
    return clean(cut).replace("\n", BREAK)


class Safe:
    """Whatever it is given, drawn without control codes: names and ids come from files, too."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, _ in console.render(self._inner, options):
            yield Segment(without_controls(_ESCAPE.sub("", text)), style)


def model_text(text: str, base: Style, mark: Style) -> Text:
    """`text` over several lines, every break shown by a dim sign before it."""
    result = Text(style=base)
    parts = clean(text).split("\n")
    for i, part in enumerate(parts):
        result.append(part)
        if i + 1 < len(parts):
            result.append(BREAK, mark)
            if i + 2 < len(parts) or parts[-1]:
                result.append("\n")
    return result


def tail(text: str, characters: int) -> str:
    """The end of a long text, with an ellipsis where it is cut."""
    return text if len(text) <= characters else "…" + text[-characters:]
