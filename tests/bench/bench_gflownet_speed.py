"""Trajectories per second of the sampler, against a dense masked one and over the size of the graph.

`python -m tests.bench.bench_gflownet_speed` writes results/gflownet_speed.csv. The dense one scores every edge of a
trajectory's graph at every step and masks what is not legal; network, weights and draws are the same, and so are the
trajectories (checked). Sampling includes the tokens of all edges. What walks can reach is found once a question and
run (`walkable_ms`), not once a step. Times are medians of alternating repeats in one process, one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from engine.config.gflownet import GFlowNetSection, PolicySection
from engine.files import csv_text, write_atomic
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import Frontier, GraphEnv, GraphState
from engine.gflownet.sampler.graph_batch import GraphBatch, flat_batch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.walkable import walkable

RESULTS = Path(__file__).parent / "results" / "gflownet_speed.csv"
QUESTIONS, ROLLOUTS, WIDTH = 8, 20, 64
SIZES = (500, 1500, 4500, 15_000, 50_000)
DENSE_UP_TO = 4500
REPEATS, IN_A_ROW = 5, 4


class DenseEnv(GraphEnv):
    """Offers every edge of the graph at every step, legal or not."""

    def frontier(self, batch: GraphBatch, state: GraphState) -> Frontier:
        graph = state.walks.graph[state.live]
        counts = torch.bincount(batch.edge_graph, minlength=batch.size)
        first = counts.cumsum(0) - counts
        owner = torch.repeat_interleave(counts[graph])
        before = counts[graph].cumsum(0) - counts[graph]
        edge = torch.arange(owner.shape[0]) + (first[graph] - before)[owner]
        return Frontier(owner, edge)

    def mask(self, batch: GraphBatch, state: GraphState, frontier: Frontier) -> torch.Tensor:
        """[F]: legal ones."""
        row = state.live[frontier.owner]
        head, tail = batch.heads[frontier.edge], batch.tails[frontier.edge]
        if state.step == 0:
            is_start = torch.zeros(batch.node_graph.shape[0], dtype=torch.bool)
            is_start[batch.starts] = True
            return is_start[head] & (head != tail)
        here = head == state.walks.nodes[row, state.step]
        return here & (state.walks.nodes[row, : state.step + 1] != tail[:, None]).all(1)


class DensePolicy(torch.nn.Module):
    """The policy's own logits on all edges, minus infinity on illegal ones."""

    look_ahead = 0

    def __init__(self, module: GFlowNetModule, env: DenseEnv, batch: GraphBatch) -> None:
        super().__init__()
        self.inner, self.env, self.batch = module.policy, env, batch
        self.prepare, self.begin, self.advance = self.inner.prepare, self.inner.begin, self.inner.advance

    state: GraphState

    def logits(self, keys, memory, frontier, step):
        edge, stop = self.inner.logits(keys, memory, frontier, step)
        return edge.masked_fill(~self.env.mask(self.batch, self.state, frontier), -1e9), stop


def graphs(edges: int) -> GraphBatch:
    """Random graphs with `edges` edges each: three edges a node, tails drawn so that some nodes are hubs."""
    generator = torch.Generator().manual_seed(edges)
    nodes = edges // 3
    heads = torch.randint(nodes, (QUESTIONS, edges), generator=generator)
    tails = (nodes * torch.rand(QUESTIONS, edges, generator=generator) ** 2.5).long()
    offset = (torch.arange(QUESTIONS) * nodes)[:, None]
    starts = torch.randint(nodes, (QUESTIONS, 2), generator=generator)
    answers = torch.randint(nodes, (QUESTIONS, 3), generator=generator)
    return flat_batch(
        question_emb=torch.randn(QUESTIONS, WIDTH, generator=generator),
        node_emb=torch.randn(QUESTIONS * nodes, WIDTH, generator=generator),
        relation_emb=torch.randn(50, WIDTH, generator=generator),
        node_graph=torch.arange(QUESTIONS).repeat_interleave(nodes),
        edge_index=torch.stack([(heads + offset).flatten(), (tails + offset).flatten()]),
        edge_relation=torch.randint(50, (QUESTIONS * edges,), generator=generator),
        edge_scores=torch.rand(QUESTIONS * edges, generator=generator).clamp(min=1e-3),
        edge_labels=torch.zeros(QUESTIONS * edges),
        starts=(starts + offset).flatten(),
        answers=(answers + offset).flatten(),
        gt_path_edges=torch.empty(0, dtype=torch.long),
    )


def dense(module: GFlowNetModule, batch: GraphBatch) -> GFlowNetModule:
    """The same module, walking densely."""
    twin = GFlowNetModule(WIDTH, module.section)
    twin.load_state_dict(module.state_dict())
    env = DenseEnv(module.env.max_steps)
    policy = DensePolicy(twin, env, batch)
    inner = env.frontier

    def remembering(batch: GraphBatch, state: GraphState) -> Frontier:
        policy.state = state
        return inner(batch, state)

    env.frontier = remembering
    twin.env = twin.actor.env = env
    twin.actor.policy = policy
    return twin


def seconds(work: Callable[[], object]) -> float:
    """Of one call, over some in a row: in use, too, the next step follows the last."""
    began = time.perf_counter()
    for _ in range(IN_A_ROW):
        work()
    return (time.perf_counter() - began) / IN_A_ROW


def measure(module: GFlowNetModule, edges: int) -> dict[str, float | int | str]:
    """One size: medians in milliseconds, and ratios of the dense sampler to ours."""
    batch, sampling = graphs(edges), Sampling(prior_alpha=0.5)
    seeds = torch.arange(QUESTIONS * ROLLOUTS)
    part = walkable(batch, module.env.max_steps)
    works: dict[str, Callable[[], object]] = {
        "walkable": lambda: walkable(batch, module.env.max_steps),
        "sample": lambda: sample(module, part, seeds, sampling),
        "learn": lambda: learn(module, part, seeds, sampling),
    }
    if edges <= DENSE_UP_TO:
        twin = dense(module, batch)
        check(module, part, twin, batch, seeds, sampling)
        works["dense_sample"] = lambda: sample(twin, batch, seeds, sampling)
        works["dense_learn"] = lambda: learn(twin, batch, seeds, sampling)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS + 1):
        for name, work in works.items():
            times[name].append(seconds(work))
    median = {name: statistics.median(values[1:]) for name, values in times.items()}
    count = seeds.shape[0]
    row: dict[str, float | int | str] = {"edges": edges, "walkable_edges": part.heads.shape[0] // QUESTIONS}
    row |= {f"{name}_ms": round(1e3 * median[name], 2) for name in ("walkable", "sample", "learn")}
    row |= {f"{name}_per_s": round(count / median[name]) for name in ("sample", "learn")}
    for name in ("sample", "learn"):
        ratio = median[f"dense_{name}"] / median[name] if f"dense_{name}" in median else None
        row[f"dense_{name}_ratio"] = "" if ratio is None else round(ratio, 1)
    return row


def sample(module: GFlowNetModule, batch: GraphBatch, seeds: torch.Tensor, sampling: Sampling) -> None:
    """Tokens and roll-outs."""
    with torch.no_grad():
        module.sample(batch, module.embedder(batch), seeds, sampling)


def check(
    module: GFlowNetModule, part: GraphBatch, twin: GFlowNetModule, batch: GraphBatch, seeds, sampling
) -> None:
    """Both walk the same walks at the same probabilities."""
    with torch.no_grad():
        mine = module.sample(part, module.embedder(part), seeds, sampling)[0]
        theirs = twin.sample(batch, twin.embedder(batch), seeds, sampling)[0]
    local = [
        torch.where(w.edges < 0, -1, b.edge_local[w.edges])
        for w, b in ((mine.walks, part), (theirs.walks, batch))
    ]
    assert torch.equal(*local), "dense and sparse walk differently"
    torch.testing.assert_close(mine.log_pf, theirs.log_pf, rtol=1e-4, atol=1e-4)


def learn(module: GFlowNetModule, batch: GraphBatch, seeds: torch.Tensor, sampling: Sampling) -> None:
    """Forward and backward of the loss."""
    module.zero_grad()
    module.losses(batch, seeds, sampling).total.backward()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = GFlowNetModule(WIDTH, GFlowNetSection(policy=PolicySection(kind="edge_mlp_mixer")))
    rows = []
    for edges in SIZES:
        rows.append(measure(module, edges))
        print(rows[-1], flush=True)
    write_atomic(RESULTS, csv_text(rows))


if __name__ == "__main__":
    main()
