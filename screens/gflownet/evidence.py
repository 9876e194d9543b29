"""The tab Data: graphs kept and left out, the retriever's recall, the agent graphs."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.figures import fixed
from app.state.gflownet import GFlowNetState
from app.state.run import RunState
from app.text import counted
from screens.panes.page import PagePane
from screens.widgets.bars import bar

_EMPTY = """No graph has been built yet.

The stage graphs turns questions and their triples into graphs; the retriever scores every edge;
agent-graphs keeps the part around the starts and the best-scored edges, where the sampler walks."""


class EvidencePane(PagePane):
    """One page, stage after stage."""

    def draw(self, state: RunState, palette: dict[str, Style]) -> RenderableType:
        gflownet = state.gflownet
        if not gflownet.graphs and not gflownet.epochs and not gflownet.recall:
            return Text(_EMPTY, palette["dim"])
        parts: list[RenderableType] = []
        if gflownet.graphs:
            parts += [Text("retrieval graphs", palette["heading"]), _graphs(gflownet, palette), Text()]
        if gflownet.epochs or gflownet.recall:
            parts += [Text("retriever", palette["heading"]), _retriever(gflownet, palette), Text()]
        if gflownet.agent_graphs:
            parts += [Text("agent graphs", palette["heading"]), _agent_graphs(gflownet, palette)]
        return Group(*parts)


def _table(palette: dict[str, Style], *names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["dim"])
    for number, name in enumerate(names):
        justify = "left" if number == 0 or name == "left out" else "right"
        table.add_column(name, justify=justify, no_wrap=name != "left out")
    return table


def _graphs(state: GFlowNetState, palette: dict[str, Style]) -> RenderableType:
    kept = _table(palette, "split", "questions", "reachable", "hops", "left out")
    shape = _table(palette, "split", "edges", "nodes", "largest in-degree", "signal")
    for split, event in state.graphs.items():
        hops = " ".join(f"{length}:{count}" for length, count in sorted(event.hops.items()))
        triples = {"triples that are not three texts": event.broken_triples} if event.broken_triples else {}
        reasons = _reasons({**event.dropped, **triples}, palette)
        kept.add_row(split, f"{event.samples:,}", f"{event.reachable:,}", hops, reasons)
        sizes = (f"{event.edges_mean:,.0f}", f"{event.nodes_mean:,.0f}", f"{event.in_degree_max:,}")
        shape.add_row(split, *sizes, f"{event.signal_to_noise:.2%}")
    reach = Text(
        "reachable: a path leads to an answer   hops: length of the shortest path to an answer",
        palette["dim"],
    )
    signal = Text("signal: share of edges on a shortest path, median", palette["dim"])
    return Group(kept, reach, Text(), shape, signal)


def _retriever(state: GFlowNetState, palette: dict[str, Style]) -> RenderableType:
    parts: list[RenderableType] = []
    if state.epochs:
        table = _table(palette, "epoch", "loss", *(f"recall@{k}" for k in state.epochs[0].recall), "")
        for event in state.epochs:
            recall = [fixed(value) for value in event.recall.values()]
            best = Text("★ best on validation" if event.best else "", palette["accent"])
            table.add_row(f"{event.epoch}/{event.epochs}", fixed(event.loss), *recall, best)
        parts.append(table)
    for split, event in state.recall.items():
        line = Text(f"{split:<11}")
        for k, value in event.recall.items():
            line.append(f"recall@{k} {fixed(value)} ").append_text(
                bar(value, 8, palette["accent"], palette["dim"])
            )
            line.append("  ")
        if event.missing:
            line.append(f"{counted(event.missing, 'questions')} without scores  ", palette["warn"])
        if event.unscored:
            line.append(
                f"{counted(event.unscored, 'triples')} of the others without a score", palette["warn"]
            )
        parts.append(line)
    return Group(*parts)


def _agent_graphs(state: GFlowNetState, palette: dict[str, Style]) -> RenderableType:
    table = _table(palette, "split", "questions", "edges", "nodes", "left out")
    for split, event in state.agent_graphs.items():
        table.add_row(
            split, f"{event.samples:,}", f"{event.edges_mean:,.0f}", f"{event.nodes_mean:,.0f}",
            _reasons(event.dropped, palette),
        )  # fmt: skip
    return table


def _reasons(dropped: Mapping[str, int], palette: dict[str, Style]) -> Text:
    return Text(", ".join(f"{reason} {count}" for reason, count in dropped.items()), palette["warn"])
