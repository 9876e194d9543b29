"""The two tables of a comparison: methods, and the items of a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.blocks.model_text import one_line
from app.compared.words import arm_name, finding
from app.table.column import Cell, ListColumn, Tone
from app.wording.figures import NONE, fixed, interval, outcome, probability, signed
from engine.comparison.comparison import ArmPair
from engine.comparison.figures import CELLS, cell
from engine.comparison.items import Item

CELL_KEYS = ("both", "only_a", "only_b", "neither")
"""Columns of the 2×2, in the order of `CELLS`."""


@dataclass(frozen=True)
class ItemPair:
    """A pair of items, and where their traces part."""

    a: Item
    b: Item
    parts_at: str

    @property
    def cell(self) -> int | None:
        """Its place in `CELLS`."""
        return cell(self.a, self.b)


def _finding(arm: ArmPair) -> Cell:
    words = finding(arm)
    tone: Tone = "strong" if "better" in words else "dim"
    return Cell(words, tone)


def _tokens(arm: ArmPair) -> str:
    f = arm.figures
    return NONE if f.tokens_a is None else f"{f.tokens_a:.0f} → {f.tokens_b:.0f}"


def _cell(place: int, key: str, label: str, priority: int) -> ListColumn[ArmPair]:
    def count(arm: ArmPair) -> int | None:
        return None if arm.figures.cells is None else arm.figures.cells[place]

    def show(number: int | None) -> Cell:
        return Cell(NONE, "dim") if number is None else Cell(f"{number:,}", "accent" if number else "dim")

    return ListColumn(
        key, label, max(4, len(label)), "right", priority, help=f"{CELLS[place]}: enter opens these items",
        value=count, show=show,
    )  # fmt: skip


METHODS: Sequence[ListColumn[ArmPair]] = (
    ListColumn("system", "system", 9, priority=3, value=lambda m: m.a.system),
    ListColumn("method", "method", 13, flex=True, value=lambda m: m.a.name, show=arm_name),
    ListColumn("finding", "finding", 10, priority=1, value=lambda m: m, show=_finding,
               help="of the scores; unclear: the interval holds 0, or p is not below 0.05"),
    ListColumn("n", "n", 4, "right", 4, help="items that both runs have", value=lambda m: m.figures.n),
    ListColumn("mean_a", "A", 5, "right", 1, help="mean score of A", value=lambda m: m.figures.mean_a, show=fixed),
    ListColumn("mean_b", "B", 5, "right", 1, help="mean score of B", value=lambda m: m.figures.mean_b, show=fixed),
    ListColumn("difference", "B−A", 6, "right", 0, help="difference of the mean scores",
               value=lambda m: m.figures.difference, show=signed),
    ListColumn("interval", "95% interval", 16, "right", 1, help="of B−A: paired bootstrap over items",
               value=lambda m: m, show=lambda m: interval(m.figures.low, m.figures.high)),
    ListColumn("p", "p", 5, "right", 2, help="McNemar's exact p of only A against only B",
               value=lambda m: m.figures.p, show=probability),
    _cell(0, "both", "both✓", 3),
    _cell(1, "only_a", "only A", 1),
    _cell(2, "only_b", "only B", 1),
    _cell(3, "neither", "none✓", 3),
    ListColumn("tokens", "tokens", 9, "right", 5, help="mean tokens an item, A → B",
               value=lambda m: m, show=_tokens),
)  # fmt: skip


def _right(item: Item) -> Cell:
    if item.right is None and item.score is not None:
        return Cell(fixed(item.score, 2))
    return Cell(outcome(item.right), "dim" if item.right is None else "good" if item.right else "bad")


def _parts_at(words: str) -> Cell:
    return Cell(words, "accent") if words else Cell("nowhere", "dim")


def _count(number: int | None) -> str:
    return NONE if number is None else f"{number:,}"


ITEMS: Sequence[ListColumn[ItemPair]] = (
    ListColumn("a", "A", 4, help="✓ right, ✗ wrong in A", value=lambda i: i.a, show=_right),
    ListColumn("b", "B", 4, help="✓ right, ✗ wrong in B", value=lambda i: i.b, show=_right),
    ListColumn("parts_at", "first difference", 26, priority=1, help="where they first decide or write otherwise",
               value=lambda i: i.parts_at, show=_parts_at),
    ListColumn("question", "question", 24, priority=2, flex=True, value=lambda i: i.a.question, show=one_line),
    ListColumn("tokens_a", "tok. A", 6, "right", 4, value=lambda i: i.a.tokens, show=_count),
    ListColumn("tokens_b", "tok. B", 6, "right", 4, value=lambda i: i.b.tokens, show=_count),
    ListColumn("id", "id", 14, priority=5, name=True, value=lambda i: i.a.id),
)  # fmt: skip
