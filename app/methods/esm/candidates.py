"""The candidates of a decision: a bar for each Score, null as a line through them, and what was not scored in a
line."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from app.blocks.block import Block, Facts, Heading, Paragraph, Span, Table, Target, Words
from app.blocks.model_text import one_line
from app.methods.cells import digits
from app.methods.esm.entry_words import name_within
from app.table.column import ListColumn, Tone, cell_of
from app.wording.figures import fixed, signed
from app.wording.text import counted
from engine.esm.library.entry_names import candidate_name
from engine.events import Candidate, DecisionTaken

FIGURES: Sequence[ListColumn[Candidate]] = (
    ListColumn("sim", "sim", 5, priority=2, value=lambda c: c.similarity, show=fixed),
    ListColumn("quality", "Q", 4, priority=3, show=digits(2)),
    ListColumn("ahat", "Â", 5, show=fixed),
    ListColumn("logprob", "logp", 6, priority=1, show=fixed),
    ListColumn("dlogprob", "Δlogp", 6, value=lambda c: c.delta_logprob, show=signed),
    ListColumn("score", "Score", 6, show=fixed),
)
_LONGEST_NAME = 24
_BAR = 14
"""Cells of a bar."""
_NOTES = (
    "▸ was chosen. Â = sim × Q, the entry's quality. logp: its probe's mean log-probability a token; Δlogp: that minus "
    "null's. Score = β Â + ρ Δlogp.",
    "┃ is null's Score: the largest β Â of a right entry. A right entry says that the state needs no steering.",
)


def candidate_blocks(d: DecisionTaken) -> list[Block]:
    """What was scored with null, by Score, with what its probe wrote; then what was not."""
    scored = [c for c in d.candidates if c.score is not None]
    blocks = _gauge(d, sorted([*scored, _null(d)], key=_score, reverse=True)) if scored else []
    return [*blocks, *(Paragraph(words) for words in (_not_scored(d),) if words)]


def _gauge(d: DecisionTaken, scored: Sequence[Candidate]) -> list[Block]:
    scores = [0.0, *map(_score, scored)]
    low, high, notes = min(scores), max(scores), _NOTES
    if 0 < 4 * (max(scores[1:]) - min(scores[1:])) < high - low:  # from 0 the bars would look alike
        low, high = min(scores[1:]), max(scores[1:])
        notes = (*_NOTES, f"The Scores lie close: the bars go from {fixed(low)} to {fixed(high)}.")
    rows: list[Sequence[Words]] = []
    for c in scored:
        won = c.entry == (d.chosen or "null") and (c.kind == "null") == (d.chosen is None)
        tone: Tone = "accent" if won else ""
        target = None if c.kind == "null" else Target("entry", c.entry)
        figures = [Span(*cell_of(column.show(column.value(c)))) for column in FIGURES]
        bar = score_bar(_score(c), d.null_score or 0.0, low, high, _BAR)
        name = Span("▸ " if won else "  ", tone), Span(name_within(_name(c), _LONGEST_NAME), tone, target)
        rows.append((name, *figures, Span(bar, tone or "dim")))
    header = ("candidate", *(column.label for column in FIGURES), "")
    priority = (0, *(column.priority for column in FIGURES), 0)
    probes = [(name_within(_name(c), _LONGEST_NAME), one_line(c.probe_text)) for c in scored if c.probe_text]
    table = Table(header, rows, len(FIGURES) + 1, notes=notes, priority=priority)
    return [table, *([Heading("probes wrote", 4), Facts(probes)] if probes else [])]


def score_bar(score: float, null: float, low: float, high: float, width: int) -> str:
    """`━━━━╋━━───` from 0, or what is nearest to it, to `score` on a scale from `low` to `high`; where null stands,
    there is ┃, or ╋ if the bar goes on beyond it."""

    def column(value: float) -> int:
        return round((value - low) / ((high - low) or 1.0) * (width - 1))

    start, end, at_null = column(min(max(0.0, low), high)), column(score), column(null)
    first, last = min(start, end), max(start, end)
    cells = ["━" if first <= i <= last and score else "─" for i in range(width)]
    cells[at_null] = "╋" if first < at_null < last else "┃"
    return "".join(cells)


def _null(d: DecisionTaken) -> Candidate:
    """The null action as another candidate."""
    return Candidate(
        entry="null", kind="null", similarity=nan, quality=nan, logprob=d.null_logprob, score=d.null_score,
        ahat=nan if d.null_ahat is None else d.null_ahat, probe_text=d.null_probe,
    )  # fmt: skip


def _name(c: Candidate) -> str:
    return "null" if c.kind == "null" else candidate_name(c)


def _score(c: Candidate) -> float:
    return c.score or 0.0


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
