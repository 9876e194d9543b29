"""The candidates of a decision: a bar for each Score, null as a line through them, and what was not scored in a
line."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from app.blocks.block import Block, Drawn, Heading, Palette, Span, Target, Words, table_of
from app.blocks.model_text import one_line
from app.blocks.terminal import line
from app.methods.cells import digits
from app.methods.esm.entry_words import name_within
from app.table.column import Cell, ListColumn, cell_of
from app.wording.figures import fixed, signed
from app.wording.text import counted
from engine.esm.library.entry_names import candidate_name
from engine.events import Candidate, DecisionTaken

FIGURES: Sequence[ListColumn[Candidate]] = (
    ListColumn("sim", "sim", 5, "right", value=lambda c: c.similarity, show=fixed),
    ListColumn("quality", "Q", 4, "right", show=digits(2)),
    ListColumn("ahat", "Â", 5, "right", show=fixed),
    ListColumn("logprob", "logp", 6, "right", show=fixed),
    ListColumn("dlogprob", "Δlogp", 6, "right", value=lambda c: c.delta_logprob, show=signed),
    ListColumn("score", "Score", 6, "right", show=fixed),
)
_FIGURES_WIDTH = sum(column.width + 1 for column in FIGURES) + 3
_SHORTEST_NAME, _LONGEST_NAME = 10, 36
_SHORTEST_BAR, _LONGEST_BAR = 10, 40
_ABOUT = (
    "Â = sim × Q, the entry's quality. logp: its probe's mean log-probability a token; Δlogp: that minus null's. "
    "Score = β Â + ρ Δlogp. "
)
_NULL = "null's Score: β Â of the nearest right entry. A right entry says that the state needs no steering."


class Candidates(Drawn):
    """What was scored with null, by Score; then what was not."""

    def __init__(self, decision: DecisionTaken) -> None:
        self._decision = decision
        scored = [c for c in decision.candidates if c.score is not None]
        self._scored = sorted([*scored, _null(decision)], key=_score, reverse=True) if scored else []

    def draw(self, palette: Palette, width: int) -> RenderableType:
        parts: list[RenderableType] = []
        if self._scored:
            parts.append(self._table(palette, width))
            parts += self._probes(palette)
        parts += [line(words, palette) for words in (_not_scored(self._decision),) if words]
        if self._scored:
            parts.append(Text(f"{_ABOUT}┃ is {_NULL}", palette["dim"]))
        return Group(*parts)

    def in_documents(self) -> Sequence[Block]:
        d = self._decision
        named: Sequence[ListColumn[Candidate]] = (
            ListColumn("entry", "candidate", 20, value=lambda c: ("▸ " if _won(c, d) else "") + _name(c)),
            ListColumn("kind", "kind", 5),
            ListColumn("probe", "probe wrote", 20, value=lambda c: c.probe_text, show=one_line),
        )
        left_out = sorted((c for c in d.candidates if c.score is None), key=lambda c: -c.ahat)
        rows = [*(self._scored or [_null(d)]), *left_out]
        notes = [f"▸ was chosen. {_ABOUT}null has {_NULL}"]
        return [Heading("Candidates", 4), *table_of([*named, *FIGURES], rows, notes=notes)]

    def _table(self, palette: Palette, width: int) -> Grid:
        room = width - _FIGURES_WIDTH
        name_width = max(_SHORTEST_NAME, min(_LONGEST_NAME, room - _SHORTEST_BAR))
        bar_width = max(_SHORTEST_BAR, min(_LONGEST_BAR, room - name_width))
        table = Grid(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=palette["heading"])
        table.add_column("", width=1, no_wrap=True)
        table.add_column("entry", no_wrap=True, width=name_width)
        for column in FIGURES:
            table.add_column(column.label, justify="right", no_wrap=True, min_width=column.width)
        table.add_column("", no_wrap=True, width=bar_width)
        for candidate in self._scored:
            table.add_row(*self._row(candidate, name_width, bar_width, palette))
        return table

    def _row(self, c: Candidate, name_width: int, bar_width: int, palette: Palette) -> list[Text]:
        won, scores = _won(c, self._decision), list(map(_score, self._scored))
        target = None if c.kind == "null" else Target("entry", c.entry)
        name = Span(_name(c, name_width), "accent" if won else "", target)
        *figures, score = (cell_of(column.show(column.value(c))) for column in FIGURES)
        cells = [*figures, Cell(score.text, "strong" if won else "")]
        null = self._decision.null_score or 0.0
        bar = score_bar(_score(c), null, min(0.0, *scores), max(0.0, *scores), bar_width)
        sign, drawn = Span("▸" if won else " ", "accent"), Span(bar, "accent" if won else "dim")
        return [line(words, palette) for words in (sign, name, *(Span(*cell) for cell in cells), drawn)]

    def _probes(self, palette: Palette) -> list[RenderableType]:
        """Each probe's continuation on a line of its own, under the table."""
        probed = [c for c in self._scored if c.probe_text]
        if not probed:
            return []
        grid = Grid.grid(padding=(0, 1, 0, 0), expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for c in probed:
            tone = "accent" if _won(c, self._decision) else "dim"
            grid.add_row(Text(_name(c, _LONGEST_NAME), palette[tone]), Text(one_line(c.probe_text)))
        return [Text("probes wrote", palette["heading"]), grid]


def score_bar(score: float, null: float, low: float, high: float, width: int) -> str:
    """`━━━━╋━━` from 0 to `score` on a scale from `low` to `high`; where null stands there is ┃, or ╋ if the bar goes
    on beyond it."""

    def column(value: float) -> int:
        return round((value - low) / ((high - low) or 1.0) * (width - 1))

    start, end, at_null = column(0.0), column(score), column(null)
    first, last = min(start, end), max(start, end)
    cells = ["━" if first <= i <= last and score else " " for i in range(width)]
    cells[at_null] = "╋" if first < at_null < last else "┃"
    return "".join(cells).rstrip()


def _null(d: DecisionTaken) -> Candidate:
    """The null action as another candidate."""
    return Candidate(
        entry="null", kind="null", similarity=nan, quality=nan, logprob=d.null_logprob, score=d.null_score,
        ahat=nan if d.null_ahat is None else d.null_ahat, probe_text=d.null_probe,
    )  # fmt: skip


def _name(c: Candidate, width: int = 0) -> str:
    name = "null" if c.kind == "null" else candidate_name(c)
    return name_within(name, width) if width else name


def _score(c: Candidate) -> float:
    return c.score or 0.0


def _won(c: Candidate, d: DecisionTaken) -> bool:
    return c.entry == (d.chosen or "null") and (c.kind == "null") == (d.chosen is None)


def _not_scored(d: DecisionTaken) -> Words:
    """What was found in the memory and not scored: how many, how near."""
    words: list[str | Span] = []
    for kind, about in (("wrong", "not probed"), ("right", "speaking for null")):
        rest = sorted((c for c in d.candidates if c.score is None and c.kind == kind), key=lambda c: -c.ahat)
        if not rest:
            continue
        nearest, last = rest[0], f" … {fixed(rest[-1].ahat)}" if len(rest) > 1 else ""
        words += [
            Span(f"{'   ' if words else ''}{counted(len(rest), f'{kind} entries')} {about}: ", "dim"),
            Span(_name(nearest), "dim", Target("entry", nearest.entry)),
            Span(f" Â {fixed(nearest.ahat)}{last}", "dim"),
        ]
    return words
