"""Several runs beside the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.blocks.block import Block, Bullets, Command, Heading, Paragraph
from app.blocks.plots import interval_picture
from app.compared.tables import changed_fields, method_tables
from app.runs.run_names import names_of
from engine.comparison.comparison import Comparison, compare_runs


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
    blocks: list[Block] = [changed_fields(comparison), *method_tables(comparison)]
    differences = (
        (f"{arm.a.system}: {arm.a.name}", arm.figures.difference, arm.figures.low, arm.figures.high)
        for arm in comparison.arms
    )
    caption = "Mean score of B minus that of A, with paired bootstrap 95% intervals"
    blocks += interval_picture(differences, caption, zero=True)
    if comparison.remarks:
        blocks.append(Bullets(comparison.remarks))
    return blocks
