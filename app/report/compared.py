"""Several runs beside the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.blocks.block import Block, Bullets, Command, Heading, Paragraph, Table, cut
from app.blocks.plots import interval_picture
from app.comparison_text import table_row
from app.runs.run_names import names_of
from engine.comparison.comparison import Comparison, compare_runs

_FIGURES = ("n", "A", "B", "B − A", "95% interval", "p", "only A right", "only B right")


def compared_blocks(runs: Sequence[Path]) -> list[Block]:
    """Every run against the first, over the items that both have. Raises SteerErrors."""
    blocks: list[Block] = [
        Heading("The runs compared"),
        Paragraph(
            "B minus A over the items that both runs have, with paired bootstrap 95% intervals and McNemar's exact p; "
            "computed from the two runs' logs and files."
        ),
    ]
    names = names_of(runs)
    for other, name in zip(runs[1:], names[1:], strict=True):
        blocks.append(Heading(f"A: {names[0]}, B: {name}", 3))
        blocks += _compared(compare_runs(runs[0], other))
        blocks.append(Command(f"steer-tui compare {runs[0]} {other}"))
    return blocks


def _compared(comparison: Comparison) -> list[Block]:
    blocks: list[Block] = []
    if comparison.changed:
        rows = [
            (c.name, cut(c.a, 200) or "not there", cut(c.b, 200) or "not there") for c in comparison.changed
        ]
        blocks.append(Table(("changed field", "A", "B"), rows))
    else:
        blocks.append(Paragraph("No field of the configuration differs."))
    for system in dict.fromkeys(arm.a.system for arm in comparison.arms):
        rows = [table_row(arm, _FIGURES) for arm in comparison.arms if arm.a.system == system]
        blocks.append(Table(("method", "finding", *_FIGURES), rows, len(_FIGURES), system))
    differences = (
        (f"{arm.a.system}: {arm.a.name}", arm.figures.difference, arm.figures.low, arm.figures.high)
        for arm in comparison.arms
    )
    caption = "Mean score of B minus that of A, with paired bootstrap 95% intervals"
    blocks += interval_picture(differences, caption, zero=True)
    if comparison.remarks:
        blocks.append(Bullets(comparison.remarks))
    return blocks
