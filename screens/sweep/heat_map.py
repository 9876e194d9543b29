"""Two fields of a sweep as a map: a cell for each pair of values, its figure as a number and as a colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.style import Style
from rich.text import Text
from textual.color import Color

from app.blocks.fit import fit
from app.runs.run_names import value_words
from app.swept.words import figure_words
from app.wording.figures import NONE
from engine.sweep.results import SettingResult, SweepResults

Figure = Literal["result", "difference", "tokens"]
FIGURES: tuple[Figure, ...] = ("result", "difference", "tokens")
_LEAST, _MOST = 7, 18
_WITH_INTERVAL = 16
"""Columns of a cell from which its interval fits."""


@dataclass(frozen=True)
class Slice:
    """What is drawn: two fields (`down` may be missing), the other fields as in `at`, and the figure."""

    across: str
    down: str | None
    at: Mapping[str, Any]
    figure: Figure


def figures_of(results: SweepResults) -> list[Figure]:
    """The figures that any setting has."""
    return [
        figure for figure in FIGURES if any(_value(one, figure) is not None for one in results.settings)
    ] or ["result"]


def draw_map(results: SweepResults, part: Slice, width: int, low: Color, high: Color, plain: Color) -> Text:
    """The map, with the words above it that say what it shows. `low`, `high`: colours of the ends of the scale."""
    values = {axis.field: axis.values for axis in results.record.axes}
    columns = values[part.across]
    rows: Sequence[Any] = values[part.down] if part.down else [None]
    cells = [[_find(results, part, x, y) for x in columns] for y in rows]
    shown = [
        value for line in cells for one in line if one and (value := _value(one, part.figure)) is not None
    ]
    scale = (min(shown), max(shown)) if shown else (0.0, 0.0)
    names = [value_words(value) for value in rows] if part.down else ["all"]
    left = max(len(part.down or ""), *map(len, names)) + 1
    each = max(_LEAST, min(_MOST, (width - left) // max(1, len(columns)) - 1))
    text = Text(no_wrap=True, overflow="ellipsis").append(part.figure, "bold")
    text.append(f"  across {part.across}")
    fixed = {name: value for name, value in part.at.items() if name not in (part.across, part.down)}
    text.append(f", down {part.down}" if part.down else "")
    text.append("".join(f"   {name}={value_words(value)}" for name, value in fixed.items()), "dim")
    text.append("\n" + fit(part.down or "", left - 1).ljust(left), "dim")
    for value in columns:
        text.append(fit(value_words(value), each).rjust(each) + " ", "bold")
    for name, line in zip(names, cells, strict=True):
        text.append(f"\n{fit(name, left - 1):<{left}}", "bold")
        for one in line:
            words = _words(one, part, results, each)
            text.append(fit(words, each).rjust(each), _style(one, part.figure, scale, low, high, plain))
            text.append(" ")
    return text


def _find(results: SweepResults, part: Slice, x: Any, y: Any) -> SettingResult | None:
    target = dict(part.at) | {part.across: x} | ({part.down: y} if part.down else {})
    return next((one for one in results.settings if one.whole and dict(one.setting) == target), None)


def _value(one: SettingResult, figure: Figure) -> float | None:
    if figure == "difference":
        return one.gain.difference if one.gain else None
    return {"result": one.value, "tokens": one.tokens}[figure]


def _words(one: SettingResult | None, part: Slice, results: SweepResults, room: int) -> str:
    value = _value(one, part.figure) if one else None
    if one is None or value is None:
        return NONE
    sign = "★" if one is results.best else ""
    if part.figure == "tokens":
        return f"{sign}{value:.0f}"
    words = sign + figure_words(one, value, part.figure == "difference")
    if one.gain is not None and room >= _WITH_INTERVAL and part.figure == "difference":
        words += f" ±{figure_words(one, (one.gain.high - one.gain.low) / 2)}"
    return words


def _style(
    one: SettingResult | None,
    figure: Figure,
    scale: tuple[float, float],
    low: Color,
    high: Color,
    plain: Color,
) -> Style:
    value = _value(one, figure) if one else None
    if value is None:
        return Style(dim=True)
    share = 0.5 if scale[0] == scale[1] else (value - scale[0]) / (scale[1] - scale[0])
    ground = plain.blend(high, (share - 0.5) * 1.2) if share >= 0.5 else plain.blend(low, (0.5 - share) * 1.2)
    return Style(color=ground.get_contrast_text(1).rich_color, bgcolor=ground.rich_color)
