"""Tones of a widget by their names, so that a test can say which words have which."""

from __future__ import annotations

from itertools import groupby

import pytest
from rich.style import Style
from rich.text import Text

Parts = list[tuple[str, str]]


def name_tones(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """In these modules below `screens`, a tone is a style that has its name alone."""
    for module in modules:
        monkeypatch.setattr(f"screens.{module}.tone", lambda widget, name: Style(meta={"tone": name}))


def parts(text: Text) -> Parts:
    """The words of a text with their tones, "" for none; where several lie over each other, the last."""
    styles = [text.style] * len(text.plain)
    for span in text.spans:
        styles[span.start : span.end] = [span.style] * (span.end - span.start)
    tones = [style.meta.get("tone", "") if isinstance(style, Style) else str(style) for style in styles]
    letters = zip(text.plain, tones, strict=True)
    return [
        ("".join(letter for letter, _ in some), name) for name, some in groupby(letters, lambda it: it[1])
    ]
