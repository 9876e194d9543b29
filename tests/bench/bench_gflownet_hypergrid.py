"""Trajectory balance on torchgfn's HyperGrid: seconds to the same total variation, there and here, in one process.

    python -m tests.bench.bench_gflownet_hypergrid [height]

Needs `torchgfn` (pip install torchgfn), which the project itself does not use. The grid can be expressed here: cells
are nodes, increments are edges, the backward policy is uniform over a cell's parents, and the policy sees the current
cell alone, as it does there. Both train an MLP of the same size on one-hot coordinates, on their own samples, 16 a
step, with the same learning rates; both are stopped at the same total variation between the exact distribution of
their last cell and the true one. Looking costs no time. Writes results/gflownet_hypergrid.csv.
"""

from __future__ import annotations

import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from engine.files import csv_text, write_atomic
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Frontier, GraphEnv
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.trajectory_balance import residual
from tests.engine.gflownet.small_graphs import made_batch

RESULTS = Path(__file__).parent / "results" / "gflownet_hypergrid.csv"
DIMENSIONS, BATCH, RATE, RATE_LOG_Z, GOAL, LOOK, MOST = 2, 16, 1e-3, 1e-1, 0.05, 50, 6000


def one_hot(height: int) -> torch.Tensor:
    """[height ** 2, 2 * height]: coordinates of every cell."""
    cells = torch.cartesian_prod(torch.arange(height), torch.arange(height))
    return nn.functional.one_hot(cells, height).flatten(1).float()


class ToFloat(nn.Module):
    """One-hot coordinates come as integers there."""

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        return cells.float()


def make_mlp(height: int) -> nn.Sequential:
    """Coordinates to logits of the two increments and STOP."""
    return nn.Sequential(
        ToFloat(),
        nn.Linear(2 * height, 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Linear(256, DIMENSIONS + 1),
    )


def last_cells(logits: torch.Tensor, height: int) -> torch.Tensor:
    """Exact distribution of the last cell under a policy's logits [cells, 3], cell by cell."""
    reach = torch.zeros(height, height)
    reach[0, 0] = 1.0
    found = torch.zeros(height, height)
    for x in range(height):
        for y in range(height):
            own = logits[x * height + y].clone()
            own[0] = -torch.inf if x == height - 1 else own[0]
            own[1] = -torch.inf if y == height - 1 else own[1]
            p = own.softmax(0) * reach[x, y]
            found[x, y] = p[2]
            if x < height - 1:
                reach[x + 1, y] += p[0]
            if y < height - 1:
                reach[x, y + 1] += p[1]
    return found.flatten()


class CellPolicy(nn.Module):
    """Our side: sees the current cell alone."""

    look_ahead = 0

    def __init__(self, height: int) -> None:
        super().__init__()
        self.mlp = make_mlp(height)
        self.cells = one_hot(height)

    def prepare(self, batch: GraphBatch, tokens: Tokens) -> torch.Tensor:
        self.tails = batch.tails
        return batch.edge_relation

    def begin(self, tokens: Tokens, graph: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(graph)

    def logits(
        self, keys: torch.Tensor, memory: torch.Tensor, frontier: Frontier, step: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        out = self.mlp(self.cells[memory])
        return out[frontier.owner, keys[frontier.edge]], out[:, DIMENSIONS]

    def advance(self, keys: torch.Tensor, memory: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        return self.tails[edge]


def grid(height: int) -> GraphBatch:
    """The grid as one graph: relation 0 counts the first coordinate up, 1 the second."""
    edges = [
        (x * height + y, (x + 1 - r) * height + y + r, r)
        for x in range(height)
        for y in range(height)
        for r in (0, 1)
        if (x, y)[r] < height - 1
    ]
    heads, tails, relation = (torch.tensor(column) for column in zip(*edges, strict=True))
    return made_batch(
        question_emb=torch.zeros(1, 1), node_emb=torch.zeros(height**2, 1), relation_emb=torch.zeros(2, 1),
        node_graph=torch.zeros(height**2, dtype=torch.long), edge_index=torch.stack([heads, tails]),
        edge_relation=relation, edge_scores=torch.ones(len(edges)), edge_labels=torch.zeros(len(edges)),
        starts=torch.tensor([0]), answers=torch.tensor([0]), gt_path_edges=torch.empty(0, dtype=torch.long),
    )  # fmt: skip


def until_goal(step: Callable[[int], None], distance: Callable[[], float]) -> tuple[float, int, float]:
    """Seconds of stepping, steps, and the total variation reached."""
    spent = 0.0
    for number in range(MOST):
        began = time.perf_counter()
        step(number)
        spent += time.perf_counter() - began
        if number % LOOK == LOOK - 1 and (found := distance()) < GOAL:
            return spent, number + 1, found
    return spent, MOST, distance()


def ours(height: int, log_reward: torch.Tensor, true: torch.Tensor) -> tuple[float, int, float]:
    batch, policy = grid(height), CellPolicy(height)
    actor = GFlowNetActor(GraphEnv(DIMENSIONS * (height - 1)), policy)
    log_z = nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam(
        [{"params": policy.parameters()}, {"params": [log_z], "lr": RATE_LOG_Z}], lr=RATE
    )
    nothing = torch.zeros(1, 1)
    tokens, rows = Tokens(nothing, nothing, nothing, nothing), torch.zeros(BATCH, dtype=torch.long)
    log_parents = batch.in_degree.clamp(min=1).float().log()

    def step(number: int) -> None:
        sample = actor.rollout(batch, tokens, rows, torch.arange(BATCH) + number * BATCH, Sampling())
        walked = sample.walks.edges >= 0
        log_pb = -(log_parents[batch.tails[sample.walks.edges.clamp(min=0)]] * walked).sum(1)
        last = sample.walks.nodes.gather(1, sample.walks.length[:, None])[:, 0].clamp(min=0)
        loss = (residual(log_z, sample.log_pf, log_pb, log_reward[last]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def distance() -> float:
        with torch.no_grad():
            return float((last_cells(policy.mlp(policy.cells), height) - true).abs().sum() / 2)

    return until_goal(step, distance)


def theirs(height: int, env: Any, true: torch.Tensor) -> tuple[float, int, float]:
    from gfn.estimators import DiscretePolicyEstimator  # type: ignore[import-not-found]
    from gfn.gflownet import TBGFlowNet  # type: ignore[import-not-found]
    from gfn.preprocessors import KHotPreprocessor  # type: ignore[import-not-found]
    from gfn.utils.modules import DiscreteUniform  # type: ignore[import-not-found]

    mlp = make_mlp(height)
    khot = KHotPreprocessor(height=height, ndim=DIMENSIONS)
    pf = DiscretePolicyEstimator(module=mlp, n_actions=env.n_actions, preprocessor=khot)
    pb = DiscretePolicyEstimator(
        module=DiscreteUniform(env.n_actions - 1),
        n_actions=env.n_actions,
        is_backward=True,
        preprocessor=khot,
    )
    flow = TBGFlowNet(pf=pf, pb=pb)
    optimizer = torch.optim.Adam(
        [{"params": mlp.parameters()}, {"params": flow.logz_parameters(), "lr": RATE_LOG_Z}], lr=RATE
    )

    def step(number: int) -> None:
        trajectories = flow.sample_trajectories(env, n=BATCH, save_logprobs=True)
        loss = flow.loss(env, trajectories, recalculate_all_logprobs=False)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def distance() -> float:
        with torch.no_grad():
            return float((last_cells(mlp(one_hot(height)), height) - true).abs().sum() / 2)

    return until_goal(step, distance)


def main(height: int) -> None:
    # torchgfn imports a transformer that none of this uses.
    missing = types.ModuleType("linear_attention_transformer")
    missing.LinearAttentionTransformer = object  # type: ignore[attr-defined]
    sys.modules.setdefault("linear_attention_transformer", missing)
    from gfn.gym import HyperGrid  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    env = HyperGrid(ndim=DIMENSIONS, height=height)
    cells = torch.cartesian_prod(torch.arange(height), torch.arange(height))
    reward = env.reward(env.states_from_tensor(cells)).float()
    true, log_reward = reward / reward.sum(), reward.log()
    rows = []
    for seed in range(3):
        for name in ("torchgfn", "here"):
            torch.manual_seed(seed)
            found = theirs(height, env, true) if name == "torchgfn" else ours(height, log_reward, true)
            row = {"seed": seed, "library": name, "seconds": round(found[0], 2), "steps": found[1]}
            row |= {"ms_a_step": round(1e3 * found[0] / found[1], 2), "total_variation": round(found[2], 4)}
            rows.append(row)
            print(rows[-1], flush=True)
    write_atomic(RESULTS, csv_text(rows))
    by = {n: [r["seconds"] for r in rows if r["library"] == n] for n in ("torchgfn", "here")}
    print(
        f"median seconds: torchgfn {statistics.median(by['torchgfn'])}, here {statistics.median(by['here'])}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
