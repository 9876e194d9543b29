"""Training by 1, 2 and 3 processes: are losses and weights the same, and how much faster is it?

    python -m tests.bench.bench_gflownet_ranks

`parts` given: all cut each step alike, and losses and weights must be equal bit by bit (checked); not given: one part a
process, and what differs is rounding, which is reported. Throughput is the median over steps of trajectories a second
as the log has them; numbers of processes are measured in turn, several times over, so that a busy machine is busy for
all. `rank0_cpu` is the CPU time of rank 0 a step against that of one process alone: a half, with two, if all work were
shared; its inverse bounds the gain on a machine with a free core for each. Writes results/gflownet_ranks.csv.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from engine.config.config import Config
from engine.config.file import dump_config
from engine.events import SamplerStep
from engine.files import csv_text, write_atomic
from engine.gflownet import layout
from engine.gflownet.training.gflownet_stage import TrainGFlowNet
from engine.run.gate import StopRequested
from engine.run.registry import resolve_stage
from engine.run.stage import StageContext
from tests.run_stage import run_stage

RESULTS = Path(__file__).parent / "results" / "gflownet_ranks.csv"
WARM = 5
REPEATS = {6: 1, None: 3}
"""By parts: how often each number of processes trains."""
PROCESSES = (1, 2, 3)
GRAPHS: dict[str, Any] = {
    "graphs": {"nodes": 3000, "edges": 1000, "train_size": 300, "test_size": 20, "embedder": "hashed"},
    "retriever": {"epochs": 2},
    "agent_graphs": {"anchor_top_k": 200, "hops": 3},
}
LEARNING: dict[str, Any] = {"gt_replay": "likelihood", "gt_replay_ratio": 0.25, "gt_loss_weight": 1.0}
FRONTIER = {"kind": "edge_frontier", "hidden": 64}
SIZES: dict[str, dict[str, Any]] = {
    "small": {"steps": 200, "batch_size": 16, "num_train_rollouts": 4, "policy": FRONTIER},
    "large": {"steps": 40, "batch_size": 64, "num_train_rollouts": 16, "policy": FRONTIER | {"hidden": 128}},
}


@dataclass(frozen=True)
class Trained:
    """A training's log, rank 0's CPU seconds at the end of each step, and the weights."""

    steps: list[SamplerStep]
    clock: list[float]
    weights: dict[str, torch.Tensor]

    @property
    def cpu(self) -> float:
        """Seconds a step."""
        return statistics.median(late - early for early, late in pairwise(self.clock[WARM:]))

    @property
    def speed(self) -> float:
        """Trajectories a second."""
        return statistics.median(step.trajectories_per_second for step in self.steps[WARM:])


def train(data: Path, folder: Path, config: Config) -> Trained:
    """One training, without what is measured behind it."""
    (folder / "gflownet").mkdir(parents=True)
    for path in (data / "gflownet").iterdir():
        (folder / "gflownet" / path.name).symlink_to(path)
    (folder / "config.yaml").write_text(dump_config(config))
    steps: list[SamplerStep] = []
    clock: list[float] = []

    def emit(event: object) -> None:
        if isinstance(event, SamplerStep):
            steps.append(event)
            clock.append(time.process_time())

    def checkpoint() -> None:
        if len(steps) == config.gflownet.steps:
            raise StopRequested

    try:
        TrainGFlowNet().run(StageContext("gflownet", config, folder, emit, checkpoint, None))  # type: ignore[arg-type]
    except StopRequested:
        pass
    return Trained(steps, clock, torch.load(layout.checkpoint(folder), weights_only=True)["module"])


def measure(data: Path, scratch: Path, size: str, parts: int | None) -> list[dict[str, object]]:
    """A row for each number of processes."""
    runs: dict[int, list[Trained]] = {processes: [] for processes in PROCESSES}
    for repeat in range(REPEATS[parts]):
        for processes in PROCESSES:
            section = SIZES[size] | {"processes": processes, "parts": parts, "log_every": 1}
            config = Config.model_validate({**GRAPHS, "gflownet": section | LEARNING | {"eval_every": 1000}})
            runs[processes].append(train(data, scratch / f"{size}-{parts}-{processes}-{repeat}", config))
    speed, cpu = (
        {
            processes: statistics.median(getattr(run, name) for run in runs[processes])
            for processes in PROCESSES
        }
        for name in ("speed", "cpu")
    )
    rows = []
    for processes in PROCESSES:
        loss, weight = differences(runs[1][0], runs[processes][0])
        if parts is not None and (loss, weight) != (0.0, 0.0):
            raise AssertionError(f"{processes} processes: loss differs by {loss}, a weight by {weight}")
        rows.append(
            {
                "size": size,
                "trajectories_a_step": SIZES[size]["batch_size"] * SIZES[size]["num_train_rollouts"],
                "parts": parts or "one a process",
                "processes": processes,
                "steps": SIZES[size]["steps"],
                "largest_loss": round(max(step.loss for step in runs[processes][0].steps), 3),
                "largest_loss_difference": loss,
                "largest_weight_difference": weight,
                "trajectories_per_second": round(speed[processes]),
                "against_one": round(speed[processes] / speed[1], 2),
                "rank0_cpu": round(cpu[processes] / cpu[1], 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


def differences(one: Trained, other: Trained) -> tuple[float, float]:
    """Largest over the steps, of the loss; largest over all parameters, of a weight at the end."""
    loss = max(abs(a.loss - b.loss) for a, b in zip(one.steps, other.steps, strict=True))
    weight = max(float((one.weights[name] - other.weights[name]).abs().max()) for name in one.weights)
    return loss, weight


def main() -> None:
    """All sizes, cut alike and not."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        data = scratch / "data"
        for stage in ("graphs", "retriever", "agent-graphs"):
            run_stage(resolve_stage(stage), Config.model_validate(GRAPHS), data)
        rows = [row for size in SIZES for parts in REPEATS for row in measure(data, scratch, size, parts)]
    write_atomic(RESULTS, csv_text(rows))


if __name__ == "__main__":
    sys.exit(main())
