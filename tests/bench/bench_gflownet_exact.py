"""How near training comes to the exact distribution on small graphs whose paths can all be listed.

`python -m tests.bench.bench_gflownet_exact` writes results/gflownet_exact.csv (each policy on its own samples alone)
and gflownet_exact_replay.csv (the default policy by each kind of `gt_replay`: `likelihood` at the spec's weight 1, the
others at 16; P_B is exact).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch

from engine.config.gflownet import EstimatorSection, GFlowNetSection, PolicySection
from engine.files import csv_text, write_atomic
from engine.gflownet.evaluation.distance import total_variation
from engine.gflownet.evaluation.questions import ListedPaths
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.replay import Replay, drawn_paths, shortest_paths
from tests.engine.gflownet.sampler.test_exactness import KINDS
from tests.engine.gflownet.sampler.test_on_policy import trained
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, small_batch

RESULTS = Path(__file__).parent / "results"
UPDATES, ROLLOUTS = 800, 8
Kind = Literal["reward", "balance", "likelihood"]


def replays(
    kind: Kind, module: GFlowNetModule, batch: GraphBatch, rng: np.random.Generator
) -> Iterator[Replay]:
    """Paths of every graph, again and again, as the training draws them."""
    listed = []
    for graph in SMALL_GRAPHS:
        alone = small_batch([graph])
        walks = enumerate_walks(module.env, alone, 0)
        worth = module.reward(alone, walks, alone.question_emb).reward
        listed.append(ListedPaths(walks.edges, (worth / worth.sum()).cumsum(0).numpy()))
    while True:
        if kind == "reward":
            each = [
                drawn_paths(batch, place, own.drawn(rng.random(ROLLOUTS))) for place, own in enumerate(listed)
            ]
            yield Replay.join(each)
        else:
            yield shortest_paths(batch, range(batch.size), kind == "likelihood")


def replayed(kind: Kind) -> list[dict[str, float | str]]:
    """Train on all graphs together; each one's distance from R / sum R."""
    torch.manual_seed(0)
    section = GFlowNetSection(
        policy=PolicySection(hidden=32),
        estimator=EstimatorSection(log_pb_mode="exact"),
        gt_loss_weight=1.0 if kind == "likelihood" else 16.0,
    )
    module = GFlowNetModule(WIDTH, section).double()
    batch = small_batch(SMALL_GRAPHS)
    optimizer = torch.optim.Adam(module.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, UPDATES, eta_min=1e-5)
    replay = replays(kind, module, batch, np.random.default_rng(0))
    for update in range(UPDATES):
        seeds = torch.arange(batch.size * ROLLOUTS) + update * batch.size * ROLLOUTS
        optimizer.zero_grad()
        module.losses(batch, seeds, Sampling(random_action_prob=0.1), next(replay)).total.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        found = total_variation(module.actor, module.reward, batch, module.embedder(batch), Sampling())
    return [
        {"gt_replay": kind, "graph": graph.name, "total_variation": round(distance, 6)}
        for graph, distance in zip(SMALL_GRAPHS, found.tolist(), strict=True)
    ]


def main() -> None:
    tables = {
        "gflownet_exact_replay": [row for kind in get_args(Kind) for row in replayed(kind)],
        "gflownet_exact": [{"policy": kind, **asdict(found)} for kind in KINDS for found in trained(kind)],
    }
    for name, rows in tables.items():
        write_atomic(RESULTS / f"{name}.csv", csv_text(rows))
        print((RESULTS / f"{name}.csv").read_text())


if __name__ == "__main__":
    main()
