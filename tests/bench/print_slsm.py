"""The tables of a run of the stage `slsm`, as Markdown.

    python -m tests.bench.print_slsm RUN

RUN is the run's folder. Prints the modes with score, interval, cost and what the notes did; each pair of modes with
McNemar's p; and each mode's score by axis.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from engine.config.file import load_config
from engine.events import ConversationAnswered
from engine.run.directory import RunDirectory
from engine.seeds import derive_seed
from engine.slsm import layout
from engine.slsm.judges.scoring import both_judged
from engine.statistics import macro_bootstrap, mcnemar

_COLUMNS = ("mode", "memory", "score", "interval", "model calls", "model tokens", "note tokens",
            "notes", "fixed / wasted / broke", "cut", "no answer")  # fmt: skip
_LAST = "unanswered"
"""The last column of `modes.csv` before those of the axes."""


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def answers_of(run: Path) -> dict[tuple[str, str], list[ConversationAnswered]]:
    """The results of a run by mode and memory, in the order of its modes."""
    answers: dict[tuple[str, str], list[ConversationAnswered]] = {
        (row["mode"], row["memory_mode"]): [] for row in _rows(layout.modes(run))
    }
    for line in layout.results(run).read_bytes().splitlines():
        one = msgspec.json.decode(line, type=ConversationAnswered)
        answers[one.mode, one.memory_mode].append(one)
    return answers


def compared_pairs(
    answers: Mapping[tuple[str, str], Sequence[ConversationAnswered]], seed: int
) -> list[dict[str, Any]]:
    """A row for each pair of variants, over the conversations that are judged under both. `difference`: second minus
    first, as macro mean over axes; `first_only`, `second_only`: conversations that pass under one alone; `p`: exact
    McNemar."""
    rows: list[dict[str, Any]] = []
    for first, second in combinations(answers, 2):
        axes = both_judged(answers[first], answers[second]).values()
        if not axes:
            continue
        both = [pair for axis in axes for pair in axis]
        a, b = [one for one, _ in both], [two for _, two in both]
        difference = macro_bootstrap([[two - one for one, two in axis] for axis in axes], seed)
        rows.append(
            {
                "first": " ".join(first),
                "second": " ".join(second),
                "n": len(both),
                "first_passes": int(sum(a)),
                "second_passes": int(sum(b)),
                "first_only": sum(x > y for x, y in zip(a, b, strict=True)),
                "second_only": sum(x < y for x, y in zip(a, b, strict=True)),
                "difference": round(difference.difference, 6),
                "low": round(difference.low, 6),
                "high": round(difference.high, 6),
                "p": mcnemar(a, b),
            }
        )
    return rows


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


def _pair(row: dict[str, Any]) -> list[str]:
    return [
        str(row["first"]), str(row["second"]), str(row["n"]), f"{row['difference']:+.3f}",
        f"[{row['low']:+.3f}, {row['high']:+.3f}]", f"{row['first_only']} / {row['second_only']}",
        f"{row['p']:.2g}",
    ]  # fmt: skip


def main() -> None:
    """As the module says."""
    run = Path(sys.argv[1])
    seed = derive_seed(load_config(RunDirectory(run).config).run.seed, "slsm", "pairs")
    modes, pairs = _rows(layout.modes(run)), compared_pairs(answers_of(run), seed)
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
