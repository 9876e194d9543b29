"""The colours of both themes: readable, and each signal of its own hue."""

from __future__ import annotations

from colorsys import rgb_to_hls
from itertools import combinations

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.color import Color
from textual.theme import Theme

from app.terminal.themes import DARK, LIGHT
from tests.page_text import TextFile


def luminance(color: str) -> float:
    """As WCAG defines it: 0 for black, 1 for white."""
    parts = [part / 255 for part in Color.parse(color).rgb]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def hue(color: str) -> float:
    """In degrees: 0 red, 120 green, 240 blue."""
    red, green, blue = (part / 255 for part in Color.parse(color).rgb)
    return 360 * rgb_to_hls(red, green, blue)[0]


@pytest.mark.parametrize("theme", (DARK, LIGHT), ids=lambda theme: theme.name)
def test_texts_stand_out_from_every_ground(theme: Theme) -> None:
    grounds = [str(theme.background), str(theme.surface), str(theme.panel)]
    assert all(contrast(str(theme.foreground), ground) > 10 for ground in grounds)
    signals = [str(getattr(theme, name)) for name in ("primary", "accent", "warning", "error", "success")]
    assert all(contrast(signal, ground) > 4.4 for signal in signals for ground in grounds)
    named = theme.to_color_system().generate()  # what is not named follows from the theme's colours
    assert contrast(named["block-cursor-foreground"], named["block-cursor-background"]) > 7
    assert contrast(named["footer-description-foreground"], named["footer-background"]) > 7
    assert contrast(named["footer-key-foreground"], named["footer-background"]) > 4.4
    assert contrast(named["scrollbar-active"], named["scrollbar-background"]) > contrast(
        named["scrollbar"], named["scrollbar-background"]
    )
    assert named["block-cursor-text-style"] == "bold" and named["footer-background"] == theme.panel
    assert named["scrollbar-background"] == theme.surface and named["border"] == theme.secondary
    assert named["footer-key-foreground"] == theme.accent and named["scrollbar-active"] == theme.primary


@pytest.mark.parametrize("theme", (DARK, LIGHT), ids=lambda theme: theme.name)
def test_signals_have_hues_of_their_own(theme: Theme) -> None:
    """Teal, vermilion, amber and blue: they stay apart in the common kinds of colour blindness."""
    hues = {
        name: hue(str(getattr(theme, name)))
        for name in ("success", "error", "warning", "primary", "secondary")
    }
    assert 155 < hues["success"] < 175 and 10 < hues["error"] < 25 and 30 < hues["warning"] < 45
    assert 200 < hues["primary"] < 215 and 200 < hues["secondary"] < 215
    assert all(
        abs(hues[a] - hues[b]) > 15 for a, b in combinations(("success", "error", "warning", "primary"), 2)
    )


def test_one_is_dark_and_one_is_light() -> None:
    assert (DARK.name, DARK.dark, LIGHT.name, LIGHT.dark) == ("steer-dark", True, "steer-light", False)
    assert luminance(str(DARK.background)) < 0.02 and luminance(str(LIGHT.background)) > 0.9
    assert DARK.variables.keys() - {"input-selection-background"} == LIGHT.variables.keys()


def test_every_colour_of_both_themes(snapshot: SnapshotAssertion) -> None:
    """After a change that is meant: `pytest tests/app/test_themes.py --snapshot-update`, and read the difference."""
    lines = [f"{name}: {value}" for theme in (DARK, LIGHT) for name, value in vars(theme).items()]
    assert "\n".join(lines) + "\n" == snapshot(extension_class=TextFile)
