"""Runs a generated processor where it will have to run: in a clean process without this repository.

A processor that raises takes its server down, so nothing is sent before it has passed.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError

SECONDS = 300.0
"""Importing torch takes seconds, on a busy machine many."""

_PROBE = '''
import base64, gc, importlib.util, json, pickle, sys

gc.disable()  # collection takes a quarter of the time, and everything fits into memory

class Blocked:
    """The repository, installed or not, is out of reach."""
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("app", "engine", "screens"):
            raise ModuleNotFoundError("the processor must not need " + name, name=name)

sys.meta_path.insert(0, Blocked())
spec = importlib.util.spec_from_file_location("generated_processor", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import torch

width = int(sys.argv[2])
served = pickle.loads(bytes.fromhex(json.loads(module.ClusterDeltaProcessor.to_str())["callable"]))
runs = {
    "SGLang": lambda logits: module.ClusterDeltaProcessor()(logits, [None] * len(logits)),
    "SGLang, decoded": lambda logits: served()(logits, [None] * len(logits)),
    "transformers": lambda logits: module.ClusterDeltaLogitsProcessor()([[]] * len(logits), logits),
}
zeros = torch.zeros(1, width)
added = runs["SGLang"](zeros)[0]
some = torch.randn(3, width, generator=torch.Generator().manual_seed(0))
faults = []
if len(module.CLUSTER_IDS) != width:
    faults.append(f"it has {len(module.CLUSTER_IDS)} cluster ids for {width} rows of logits")
for name, run in runs.items():
    before = some.clone()
    changed = run(some)
    if changed.shape != some.shape or not torch.equal(changed, before + added) or not torch.equal(some, before):
        faults.append(f"{name}: it does something else to other logits")
    run(some.to(torch.bfloat16)), run(torch.zeros(0, width))
if not torch.isfinite(added).all():
    faults.append("it adds numbers that are not finite")
row = base64.b64encode(added.float().numpy().tobytes()).decode()
print("\\n" + json.dumps({"faults": faults, "added": row}))
gc.freeze()
'''


def check_processor(
    path: Path, vocab_size: int, expected: NDArray[np.float32] | None = None, seconds: float = SECONDS
) -> NDArray[np.float32]:
    """What the processor in `path` adds to each of `vocab_size` logits, float32 (vocab_size,), after it ran in
    a clean process as SGLang and as transformers would run it, also decoded from SGLang's string.

    Raises DataError: it does not run, has another length, adds what is not finite, changes different logits
    differently, or adds something else than `expected`.
    """
    faults, added = _answer(path, vocab_size, seconds)
    if not faults and expected is not None and not np.array_equal(added, expected):
        wrong = int((added != expected).sum())
        faults.append(f"{wrong} of {vocab_size} tokens do not get the delta of their cluster")
    if faults:
        raise _failed(path, "; ".join(faults))
    return added


def _answer(path: Path, vocab_size: int, seconds: float) -> tuple[list[str], NDArray[np.float32]]:
    """Faults that the clean process reports, and the row that the processor adds."""
    with tempfile.TemporaryDirectory(prefix="processor-check-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _PROBE, str(path.resolve()), str(vocab_size)],
                capture_output=True,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise _failed(path, f"it did not end within {seconds:g} seconds") from error
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        messages = [line for line in done.stderr.splitlines() if line.strip()]
        raise _failed(path, messages[-1] if messages else f"it ended with code {done.returncode}")
    answer = json.loads(lines[-1])
    return list(answer["faults"]), np.frombuffer(base64.b64decode(answer["added"]), dtype=np.float32)


def _environment(folder: str) -> dict[str, str]:
    """Nothing secret, no graphics card, one thread."""
    kept = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ
    }
    return kept | {"HOME": folder, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


def _failed(path: Path, why: str) -> DataError:
    return DataError(
        what=f"this processor is not fit for use: {why}",
        where=str(path),
        hint="generate it again from its deltas and the clusters of this model",
    )
