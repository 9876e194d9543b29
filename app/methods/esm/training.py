"""How the memory came about: what was mined, what was picked, what the index holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from app.blocks.block import Block, Span, Table
from app.methods.chart import Series, with_mean
from app.state.esm import ESMState
from app.state.run import RunState
from app.table.column import Tone
from app.wording.text import counted

_EFFECTS: Mapping[str, tuple[str, Tone]] = {
    "fixes": ("its vector turns the wrong answer right", "good"),
    "none": ("it changes nothing", ""),
    "unneeded": ("greedy gets it right without it", ""),
    "harms": ("it turns a right answer wrong", "bad"),
    "": ("not tried out", "dim"),
}
_BAR = 24
"""Cells of the longest bar."""


def training(state: RunState) -> list[Block]:
    """What was mined, and what the memory holds."""
    return [*mined(state.esm), *memory(state.esm)]


def mined(state: ESMState) -> list[Block]:
    """Sampled answers, and the pairs made from them by what they do on their own problem."""
    if not state.rollouts and not state.pairs:
        return []
    effects = Counter(pair.effect for pair in state.pairs)
    rows = [
        ("answers sampled", "", f"{len(state.rollouts):,}"),
        ("of them right", "", f"{state.rollouts_right:,}"),
        ("pairs", "a right and a wrong text", f"{len(state.pairs):,}"),
        *(
            (f"  {name or 'untried'}", about, Span(f"{effects[name]:,}", tone))
            for name, (about, tone) in _EFFECTS.items()
            if effects[name]
        ),
    ]
    return [Table(("mined", "", ""), rows, 1)]


def memory(state: ESMState) -> list[Block]:
    """Picked entries by kind and control point; once the index is built, what it holds."""
    kinds, built = Counter(pick.kind for pick in state.picks), state.memory
    if not kinds:
        return []
    caption = (
        f"{counted(len(state.picks), 'entries')} picked: {kinds['wrong']:,} wrong, {kinds['right']:,} right"
    )
    if built is not None:
        layers = ", ".join(map(str, built.layers))
        caption += f"; in the index {built.entries:,} × {built.hidden_size}, "
        caption += f"{'layer' if len(built.layers) == 1 else 'layers'} {layers}"
    points = _points(state)
    most = max(map(sum, points.values()))
    rows = [
        (
            str(m),
            (Span("█" * _cells(wrong, most), "accent"), "░" * _cells(right, most)),
            f"{wrong:,}",
            f"{right:,}",
        )
        for m, (wrong, right) in sorted(points.items())
    ]
    notes = ["█ wrong: can be injected; ░ right: speaks for null, the state needs no steering"]
    return [Table(("control point", "█ wrong ░ right", "wrong", "right"), rows, 2, caption, notes)]


def _points(state: ESMState) -> dict[int, tuple[int, int]]:
    """Wrong and right entries by control point."""
    if state.memory is not None:
        return {int(m): (wrong, right) for m, (wrong, right) in state.memory.by_control_point.items()}
    counts = Counter((pick.m, pick.kind) for pick in state.picks)
    return {m: (counts[m, "wrong"], counts[m, "right"]) for m, _ in counts}


def _cells(count: int, most: int) -> int:
    return round(count / most * _BAR) if most else 0


def gain_curve(state: RunState) -> list[Series]:
    """What each entry added to the objective, in the order of picking."""
    picks = state.esm.picks
    return with_mean("gain", [pick.order for pick in picks], [pick.gain for pick in picks])
