"""The rows of real.md from finished runs.

    python -m tests.bench.real_evolution_table RUN [RUN ...]

Of one run: its `evolution/tables/test.csv`. Of several runs of one configuration with different seeds: also all their
answers together, from `tables/test_answers.csv`. A question that several runs tested counts as often as it was tested;
intervals resample questions, not answers.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.wording.verdict_text import verdict_sentence
from engine.config.file import load_config
from engine.evolution import layout
from engine.evolution.scoring.score import CORRECTNESS_WEIGHT, SHORTNESS_WEIGHT
from engine.run.directory import RunDirectory

HEAD = (
    "| run | method | n | correct | − none | p | tokens | − none | composite | − best |\n"
    "|---|---|---:|---:|---|---:|---:|---|---:|---|"
)
PLAIN, BEST = "no_processor", "best"
RESAMPLES = 10_000

Figures = NDArray[np.float64]
"""(questions, 4): answers, their tokens, the judged ones, the right ones; summed over the runs that asked it."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95% interval."""

    value: float
    low: float
    high: float

    def text(self, digits: int) -> str:
        """`+0.050 [+0.010, +0.090]`"""
        return f"{self.value:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


def rows_of_one(run: Path) -> Iterable[str]:
    """A line for each method."""
    for row in read(layout.comparison(run)):

        def estimate(name: str, low: str, high: str, digits: int, row: dict[str, str] = row) -> str:
            if not row[name]:
                return ""
            return Estimate(*(float(row[key]) for key in (name, low, high))).text(digits)

        setting = row["cap"] or row["prompt"]
        name = row["method"] + (f" ({setting})" if setting else "")
        yield line(
            run.parent.name, name, row["n"], f"{float(row['correctness']):.3f}",
            estimate("difference", "low", "high", 3), f"{float(row['p']):.3g}" if row["p"] else "",
            f"{float(row['mean_tokens']):.1f}", estimate("tokens_difference", "tokens_low", "tokens_high", 1),
            f"{float(row['composite']):.3f}", estimate("ahead", "ahead_low", "ahead_high", 3),
        )  # fmt: skip


def rows_of_several(runs: Sequence[Path]) -> Iterable[str]:
    """A line for each method that all runs have."""
    scale = load_config(runs[0] / "config.yaml").evolution.SHORTNESS_SCALE
    answers = [read(layout.test_answers(run)) for run in runs]
    questions = sorted({one["example"] for run in answers for one in run})
    names = [
        name
        for name in dict.fromkeys(one["method"] for one in answers[0])
        if all(any(one["method"] == name for one in run) for run in answers)
    ]
    by_name = {name: summed(answers, name, questions) for name in names}
    draws = np.random.default_rng(0).multinomial(
        len(questions), np.full(len(questions), 1 / len(questions)), size=RESAMPLES
    )
    resampled = {name: measures(draws.astype(np.float64), own, scale) for name, own in by_name.items()}
    whole = {name: measures(np.ones((1, len(questions))), own, scale) for name, own in by_name.items()}

    def against(name: str, other: str, place: int, digits: int) -> str:
        if name == other:
            return ""
        low, high = np.quantile(resampled[name][place] - resampled[other][place], [0.025, 0.975])
        return Estimate(float(whole[name][place][0] - whole[other][place][0]), low, high).text(digits)

    label = f"{runs[0].parent.name}, {len(runs)} runs, {len(questions)} questions"
    for name in names:
        correct, tokens, composite = (float(values[0]) for values in whole[name])
        yield line(
            label, name, str(int(by_name[name][:, 2].sum())), f"{correct:.3f}", against(name, PLAIN, 0, 3), "",
            f"{tokens:.1f}", against(name, PLAIN, 1, 1), f"{composite:.3f}", against(name, BEST, 2, 3),
        )  # fmt: skip


def summed(answers: Sequence[list[dict[str, str]]], method: str, questions: Sequence[str]) -> Figures:
    """All runs' answers of a method."""
    place = {name: row for row, name in enumerate(questions)}
    figures = np.zeros((len(questions), 4))
    for one in (one for run in answers for one in run if one["method"] == method):
        judged = one["correct"] != ""
        figures[place[one["example"]]] += (1, float(one["tokens"]), judged, one["correct"] == "True")
    return figures


def measures(draws: Figures, figures: Figures, scale: float) -> tuple[Figures, Figures, Figures]:
    """Correctness, mean tokens and composite of each resample: `draws` counts how often each question is in it."""
    answers, tokens, judged, right = (draws @ figures).T
    correct, mean = right / np.maximum(judged, 1), tokens / answers
    return correct, mean, SHORTNESS_WEIGHT / (1 + mean / scale) + CORRECTNESS_WEIGHT * correct


def verdict(run: Path) -> str:
    """What the run itself says of its comparison."""
    stated = RunDirectory(run).read().stages["evolve"].verdict
    return "" if stated is None else verdict_sentence(stated)


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def line(*cells: str) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Rows of each run, then of all together."""
    runs = [Path(argument) for argument in sys.argv[1:]]
    if not runs:
        raise SystemExit(__doc__)
    print(HEAD)
    for run in runs:
        print(*rows_of_one(run), sep="\n")
    if len(runs) > 1:
        print(*rows_of_several(runs), sep="\n")
    print()
    for run in runs:
        print(f"{run.name}: {verdict(run)}")


if __name__ == "__main__":
    main()
