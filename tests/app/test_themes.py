"""Both themes: every colour is there, can be read, and is told from the others."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.color import Color
from textual.theme import Theme

from app.terminal.themes import DARK, LIGHT

ALL = (
    "primary", "secondary", "accent", "warning", "error", "success", "foreground", "background", "surface", "panel",
)  # fmt: skip


def contrast(one: str, other: str) -> float:
    """As WCAG has it, from 1 to 21."""

    def light(text: str) -> float:
        parts = [part / 255 for part in Color.parse(text).rgb]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_every_colour_can_be_read(theme: Theme) -> None:
    """4.5 is what WCAG asks of text, 3 of signs; what is good, bad or a warning differs from each other."""
    colours = {name: getattr(theme, name) for name in ALL}
    assert all(colours.values()), "one that is left out would be Textual's own"
    for ground in ("background", "surface", "panel"):
        for name in ("primary", "accent", "warning", "error", "success", "foreground"):
            assert contrast(colours[name], colours[ground]) >= (4 if ground == "panel" else 4.5), (
                name,
                ground,
            )
    signals = [Color.parse(colours[name]) for name in ("warning", "error", "success", "primary")]
    for one, other in combinations(signals, 2):
        assert sum(abs(a - b) for a, b in zip(one.rgb, other.rgb, strict=True)) > 60
    assert contrast(theme.variables["footer-key-foreground"], theme.variables["footer-background"]) >= 4.5
    assert (
        contrast(theme.variables["block-cursor-foreground"], theme.variables["block-cursor-background"])
        >= 4.5
    )


def test_the_themes_name_the_same_things() -> None:
    assert (DARK.name, DARK.dark, LIGHT.name, LIGHT.dark) == ("steer-dark", True, "steer-light", False)
    only_dark = {"input-selection-background"}
    assert set(DARK.variables) - only_dark == set(LIGHT.variables) and len(LIGHT.variables) == 13
