"""ESM where later segments can still put things right: tasks with one of IFEval's instructions, checked exactly.

    python -m tests.bench.bench_esm_instructions prepare input_data.jsonl FOLDER
    steer-tui batch --config configs/real/esm_instructions_qwen0.5b.yaml --set task.path=FOLDER model.path=FILE.gguf
    python -m tests.bench.bench_esm_instructions contrast FOLDER FILE.gguf OUTPUTS
    python -m tests.bench.bench_esm_instructions table FOLDER RUN [RUN ...]

The tasks are first sentences of IFEval's prompts that ask for something without saying how; the instructions are the
file's own, as far as a check reads them and a text of a few hundred tokens can keep or miss them. `prepare` writes
three splits that share no task: problems of `train` are mined, of `dev` chosen on, of `test` answered once. Mined
instructions have one wording, the others another. `contrast` answers the test problems of each kind with a vector of
its own: the mean difference of tasks with and without an instruction (Stolfo et al. 2025, arXiv 2410.12877), here added
before each segment but the first. `table` prints each method by kind, and writes results/esm_instructions.csv.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from engine.esm import layout
from engine.files import csv_text, read_jsonl, write_jsonl
from engine.slsm.checks.checks import parse_check
from engine.statistics import paired_bootstrap
from tests.bench.ifeval.reader import task_of
from tests.bench.ifeval.standing import standing_instruction

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "real" / "esm_instructions_qwen0.5b.yaml"
RESULTS = Path(__file__).resolve().parent / "results" / "esm_instructions.csv"
KINDS = (
    "length_constraints:number_words",
    "length_constraints:number_sentences",
    "detectable_format:number_bullet_lists",
    "keywords:existence",
    "keywords:frequency",
    "startend:end_checker",
)
LARGEST = {"num_words": 120, "num_sentences": 10}
"""Bounds beyond which a text of 200 tokens cannot tell."""
SIZES = {"train": (60, 96), "dev": (30, 60), "test": (92, 360)}
"""Tasks, and problems made of them."""


def short(kind: str) -> str:
    return kind.partition(":")[2]


class Wording(Random):
    """Draws the wording at one place."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self.place = place

    def choice(self, seq: Any) -> Any:
        return seq[self.place]


def kept(text: str, instruction: str) -> bool:
    """Whether an answer keeps the instruction (`task.compare`)."""
    check = parse_check(instruction)
    assert check is not None, instruction
    return check.holds(text)


def instructions(rows: Sequence[Mapping[str, Any]], wording: int) -> dict[str, list[str]]:
    """The file's instructions in one wording, by kind."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for row in rows:
        for kind, given in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            if kind not in KINDS or any(given.get(name, 0) > most for name, most in LARGEST.items()):
                continue
            sentence = standing_instruction(kind, given, Wording(wording))
            if sentence is not None and parse_check(sentence) is not None:
                by_kind[kind].append(sentence)
    return by_kind


def problems(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """The problems of each split."""
    tasks = sorted({task for row in rows if (task := task_of(row["prompt"]))})
    Random(0).shuffle(tasks)
    made: dict[str, list[dict[str, str]]] = {}
    for split, (of_tasks, size) in SIZES.items():
        here, tasks = tasks[:of_tasks], tasks[of_tasks:]
        by_kind = instructions(rows, wording=int(split != "train"))
        draw = Random(split)
        made[split] = []
        for number in range(size):
            kind = KINDS[number % len(KINDS)]
            sentence = draw.choice(by_kind[kind])
            made[split].append(
                {
                    "kind": short(kind),
                    "question": f"{draw.choice(here)}\n{sentence}",
                    "answer": sentence,
                }
            )
        made[split] = list({problem["question"]: problem for problem in made[split]}.values())
    return made


def prepare(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in problems(read_jsonl(source)).items():
        write_jsonl(folder / f"{split}.jsonl", rows)
        print(split, len(rows))


def contrast_files(folder: Path, kind: str, outputs: Path) -> Path:
    """The problems of one kind as a data set of its own, beside the runs, and `pairs.jsonl`: mined tasks with and
    without the instruction."""
    own = outputs / "problems" / kind
    own.mkdir(parents=True, exist_ok=True)
    for split in ("train", "test"):
        rows = [row for row in read_jsonl(folder / f"{split}.jsonl") if row["kind"] == kind]
        write_jsonl(own / f"{split}.jsonl", rows)
    mined = [row["question"] for row in read_jsonl(own / "train.jsonl")]
    pairs = [{"positive": question, "negative": question.partition("\n")[0]} for question in mined]
    write_jsonl(own / "pairs.jsonl", pairs)
    return own


def contrast(folder: Path, model: str, outputs: Path) -> None:
    """A run for each kind of instruction: its vector from the problems that are mined, answers to the others."""
    for kind in KINDS:
        name = short(kind)
        own = contrast_files(folder, name, outputs)
        changes = [
            "run.stages=[eval]", f"run.name={name}", f"run.outputs={outputs}", f"model.path={model}",
            "model.threads=1", f"task.path={own}", "eval.methods=[greedy]", "eval.ablations=[]",
            "eval.field.methods=[]", f"eval.contrast.path={own / 'pairs.jsonl'}",
        ]  # fmt: skip
        command = ["batch", "--config", str(CONFIG), *(f"--set={change}" for change in changes)]
        subprocess.run([sys.executable, "-m", "app.cli", *command], check=True)


def table(folder: Path, runs: Sequence[Path]) -> None:
    """Each method beside greedy: all problems, then by kind."""
    kind_of = {row["question"]: row["kind"] for row in read_jsonl(folder / "test.jsonl")}
    lines: list[dict[str, Any]] = []
    answers: dict[str, dict[str, dict[str, Any]]] = {}
    for path in (path for run in runs for path in (layout.folder(run) / "eval").glob("*/per_example.jsonl")):
        answers.setdefault(path.parent.name, {}).update({line["question"]: line for line in read_jsonl(path)})
    greedy = answers["greedy"]
    for method, given in sorted(answers.items()):
        for kind in ("all", *map(short, KINDS)):
            shared = [text for text in given if text in greedy and kind in ("all", kind_of[text])]
            if shared:
                row = figures([given[text] for text in shared], [greedy[text] for text in shared])
                lines.append({"method": method, "kind": kind} | row)
                print(json.dumps(lines[-1]))
    RESULTS.write_text(csv_text(lines), encoding="utf-8")


def figures(given: Sequence[Mapping[str, Any]], greedy: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is kept, the difference to greedy with its interval, answers fixed and broken, tokens."""
    ours, theirs = ([line["correct"] for line in lines] for lines in (given, greedy))
    gain = paired_bootstrap(ours, theirs, seed=0)
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "n": len(given),
        "kept": round(fmean(ours), 4),
        "minus greedy": round(gain.difference, 4),
        "low": round(gain.low, 4),
        "high": round(gain.high, 4),
        "fixed": pairs.count((True, False)),
        "broken": pairs.count((False, True)),
        "tokens": round(fmean(line["tokens_used"] for line in given), 1),
        "probe tokens": round(fmean(line["probe_tokens_used"] for line in given), 1),
        "steered": round(fmean(line["steered"] > 0 for line in given), 3),
    }


if __name__ == "__main__":
    step, *arguments = sys.argv[1:]
    if step == "prepare":
        prepare(*map(Path, arguments))
    elif step == "contrast":
        contrast(Path(arguments[0]), arguments[1], Path(arguments[2]))
    else:
        table(Path(arguments[0]), list(map(Path, arguments[1:])))
