"""A decision in full: the rule, the candidates, and the text that was written or would have been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.text import counted
from engine.events import Candidate, DecisionTaken, ExampleEvaluated
from screens.esm.gates import gate_sentence
from screens.widgets.cells import fit_name
from screens.widgets.figures import fixed, outcome, signed
from screens.widgets.model_text import model_text, one_line, tail

Palette = Mapping[str, Style]
"""Styles by tone: dim, strong, good, bad, accent, warn, heading."""

_FIGURES = (("sim", 5), ("Q", 4), ("Â", 5), ("logp", 6), ("Δ", 6), ("Score", 5))
_FIGURES_WIDTH = sum(least + 1 for _, least in _FIGURES) + len("kind ") + 2 + 2
_SHORTEST_NAME, _LONGEST_NAME = 8, 40
_PREFIX = 600
_ROOMY = 79
_INLINE = 96
_ABREAST = 74


@dataclass(frozen=True)
class Decided:
    """A decision with the outcome of its example under the same method and under greedy, once they are known."""

    decision: DecisionTaken
    question: str = ""
    own: ExampleEvaluated | None = None
    greedy: ExampleEvaluated | None = None


def draw_decision(decided: Decided, palette: Palette, width: int) -> RenderableType:
    """Everything about a decision in `width` columns; the gate and the candidates first."""
    d = decided.decision
    roomy = width >= _ROOMY
    parts: list[RenderableType] = [_title(decided, palette, width), _gate(d, palette)]
    if roomy:
        parts += [_figures(d, palette), Text()]
    if d.candidates or d.null_probe:
        parts += [_candidates(d, palette, width), Text()]
    parts.append(_texts(d, palette, abreast=width >= _ABREAST))
    if not roomy:
        parts += [Text(), _figures(d, palette)]
    if decided.question:
        parts += [Text(), _heading("question", palette), Text(one_line(decided.question))]
    if decided.own is not None:
        parts += [Text(), _answers(decided, palette, abreast=width >= _ABREAST)]
    return Group(*parts)


def _title(decided: Decided, palette: Palette, width: int) -> Text:
    d = decided.decision
    what = "tail" if d.phase == "tail" else f"segment {d.m}"
    text = Text.assemble((d.example, palette["strong"]), f"  {d.method}  {what}   ", overflow="ellipsis")
    own, greedy = decided.own, decided.greedy
    if own is None:
        return text.append("· not evaluated yet", palette["dim"])
    text.append(_outcome(own), palette["good" if own.correct else "bad"])
    if greedy is not None and d.method != "greedy":
        text.append(f"  greedy {_outcome(greedy)}")
        if greedy.correct != own.correct:
            sign, word = ("▲", " fixed") if own.correct else ("▼", " broken")
            fits = text.cell_len + 3 + len(word) <= width
            text.append(f"  {sign}{word if fits else ''}", palette["good" if own.correct else "bad"])
    return text


def _outcome(evaluated: ExampleEvaluated) -> str:
    return f"{outcome(evaluated.correct)} {'right' if evaluated.correct else 'wrong'}"


def _gate(d: DecisionTaken, palette: Palette) -> Text:
    return Text.assemble((f"{d.gate}: ", palette["accent"]), gate_sentence(d))


def _figures(d: DecisionTaken, palette: Palette) -> Text:
    """The figures that no table has: budget, and the end of the segment."""
    figures = [
        ("searched", str(d.memory_size)),
        ("committed", f"{counted(d.committed_tokens, 'tokens')} after {d.tokens_before}"),
        ("probes", counted(d.probe_tokens, "tokens")),
        ("ended by", d.ended or "–"),
    ]
    text = Text()
    for i, (name, value) in enumerate(figures):
        text.append(f"{'   ' if i else ''}{name} ", palette["dim"])
        text.append(value)
    return text


# ---------------------------------------------------------------- the candidates


def _candidates(d: DecisionTaken, palette: Palette, width: int) -> RenderableType:
    """The table of candidates; names are shortened before figures are."""
    inline = width >= _INLINE
    name_width = min(_LONGEST_NAME, max(_SHORTEST_NAME, width - _FIGURES_WIDTH))
    table = Table(
        box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=palette["heading"], expand=inline
    )
    table.add_column("", width=1, no_wrap=True)
    table.add_column("entry", no_wrap=True, width=name_width)
    table.add_column("kind", no_wrap=True, min_width=5)
    for heading, least in _FIGURES:
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)
    if inline:
        table.add_column("probe wrote", ratio=1, overflow="fold")
    rows = [*d.candidates, _null(d)]
    for candidate in sorted(rows, key=_rank):
        _add(table, candidate, d, palette, inline, name_width)
    return table if inline else Group(table, *_probes(rows, d, palette, name_width))


def _null(d: DecisionTaken) -> Candidate:
    """The null action as another row."""
    return Candidate(
        entry="null",
        kind="null",
        similarity=float("nan"),
        quality=float("nan"),
        ahat=float("nan") if d.null_ahat is None else d.null_ahat,
        logprob=d.null_logprob,
        score=d.null_score,
        probe_text=d.null_probe,
    )


def _rank(candidate: Candidate) -> tuple[bool, float]:
    """Sort key: by Score, then those without a Score by similarity."""
    if candidate.score is not None:
        return (False, -candidate.score)
    return (True, -candidate.similarity if candidate.similarity == candidate.similarity else 0.0)


def _add(
    table: Table, c: Candidate, d: DecisionTaken, palette: Palette, inline: bool, name_width: int
) -> None:
    won = _won(c, d)
    style = palette["strong"] if won else palette["dim"] if c.score is None else Style.null()
    cells = [
        Text("▸" if won else " ", palette["accent"]),
        Text(fit_name(c.entry, name_width), palette["accent"] if won else style),
        Text(c.kind),
        Text(fixed(c.similarity)),
        Text(fixed(c.quality, 2)),
        Text(fixed(c.ahat)),
        Text(signed(c.logprob)),
        Text(signed(c.delta_logprob)),
        Text(fixed(c.score)),
    ]
    if inline:
        cells.append(Text(one_line(c.probe_text) or "not probed", style if c.probe_text else palette["dim"]))
    table.add_row(*cells, style=style)


def _won(c: Candidate, d: DecisionTaken) -> bool:
    return c.entry == (d.chosen or "null") and (c.kind == "null") == (d.chosen is None)


def _probes(
    rows: list[Candidate], d: DecisionTaken, palette: Palette, name_width: int
) -> list[RenderableType]:
    """Each probe's continuation on a line of its own, under the table."""
    probed = [c for c in sorted(rows, key=_rank) if c.probe_text]
    if not probed:
        return []
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=1)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for c in probed:
        won = _won(c, d)
        style = palette["accent"] if won else Style.null()
        name = fit_name(c.entry, name_width)
        grid.add_row(Text("▸" if won else " ", style), Text(name, style), Text(one_line(c.probe_text)))
    return [Text(), _heading("probes wrote", palette), grid]


# ---------------------------------------------------------------- the texts


def _texts(d: DecisionTaken, palette: Palette, abreast: bool) -> RenderableType:
    blocks = [
        ("prefix", model_text(tail(d.prefix, _PREFIX), Style.null(), palette["dim"])),
        _committed(d, palette),
    ]
    if (null := _null_wrote(d, palette)) is not None:
        blocks.append(null)
    if not abreast:
        # What was written matters more than what it was written after.
        return _stacked([*blocks[1:], blocks[0]], palette)
    return _abreast(blocks, palette)


def _answers(decided: Decided, palette: Palette, abreast: bool) -> RenderableType:
    """The whole answers of this method and of greedy."""
    blocks = []
    for evaluated in (decided.own, decided.greedy):
        if evaluated is None or (evaluated is decided.greedy and decided.decision.method == "greedy"):
            continue
        heading = f"{evaluated.method} answered {one_line(evaluated.pred) or 'nothing'} {_outcome(evaluated)}"
        if not evaluated.correct:
            heading += f", gold {one_line(evaluated.gold)}"
        blocks.append((heading, model_text(evaluated.text, Style.null(), palette["dim"])))
    return _abreast(blocks, palette) if abreast else _stacked(blocks, palette)


def _abreast(blocks: Sequence[tuple[str, Text]], palette: Palette) -> RenderableType:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True, header_style=palette["heading"])
    for heading, _ in blocks:
        grid.add_column(Text(heading), ratio=1, overflow="fold")
    grid.add_row(*(text for _, text in blocks))
    return grid


def _stacked(blocks: Sequence[tuple[str, Text]], palette: Palette) -> RenderableType:
    parts: list[RenderableType] = []
    for i, (heading, text) in enumerate(blocks):
        parts += [*([Text()] if i else []), _heading(heading, palette), text]
    return Group(*parts)


def _committed(d: DecisionTaken, palette: Palette) -> tuple[str, Text]:
    return f"committed ▸ {fit_name(d.chosen, 24)}" if d.chosen else "committed, not steered", model_text(
        d.segment, palette["strong"], palette["dim"]
    )


def _null_wrote(d: DecisionTaken, palette: Palette) -> tuple[str, Text] | None:
    """The text without steering: recorded, else the null probe, else a remark that it was not recorded."""
    if d.chosen is None:
        return None
    if d.null_segment is not None:
        return "null would have written", model_text(d.null_segment, Style.null(), palette["dim"])
    if d.null_probe:
        text = model_text(d.null_probe, Style.null(), palette["dim"])
        text.append(" …", palette["dim"])
        return "null would have started with (its probe)", text
    return "null", Text("not recorded (online.record_null)", palette["dim"])


def _heading(text: str, palette: Palette) -> Text:
    return Text(text, palette["heading"])
