"""A judge against people's labels: FinanceBench's published answers, a quarter of the questions held out.

    python -m tests.bench.bench_judge [FOLDER [MODULE:CLASS]]

FOLDER holds `financebench_open_source.jsonl` and `answers/`, as published; without it,
../shared/data/financebench. Rules were made on three quarters of the questions (by a digest of their ids), with the
answers of all systems; answers to the last quarter were not read. Answers that people call refusals are counted apart,
and once more as wrong ones. Writes results/judge.csv, which holds figures only. With MODULE:CLASS, a judge of your own,
the figures are printed alone.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from engine.config.evolution import JudgeSection
from engine.custom_class import make_custom
from engine.evolution.judges.judge import Judge, Verdict, judge_with_retries
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.tasks.records import read_records
from tests.bench.judge.agreement import agreement_with_people
from tests.bench.judge.labelled_answers import LabelledAnswer, read_labelled_answers

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared/data/financebench"
RESULTS = Path(__file__).resolve().parent / "results" / "judge.csv"


def held_out(question_id: str) -> bool:
    """Whether the rules were made without this question."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % 4 == 3


def cells(folder: Path) -> Iterator[tuple[str, list[LabelledAnswer]]]:
    """(part of the questions, all answers to them)."""
    questions = {
        record["financebench_id"]: record
        for _, record in read_records(folder / "financebench_open_source.jsonl")
    }
    ids = {record["question"]: key for key, record in questions.items()}
    types = {key: str(record["question_type"]) for key, record in questions.items()}
    answers = read_labelled_answers(str(folder / "answers"), types)
    for part, held in (("all", (False, True)), ("development", (False,)), ("held out", (True,))):
        yield part, [answer for answer in answers if held_out(ids[answer.question]) in held]


def rows(folder: Path, judge: Judge) -> Iterator[dict[str, Any]]:
    """A row for each part, type of question and way to count refusals. Each answer is judged once."""

    @cache
    def verdict(one: LabelledAnswer) -> Verdict:
        return judge_with_retries(judge, one.question, one.golds, one.answer, JudgeSection.attempts)

    for part, answers in cells(folder):
        verdicts = [verdict(one) for one in answers]
        as_wrong = [replace(answer, refusal=False) for answer in answers]
        for counted, labelled in (("apart", answers), ("wrong", as_wrong)):
            for kind, figures in agreement_with_people(labelled, verdicts).items():
                named = {"questions": part, "type": kind or "all", "refusals counted": counted}
                yield named | {
                    name: round(value, 3) if isinstance(value, float) else value
                    for name, value in asdict(figures).items()
                }


def main() -> None:
    """All figures, printed and written."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    own = make_custom(sys.argv[2], "evolution.judge.kind", Judge) if len(sys.argv) > 2 else None
    found = list(rows(folder, own or NumericJudge(JudgeSection().tolerance)))
    for row in found:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if own is not None:
        return
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
