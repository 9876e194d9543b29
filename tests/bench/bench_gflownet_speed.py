"""Trajectories per second of the sampler, against a dense masked one and over the size of the graph; and what PyG's
layers and utilities cost in its networks.

`python -m tests.bench.bench_gflownet_speed [walks|layers]` writes results/gflownet_speed.csv (walks) and
gflownet_layers.csv (layers: each written out by hand, and by PyG, at equal weights and with equal outputs, which is
checked; CPU time, medians of alternating repeats, batches of 16 graphs of 90 edges, like the demo's, up to 4,500, like
WebQSP's). The dense one scores every edge of a
trajectory's graph at every step and masks what is not legal; network, weights and draws are the same, and so are the
trajectories (checked). Sampling includes the tokens of all edges. What walks can reach is found once a question and
run (`walkable_ms`), not once a step. Times are medians of alternating repeats in one process, one thread.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch_geometric.nn import GATv2Conv
from torch_geometric.utils import scatter

from engine.config.gflownet import EstimatorSection, GFlowNetSection, PolicySection
from engine.files import csv_text, write_atomic
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import Frontier, GraphEnv, GraphState
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.policies.edge_gat import EdgeGATPolicy
from engine.gflownet.sampler.segments import log_softmax
from engine.gflownet.sampler.walkable import walkable
from tests.engine.gflownet.small_graphs import made_batch

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


def graphs(edges: int, questions: int = QUESTIONS) -> GraphBatch:
    """Random graphs with `edges` edges each: three edges a node, tails drawn so that some nodes are hubs."""
    generator = torch.Generator().manual_seed(edges)
    nodes = edges // 3
    heads = torch.randint(nodes, (questions, edges), generator=generator)
    tails = (nodes * torch.rand(questions, edges, generator=generator) ** 2.5).long()
    offset = (torch.arange(questions) * nodes)[:, None]
    starts = torch.randint(nodes, (questions, 2), generator=generator)
    answers = torch.randint(nodes, (questions, 3), generator=generator)
    return made_batch(
        question_emb=torch.randn(questions, WIDTH, generator=generator),
        node_emb=torch.randn(questions * nodes, WIDTH, generator=generator),
        relation_emb=torch.randn(50, WIDTH, generator=generator),
        node_graph=torch.arange(questions).repeat_interleave(nodes),
        edge_index=torch.stack([(heads + offset).flatten(), (tails + offset).flatten()]),
        edge_relation=torch.randint(50, (questions * edges,), generator=generator),
        edge_scores=torch.rand(questions * edges, generator=generator).clamp(min=1e-3),
        edge_labels=torch.zeros(questions * edges),
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


def walks() -> None:
    """The sampler over the size of the graph."""
    module = GFlowNetModule(
        WIDTH,
        GFlowNetSection(
            policy=PolicySection(kind="edge_mlp_mixer"), estimator=EstimatorSection(log_pb_mode="exact")
        ),
    )
    rows = []
    for edges in SIZES:
        rows.append(measure(module, edges))
        print(rows[-1], flush=True)
    write_atomic(RESULTS, csv_text(rows))


# ---------------------------------------------------------------- layers

LAYER_SIZES, LAYER_GRAPHS, LAYER_REPEATS, HEADS = (90, 300, 1500, 4500), 16, 23, 4


class ByHand(nn.Module):
    """The attention of `edge_gat` without PyG, with the weights of a layer of it."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.heads, self.attend = layer.heads, layer.attend
        self.node, self.edge, self.norm = layer.node, layer.edge, layer.norm

    def forward(self, batch: GraphBatch, node: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        own, reached = self.node(node).chunk(2, 1)
        message = reached[batch.tails] + self.edge(edge)
        mixed = nn.functional.leaky_relu(own[batch.heads] + message, 0.2)
        weight = (mixed.unflatten(1, (self.heads, -1)) * self.attend).sum(2)
        count = node.shape[0]
        shares = [log_softmax(weight[:, head], batch.heads, count).exp() for head in range(self.heads)]
        heard = message.unflatten(1, (self.heads, -1)) * torch.stack(shares, 1)[:, :, None]
        return self.norm(node + node.new_zeros(node.shape).index_add(0, batch.heads, heard.flatten(1)))


class AsGATv2Conv(nn.Module):
    """The same by GATv2Conv: its sources are the edges, each with the node behind it."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.conv = GATv2Conv((2 * WIDTH, WIDTH), WIDTH // HEADS, heads=HEADS, add_self_loops=False)
        self.norm = layer.norm
        own, reached = layer.node.weight.chunk(2)
        with torch.no_grad():
            self.conv.lin_l.weight.copy_(torch.cat([reached, layer.edge.weight], 1))
            self.conv.lin_r.weight.copy_(own)
            self.conv.lin_r.bias.copy_(layer.node.bias[:WIDTH])
            self.conv.lin_l.bias.copy_(layer.node.bias[WIDTH:])
            self.conv.att.copy_(layer.attend[None])

    def forward(self, batch: GraphBatch, node: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
        sources = torch.stack([torch.arange(edge.shape[0]), batch.heads])
        return self.norm(node + self.conv((torch.cat([node[batch.tails], edge], 1), node), sources))


def log_softmax_by_scatter(logits: torch.Tensor, owner: torch.Tensor, owners: int) -> torch.Tensor:
    """log_softmax of segments.py by PyG's scatter: PyG has a softmax alone."""
    peak = scatter(logits.detach(), owner, dim_size=owners, reduce="max")
    total = scatter((logits - peak[owner]).exp(), owner, dim_size=owners)
    return logits - (peak + total.log())[owner]


def mean_by_hand(values: torch.Tensor, owner: torch.Tensor, owners: int) -> torch.Tensor:
    """scatter(reduce="mean") without PyG, as the distance encoding, the start summary and edge_frontier had it."""
    total = values.new_zeros(owners, values.shape[1]).index_add(0, owner, values)
    return total / torch.bincount(owner, minlength=owners).clamp(min=1)[:, None]


def layer_works(edges: int) -> dict[str, dict[str, Callable[[], torch.Tensor]]]:
    """Each layer and utility, by hand and then by PyG."""
    batch = graphs(edges, LAYER_GRAPHS)
    nodes, count = batch.node_graph.shape[0], batch.heads.shape[0]
    node = torch.randn(nodes, WIDTH, requires_grad=True)
    edge = torch.randn(count, WIDTH, requires_grad=True)
    logits = torch.randn(count, requires_grad=True)
    layer: Any = EdgeGATPolicy(WIDTH, 3, heads=HEADS).layers[0]
    hand, conv = ByHand(layer), AsGATv2Conv(layer)
    return {
        "attention": {
            "by hand": lambda: hand(batch, node, edge),
            "MessagePassing, softmax": lambda: layer(batch, node, edge),
            "GATv2Conv": lambda: conv(batch, node, edge),
        },
        "log_softmax": {
            "by hand": lambda: log_softmax(logits, batch.heads, nodes),
            "scatter": lambda: log_softmax_by_scatter(logits, batch.heads, nodes),
        },
        "mean": {
            "by hand": lambda: mean_by_hand(edge, batch.tails, nodes),
            "scatter": lambda: scatter(edge, batch.tails, dim_size=nodes, reduce="mean"),
        },
    }


def layers() -> None:
    """What PyG's way of each costs against the one by hand."""
    rows: list[dict[str, float | int | str]] = []
    for edges in LAYER_SIZES:
        for part, ways in layer_works(edges).items():
            outputs = [work() for work in ways.values()]
            for output in outputs[1:]:
                torch.testing.assert_close(output, outputs[0], rtol=1e-4, atol=1e-5)
            for what, run in (("forward", without_gradient), ("forward and backward", with_gradient)):
                rows += [{"edges": edges, "graphs": LAYER_GRAPHS, "part": part, "what": what} | row
                         for row in compared(ways, run)]  # fmt: skip
                print(rows[-1], flush=True)
    write_atomic(RESULTS.with_name("gflownet_layers.csv"), csv_text(rows))


def compared(
    ways: dict[str, Callable[[], torch.Tensor]], run: Callable[[Callable[[], torch.Tensor]], None]
) -> list[dict[str, float | int | str]]:
    """Each way but the first against the first: medians in milliseconds of CPU time; median and quartiles of ratios."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(LAYER_REPEATS):
        for way, work in ways.items():
            began = time.process_time()
            run(work)
            times[way].append(time.process_time() - began)
    first, *others = (own[3:] for own in times.values())
    rows: list[dict[str, float | int | str]] = []
    for way, own in zip(list(ways)[1:], others, strict=True):
        quartiles = statistics.quantiles([a / b for a, b in zip(own, first, strict=True)], n=4)
        low, ratio, high = (round(value, 2) for value in quartiles)
        rows.append({
            "by": way, "by_hand_ms": round(1e3 * statistics.median(first), 3),
            "ms": round(1e3 * statistics.median(own), 3), "ratio": ratio, "low": low, "high": high, "n": len(own),
        })  # fmt: skip
    return rows


def without_gradient(work: Callable[[], torch.Tensor]) -> None:
    with torch.no_grad():
        work()


def with_gradient(work: Callable[[], torch.Tensor]) -> None:
    work().square().sum().backward()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for part in (walks, layers):
        if part.__name__ in (sys.argv[1:] or ["walks", "layers"]):
            part()
