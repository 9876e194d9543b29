"""The candidates of a decision: a bar for each Score, null as a line through them, and what was not weighed in a
line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.block import Target
from app.blocks.fit import fit
from app.blocks.model_text import one_line
from app.blocks.terminal import link
from app.entry_names import name_within
from app.figures import fixed, signed
from app.text import counted
from engine.esm.entry_names import candidate_name
from engine.events import Candidate, DecisionTaken

Palette = Mapping[str, Style]

_FIGURES = (("sim", 5), ("Q", 4), ("Â", 5), ("logp", 6), ("Δlogp", 6), ("Score", 6))
_FIGURES_WIDTH = sum(least + 1 for _, least in _FIGURES) + 3
_SHORTEST_NAME, _LONGEST_NAME = 10, 36
_SHORTEST_BAR, _LONGEST_BAR = 10, 40
_INLINE = 110
_LEGEND = (
    "Â = sim × Q, the entry's quality. logp: its probe's mean log-probability a token; Δlogp: that minus null's.\n"
    "Score = β Â + ρ Δlogp. "
    "┃ is null's Score: β Â of the nearest right entry. A right entry says that the state needs no steering."
)


def draw_candidates(d: DecisionTaken, palette: Palette, width: int) -> RenderableType:
    """The scored candidates and null, by Score; then the others in a line."""
    scored = sorted((c for c in d.candidates if c.score is not None), key=_score, reverse=True)
    parts: list[RenderableType] = []
    if scored:
        parts.append(_table(d, scored, palette, width))
        if width < _INLINE:
            parts += _probes(d, scored, palette)
    if folded := _folded(d, palette):
        parts.append(folded)
    if scored:
        parts.append(Text(_LEGEND, palette["dim"]))
    return Group(*parts)


def _table(d: DecisionTaken, scored: Sequence[Candidate], palette: Palette, width: int) -> Table:
    inline = width >= _INLINE
    room = (width * 3 // 5 if inline else width) - _FIGURES_WIDTH
    name_width = max(_SHORTEST_NAME, min(_LONGEST_NAME, room - _SHORTEST_BAR))
    bar_width = max(_SHORTEST_BAR, min(_LONGEST_BAR, room - name_width))
    table = Table(
        box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=palette["heading"], expand=inline
    )
    table.add_column("", width=1, no_wrap=True)
    table.add_column("entry", no_wrap=True, width=name_width)
    for heading, least in _FIGURES:
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)
    table.add_column("", no_wrap=True, width=bar_width)
    if inline:
        table.add_column("probe wrote", ratio=1, no_wrap=True, overflow="ellipsis")
    rows = sorted([*scored, _null(d)], key=_score, reverse=True)
    low, high = min(0.0, *map(_score, rows)), max(0.0, *map(_score, rows))
    null = d.null_score or 0.0
    for c in rows:
        won = _won(c, d)
        name = fit(name_within(candidate_name(c), name_width), name_width)
        style = palette["accent"] if won else Style.null()
        entry = Text(name, style) if c.kind == "null" else link(name, Target("entry", c.entry), style)
        bar = score_bar(_score(c), null, low, high, bar_width)
        probe = Text(one_line(c.probe_text) or "not probed", "" if c.probe_text else palette["dim"])
        figures = (
            fixed(c.similarity), fixed(c.quality, 2), fixed(c.ahat), fixed(c.logprob), signed(c.delta_logprob),
        )  # fmt: skip
        score = Text(fixed(c.score), palette["strong"] if won else "")
        drawn = Text(bar, palette["accent"] if won else palette["dim"])
        sign = Text("▸" if won else " ", palette["accent"])
        table.add_row(sign, entry, *figures, score, drawn, *([probe] if inline else []))
    return table


def score_bar(score: float, null: float, low: float, high: float, width: int) -> str:
    """`━━━━┿━━` from 0 to `score` on a scale from `low` to `high`; where null stands there is ┃, or ┿ if the bar goes
    on beyond it."""

    def column(value: float) -> int:
        return round((value - low) / ((high - low) or 1.0) * (width - 1))

    start, end, line = column(0.0), column(score), column(null)
    first, last = min(start, end), max(start, end)
    cells = ["━" if first <= i <= last and score else " " for i in range(width)]
    cells[line] = "╋" if first < line < last else "┃"
    return "".join(cells).rstrip()


def _null(d: DecisionTaken) -> Candidate:
    """The null action as another row."""
    nothing = float("nan")
    return Candidate(
        entry="null", kind="null", similarity=nothing, quality=nothing, logprob=d.null_logprob,
        ahat=nothing if d.null_ahat is None else d.null_ahat, score=d.null_score, probe_text=d.null_probe,
    )  # fmt: skip


def _score(candidate: Candidate) -> float:
    return candidate.score or 0.0


def _won(c: Candidate, d: DecisionTaken) -> bool:
    return c.entry == (d.chosen or "null") and (c.kind == "null") == (d.chosen is None)


def _probes(d: DecisionTaken, scored: Sequence[Candidate], palette: Palette) -> list[RenderableType]:
    """Each probe's continuation on a line of its own, under the table."""
    probed = [c for c in sorted([*scored, _null(d)], key=_score, reverse=True) if c.probe_text]
    if not probed:
        return []
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for c in probed:
        style = palette["accent"] if _won(c, d) else palette["dim"]
        grid.add_row(Text(fit(candidate_name(c), _LONGEST_NAME), style), Text(one_line(c.probe_text)))
    return [Text("probes wrote", palette["heading"]), grid]


def _folded(d: DecisionTaken, palette: Palette) -> Text | None:
    """What was found in the memory and not scored: how many, how near."""
    text = Text()
    for kind, about in (("wrong", "not probed"), ("right", "speaking for null")):
        rest = sorted((c for c in d.candidates if c.score is None and c.kind == kind), key=lambda c: -c.ahat)
        if not rest:
            continue
        text.append("   " if text else "", palette["dim"])
        text.append(f"{counted(len(rest), f'{kind} entries')} {about}: ", palette["dim"])
        text.append_text(link(candidate_name(rest[0]), Target("entry", rest[0].entry), palette["dim"]))
        text.append(f" Â {fixed(rest[0].ahat)}", palette["dim"])
        if len(rest) > 1:
            text.append(f" … {fixed(rest[-1].ahat)}", palette["dim"])
    return text if text else None
