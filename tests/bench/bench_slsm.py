"""Memory notes on the model that comes along: every mode, both kinds of memory, several seeds of dialogues.

    python -m tests.bench.bench_slsm [seeds] [dialogues]

Writes results/slsm.csv, a line a mode and seed, and prints the means; results/slsm_distance.csv, what passes without a
note and with one by the number of exchanges since it was said; results/slsm_detectors.csv, `on_detection` with each
detector, over all seeds, each conversation paired with itself under `controller`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from engine.config.file import load_config
from engine.events import ConversationAnswered, Event, ModeScored, without_envelope
from engine.files import csv_text
from engine.lm.loading.load import load_model
from engine.slsm.slsm_stage import RunSLSM
from engine.statistics import macro_bootstrap
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

_SHOWN = ("score", "injections", "injected_tokens", "model_calls", "model_tokens", "fixed", "wasted", "broke")
DETECTORS = ("controller", "checks", "both")
Answers = dict[tuple[str, str], list[ConversationAnswered]]
"""Of on_detection, by detector and memory mode, over all seeds in one order."""
Passed = dict[tuple[int, str, str], list[bool]]
"""By exchanges in between, mode and memory mode."""
RESULTS = Path(__file__).resolve().parent / "results" / "slsm.csv"


def compare(seed: int, dialogues: int, passed: Passed, detected: Answers) -> list[dict[str, Any]]:
    """The rows of one seed; what passed goes into `passed`, answers after a detection into `detected`."""
    base = [f"run.seed={seed}", f"slsm.data.conversations={dialogues}"]
    model = load_model(load_config(DEMO, base).slsm_model)
    between = {dialogue.id: dialogue.between for dialogue in generate_dialogues(dialogues, seed)}
    by_detector: dict[str, list[Event]] = {}
    for detector in DETECTORS:
        modes = [] if detector == "controller" else ["slsm.compare=[baseline, on_detection]"]
        config = load_config(DEMO, [*base, *modes, f"slsm.detector={detector}"])
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            by_detector[detector] = run_stage(RunSLSM(), config, Path(folder), model)
            print(
                f"seed {seed}, {detector}: {time.process_time() - began:.0f} s of processor time", flush=True
            )
        for event in by_detector[detector]:
            if isinstance(event, ConversationAnswered) and event.mode == "on_detection":
                detected[detector, event.memory_mode].append(event)
    events = by_detector["controller"]
    for event in events:
        if isinstance(event, ConversationAnswered) and event.mode in ("baseline", "always"):
            passed[between[event.conversation_id], event.mode, event.memory_mode].append(bool(event.passed))
    return [{"seed": seed} | _figures(event) for event in events if isinstance(event, ModeScored)]


def _figures(row: ModeScored) -> dict[str, Any]:
    plain = without_envelope(row)
    axes = {str(axis): share for axis, share, *_ in plain.pop("by_axis")}
    return plain | axes


def detector_rows(detected: Answers) -> list[dict[str, Any]]:
    """Rows of slsm_detectors.csv: macro means over the axes, differences to the detector `controller`."""
    rows: list[dict[str, Any]] = []
    for (detector, memory), own in detected.items():
        found = {"detector": detector, "memory_mode": memory, "n": len(own)}
        score = macro_bootstrap(_by_axis(own, [0.0] * len(own)), 0)
        against = macro_bootstrap(
            _by_axis(own, [float(bool(one.passed)) for one in detected["controller", memory]]), 0
        )
        calls = {
            name: sum(getattr(one, name) for one in own) / len(own)
            for name in ("model_calls", "detector_calls")
        }
        rows.append(
            found
            | {"score": score.difference, "low": score.low, "high": score.high}
            | {"difference": against.difference, "difference_low": against.low, "difference_high": against.high}
            | {"injections": sum(one.injected for one in own)} | calls
        )  # fmt: skip
    return rows


def _by_axis(answers: list[ConversationAnswered], others: list[float]) -> list[list[float]]:
    axes: dict[str, list[float]] = defaultdict(list)
    for one, other in zip(answers, others, strict=True):
        axes[one.axis].append(float(bool(one.passed)) - other)
    return list(axes.values())


def main() -> None:
    """All seeds."""
    given = [int(text) for text in sys.argv[1:]]
    seeds, dialogues = given + [3, 240][len(given) :]
    passed: Passed = defaultdict(list)
    detected: Answers = defaultdict(list)
    rows = [row for seed in range(seeds) for row in compare(seed, dialogues, passed, detected)]
    RESULTS.write_text(csv_text(rows))
    detectors = detector_rows(detected)
    RESULTS.with_name("slsm_detectors.csv").write_text(csv_text(detectors))
    for line in detectors:
        print({name: round(value, 4) if isinstance(value, float) else value for name, value in line.items()})
    names = ("exchanges", "mode", "memory_mode")
    distances = [
        dict(zip(names, key, strict=True)) | {"n": len(own), "passed": sum(own) / len(own)}
        for key, own in sorted(passed.items())
    ]
    RESULTS.with_name("slsm_distance.csv").write_text(csv_text(distances))
    for line in distances:
        print(*line.values())
    by_mode: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_mode[row["mode"], row["memory_mode"]].append(row)
    for (mode, memory), own in by_mode.items():
        means = {name: sum(row[name] for row in own) / len(own) for name in _SHOWN}
        print(f"{mode:13} {memory:10} " + "  ".join(f"{name} {value:.3f}" for name, value in means.items()))


if __name__ == "__main__":
    main()
