"""Memory notes on the model that comes along: every mode, both kinds of memory, several seeds of dialogues.

    python -m tests.bench.bench_slsm [seeds] [dialogues]

Writes results/slsm.csv, a line a mode and seed, and prints the means; results/slsm_distance.csv, what passes without a
note and with one by the number of exchanges since it was said.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from engine.config.file import load_config
from engine.events import ConversationAnswered, ModeScored, without_envelope
from engine.files import csv_text
from engine.lm.load import load_model
from engine.slsm.slsm_stage import RunSLSM
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

_SHOWN = ("score", "injections", "injected_tokens", "model_calls", "model_tokens", "fixed", "wasted", "broke")
Passed = dict[tuple[int, str, str], list[bool]]
"""By exchanges in between, mode and memory mode."""
RESULTS = Path(__file__).resolve().parent / "results" / "slsm.csv"


def compare(seed: int, dialogues: int, passed: Passed) -> list[dict[str, Any]]:
    """The rows of one seed; what passed goes into `passed`."""
    config = load_config(DEMO, [f"run.seed={seed}", f"slsm.data.conversations={dialogues}"])
    model = load_model(config.slsm_model)
    between = {dialogue.id: dialogue.between for dialogue in generate_dialogues(dialogues, seed)}
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        events = run_stage(RunSLSM(), config, Path(folder), model)
        print(f"seed {seed}: {time.monotonic() - began:.0f} s", flush=True)
    for event in events:
        if isinstance(event, ConversationAnswered) and event.mode in ("baseline", "always"):
            passed[between[event.conversation_id], event.mode, event.memory_mode].append(bool(event.passed))
    return [{"seed": seed} | _figures(event) for event in events if isinstance(event, ModeScored)]


def _figures(row: ModeScored) -> dict[str, Any]:
    plain = without_envelope(row)
    axes = {str(axis): share for axis, share, *_ in plain.pop("by_axis")}
    return plain | axes


def main() -> None:
    """All seeds."""
    given = [int(text) for text in sys.argv[1:]]
    seeds, dialogues = given + [3, 240][len(given) :]
    passed: Passed = defaultdict(list)
    rows = [row for seed in range(seeds) for row in compare(seed, dialogues, passed)]
    RESULTS.write_text(csv_text(rows))
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
