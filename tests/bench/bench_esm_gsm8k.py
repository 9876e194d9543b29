"""ESM on GSM8K with a real model: mine on train, choose on other problems of train, report once on test.

    python -m tests.bench.bench_esm_gsm8k prepare GSM8K_FOLDER --work W
    python -m tests.bench.bench_esm_gsm8k mine NAME --work W --set model.path=FILE.gguf [field=value ...]
    python -m tests.bench.bench_esm_gsm8k dev NAME --mined NAME [--layers 12 16] [--methods esm ...] --work W --set ...
    python -m tests.bench.bench_esm_gsm8k test NAME --mined NAME [--layers 12] --methods esm ... --work W --set ...
    python -m tests.bench.bench_esm_gsm8k table --work W

Steps of one measurement; each is a process of its own, so that several run beside each other on one GPU, and goes on
where it was cut off. `prepare` writes the splits: mined are problems from the start of train.jsonl, settings are chosen
on its last 448 (dev), which are never mined. `table` prints every dev run and the test table, and writes
results/esm_gsm8k_{dev,test}.csv.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import convert

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm import layout
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.esm.evaluation.compare import compared
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.effects import layer_effects
from engine.esm.mining.mine_stage import Mine
from engine.files import csv_text, read_jsonl, write_jsonl
from engine.lm.loading.load import load_model
from engine.wilson import wilson
from tests.run_stage import run_stage

HERE = Path(__file__).resolve().parent
CONFIG = HERE.parent.parent / "configs" / "real" / "esm_gsm8k_qwen0.5b.yaml"
DEV = 448
ELSEWHERE = ("model.", "task.", "online.batch", "eval.batch", "offline_mine.batch")
"""Overrides that say where and how a run was computed, not what."""


def prepare(source: Path, work: Path) -> None:
    """The three splits as files."""
    lines = (source / "train.jsonl").read_text().splitlines()
    splits = {
        "train": lines[:-DEV],
        "dev": lines[-DEV:],
        "test": (source / "test.jsonl").read_text().splitlines(),
    }
    folder = work / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, own in splits.items():
        (folder / f"{name}.jsonl").write_text("\n".join(own) + "\n")


def configured(work: Path, overrides: Sequence[str]) -> Config:
    return load_config(CONFIG, [f"task.path={work / 'data'}", *overrides])


def mine(name: str, work: Path, overrides: Sequence[str]) -> None:
    """The stage `mine` in W/mined/NAME."""
    config = configured(work, overrides)
    started = time.time()
    run_stage(Mine(), config, work / "mined" / name, load_model(config.model))
    pairs = read_jsonl(layout.mine(work / "mined" / name) / "pairs.jsonl")
    print(name, f"{time.time() - started:.0f} s", len(pairs), "pairs", flush=True)
    for effect in layer_effects(pairs):
        print(name, effect, flush=True)


def library(run: Path, mined: Path, layers: Sequence[int]) -> None:
    """The candidates of some layers of a finished `mine` as this run's own."""
    folder = layout.mine(run)
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for name in ("keys", "vectors"):
        (folder / name).symlink_to(layout.mine(mined).resolve() / name)
    rows = read_jsonl(layout.mine(mined) / "candidates.jsonl")
    write_jsonl(folder / "candidates.jsonl", [row for row in rows if not layers or row["layer"] in layers])


def evaluate(options: argparse.Namespace) -> None:
    """Library, memory and evaluation in W/dev/NAME or W/test/NAME."""
    work, run = options.work, options.work / options.step / options.name
    methods = [name for name in options.methods if name in ("greedy", "majority_vote", "esm")]
    config = configured(
        work,
        [
            f"task.eval_split={options.step}",
            f"task.eval_size={DEV if options.step == 'dev' else 1319}",
            f"eval.methods={json.dumps(methods)}" if methods else 'eval.methods=["esm"]',
            f"eval.ablations={json.dumps([name for name in options.methods if name not in methods])}",
            *options.set,
        ],
    )
    if not methods:
        config = config.model_copy(update={"eval": config.eval.model_copy(update={"methods": []})})
    started = time.time()
    model = load_model(config.model)
    if options.mined:
        library(run, work / "mined" / options.mined, options.layers)
        for stage in (Select(), BuildMemory()):
            run_stage(stage, config, run, model)
    about = {name: getattr(options, name) for name in ("name", "mined", "layers", "set")}
    about["device"] = model.info.device
    run.mkdir(parents=True, exist_ok=True)
    run.joinpath("about.json").write_text(json.dumps(about))
    loaded = time.time()
    run_stage(Evaluate(), config, run, model)
    print(
        options.name, f"loaded {loaded - started:.0f} s, evaluated {time.time() - loaded:.0f} s", flush=True
    )
    for method, own in answers(run).items():
        accuracy = np.mean([line["correct"] for line in own])
        print(options.name, method, f"{accuracy:.4f}", f"tokens {_mean(own, 'budget_used'):.0f}", flush=True)


def answers(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Lines of per_example.jsonl by method."""
    return {path.parent.name: read_jsonl(path) for path in sorted(run.glob("esm/eval/*/per_example.jsonl"))}


def table(work: Path, out: Path, most: int | None) -> None:
    """Rows of every run on its first `most` problems, against greedy on the same. A run that was cut off counts with
    what it has."""
    for step in ("dev", "test"):
        runs = {run.name: answers(run) for run in sorted((work / step).glob("*"))}
        about = {name: about_run(work / step / name) for name in runs}
        # Greedy at another budget is a row, never the baseline.
        baselines = [
            own["greedy"]
            for name, own in runs.items()
            if "greedy" in own and "decode." not in str(about[name]["set"])
        ]
        greedy = baselines[0] if baselines else None
        rows = [
            row(name, method, own[:most], greedy, about[name])
            for name, methods in runs.items()
            for method, own in methods.items()
        ]
        if rows:
            out.mkdir(parents=True, exist_ok=True)
            (out / f"esm_gsm8k_{step}.csv").write_text(csv_text(rows))
            for line in sorted(rows, key=lambda line: -line["accuracy"]):
                print(step, json.dumps(line), flush=True)


def about_run(run: Path) -> dict[str, Any]:
    about = json.loads((run / "about.json").read_text())
    own = [text for text in about["set"] if not text.startswith(ELSEWHERE)]
    return about | {"set": own}


def row(
    name: str,
    method: str,
    own: Sequence[dict[str, Any]],
    greedy: Sequence[dict[str, Any]] | None,
    about: dict[str, Any],
) -> dict[str, Any]:
    steps = [step for line in own for step in line["steps"]]
    right = sum(line["correct"] for line in own)
    low, high = wilson(right, len(own))
    against = None
    if greedy is not None:
        here, there = (convert(lines, list[AnswerLine]) for lines in (own, greedy[: len(own)]))
        against = compared(here, there, load_config(CONFIG))
    return {
        "run": name,
        "method": method,
        "mined": about["mined"],
        "layers": " ".join(map(str, about["layers"])),
        "settings": " ".join(about["set"]),
        "n": len(own),
        "accuracy": round(right / len(own), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "strict": round(_mean(own, "correct_strict"), 4),
        "committed_tokens": round(_mean(own, "tokens_used"), 1),
        "probe_tokens": round(_mean(own, "probe_tokens_used"), 1),
        "steered": round(sum(step["chosen"] is not None for step in steps) / max(len(steps), 1), 3),
        "difference": round(against.difference, 4) if against else None,
        "difference_low": round(against.low, 4) if against else None,
        "difference_high": round(against.high, 4) if against else None,
        "mcnemar_p": round(against.p, 4) if against else None,
        "fixed": against.fixed if against else None,
        "broken": against.broken if against else None,
    }


def _mean(lines: Sequence[dict[str, Any]], field: str) -> float:
    return float(np.mean([line[field] for line in lines]))


def main() -> None:
    """One step of the measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["prepare", "mine", "dev", "test", "table"])
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mined", help="name of a finished `mine`")
    parser.add_argument("--layers", type=int, nargs="*", default=[])
    parser.add_argument("--methods", nargs="*", default=["esm"])
    parser.add_argument("--set", nargs="*", default=[], help="field=value of the configuration")
    parser.add_argument("--most", type=int, help="problems of a run that count in the table")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    if options.step == "prepare":
        prepare(Path(options.name), options.work)
    elif options.step == "mine":
        mine(options.name, options.work, options.set)
    elif options.step == "table":
        table(options.work, options.out, options.most)
    else:
        evaluate(options)


if __name__ == "__main__":
    main()
