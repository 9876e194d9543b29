"""A difference from the baseline in a cell: sign, unit and colour."""

from __future__ import annotations

from typing import Any

import pytest

from app.table.column import Cell
from app.table.difference import difference_cell
from engine.events.verdict import Verdict


def verdict(difference: float, low: float, high: float, **more: Any) -> Verdict:
    return Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=9, value=0, baseline_value=0, difference=difference,
        low=low, high=high, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "cell"),
    [
        (verdict(0.125, 0.05, 0.2), Cell("▲ +0.125", "good")),
        (verdict(-0.125, -0.2, -0.05), Cell("▼ −0.125", "bad")),
        (verdict(0.125, -0.05, 0.3), Cell("≈ +0.125", "dim")),
        (verdict(0.125, 0.05, 0.2, stale=True), Cell("◌ +0.125", "dim")),
        (verdict(-12.5, -20, -5, unit="tokens", lower_is_better=True), Cell("▲ −12.5", "good")),
        (verdict(12.5, 5, 20, unit="tokens", lower_is_better=True), Cell("▼ +12.5", "bad")),
    ],
)
def test_better_is_green_and_worse_red(difference: Verdict, cell: Cell) -> None:
    assert difference_cell(difference) == cell
