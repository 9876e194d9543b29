"""The tables of a run of the stage `slsm`, as Markdown.

    python -m tests.bench.print_slsm RUN

RUN is the run's folder. Prints the modes with score, interval, cost and what the notes did; each pair of modes with
McNemar's p; and each mode's score by axis.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from engine.slsm import layout

_COLUMNS = ("mode", "memory", "score", "interval", "model calls", "model tokens", "note tokens",
            "notes", "fixed / wasted / broke", "cut", "no answer")  # fmt: skip
_LAST = "unanswered"
"""The last column of `modes.csv` before those of the axes."""


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _print(columns: tuple[str, ...], rows: list[list[str]]) -> None:
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _mode(row: dict[str, str]) -> list[str]:
    score, low, high = (float(row[name]) if row[name] else None for name in ("score", "low", "high"))
    shown = ["", ""] if score is None else [f"{score:.3f}", f"[{low:.3f}, {high:.3f}]"]
    effect = f"{row['fixed']} / {row['wasted']} / {row['broke']}"
    return [
        row["mode"], row["memory_mode"], *shown, f"{float(row['model_calls']):.2f}",
        f"{float(row['model_tokens']):.0f}", f"{float(row['injected_tokens']):.0f}", row["injections"], effect,
        row["cut"], row["unanswered"],
    ]  # fmt: skip


def _pair(row: dict[str, str]) -> list[str]:
    difference, low, high = (float(row[name]) for name in ("difference", "low", "high"))
    return [
        row["first"], row["second"], row["n"], f"{difference:+.3f}", f"[{low:+.3f}, {high:+.3f}]",
        f"{row['first_only']} / {row['second_only']}", f"{float(row['p']):.2g}",
    ]  # fmt: skip


def main() -> None:
    """As the module says."""
    run = Path(sys.argv[1])
    modes, pairs = (
        _rows(layout.modes(run)),
        _rows(layout.pairs(run)) if layout.pairs(run).stat().st_size else [],
    )
    about = json.loads(layout.summary(run).read_text())
    shown = ("model", "dataset", "conversations", "controller", "judge", "cut", "unjudged")
    print({name: about[name] for name in shown})
    _print(_COLUMNS, [_mode(row) for row in modes])
    if pairs:
        columns = (
            "first",
            "second",
            "n",
            "difference",
            "interval",
            "passes first / second alone",
            "McNemar's p",
        )
        _print(columns, [_pair(row) for row in pairs])
    axes = list(modes[0])[list(modes[0]).index(_LAST) + 1 :]
    if axes:
        named = [f"{row['mode']} {row['memory_mode']}" for row in modes]
        _print(("axis", *named), [[axis, *(f"{float(row[axis]):.3f}" for row in modes)] for axis in axes])


if __name__ == "__main__":
    main()
