"""The offline judge against people's labels: FinanceBench's published answers, half of the questions held out.

    python -m tests.bench.bench_judge [FOLDER]

FOLDER holds `financebench_open_source.jsonl` and `answers/`, as published; without it,
../shared/data/financebench. Rules were made on one half of the questions (by a digest of their ids) and on every second
answering system; answers to the other half were not read. Writes results/judge.csv, which holds figures only.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.config.evolution import JudgeSection
from engine.evolution.judges.agreement import Said, agreement_with_people
from engine.evolution.judges.labelled_answers import LabelledAnswer, read_labelled_answers
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.tasks.records import read_records

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared/data/financebench"
RESULTS = Path(__file__).resolve().parent / "results" / "judge.csv"


def held_out(question_id: str) -> bool:
    """Whether the rules were made without this question."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % 2 == 1


def cells(folder: Path) -> Iterator[tuple[str, str, list[LabelledAnswer]]]:
    """(half of the questions, systems, their answers): each half with all systems, and with either half of them."""
    questions = {
        record["financebench_id"]: record
        for _, record in read_records(folder / "financebench_open_source.jsonl")
    }
    ids = {record["question"]: key for key, record in questions.items()}
    types = {key: str(record["question_type"]) for key, record in questions.items()}
    files = sorted((folder / "answers").glob("*.jsonl"))
    answers = [
        (place % 2, one)
        for place, file in enumerate(files)
        for one in read_labelled_answers(str(file), types)
    ]
    for half, wanted in (("all", (False, True)), ("development", (False,)), ("held out", (True,))):
        for systems, sides in (("all", (0, 1)), ("development", (0,)), ("held out", (1,))):
            chosen = [one for side, one in answers if side in sides and held_out(ids[one.question]) in wanted]
            yield half, systems, chosen


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each half, systems and type of question."""
    section = JudgeSection()
    judge = NumericJudge(section.tolerance, section.text_threshold)
    for half, systems, answers in cells(folder):
        verdicts = [judge.judge(one.question, one.golds, one.answer) for one in answers]
        said = [Said(verdict.correct, verdict.correct is None) for verdict in verdicts]
        for kind, figures in agreement_with_people(answers, said).items():
            named = {"questions": half, "systems": systems, "type": kind or "all"}
            yield named | {
                name: round(value, 3) if isinstance(value, float) else value
                for name, value in vars(figures).items()
            }


def main() -> None:
    """All figures, printed and written."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    found = list(rows(folder))
    for row in found:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
