"""The stage `agent-graphs`: g_retrieval and its scores to g_agent (spec GFlowNet 0.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from engine.events import AgentGraphsBuilt
from engine.gflownet import layout
from engine.gflownet.agent_graphs.builder import Dropped, GAgentBuilder
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.agent_graphs.store import load_samples, save_samples
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.dropped import read_dropped, write_dropped
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.retriever.retriever_stage import read_scores
from engine.run.stage import StageContext, StageResult
from engine.torch_file import torch_threads

GRAPHS_AT_ONCE = 50
"""Between two reports of progress."""


class BuildAgentGraphs:
    """One packed file a split; a split that is written is not built again."""

    def run(self, context: StageContext) -> StageResult:
        with torch_threads(1), RetrievalStore(layout.retrieval_store(context.run_dir)) as store:
            return _AgentGraphsJob(context, store).run()


class _AgentGraphsJob:
    def __init__(self, context: StageContext, store: RetrievalStore) -> None:
        self.context = context
        self.section = context.config.agent_graphs
        self.builder = GAgentBuilder(self.section)
        self.data = {split: GRetrievalDataset(store, split) for split in layout.SPLITS}
        self.total = sum(map(len, self.data.values()))
        self.done = 0

    def run(self) -> StageResult:
        context = self.context
        context.start(self.total, unit="questions")
        summary: dict[str, float | int | str] = {}
        for split, graphs in self.data.items():
            samples = self._split(split)
            summary[split] = len(samples)
            summary[f"{split}_dropped"] = len(graphs) - len(samples)
        paths = [layout.agent_graphs(context.run_dir, split) for split in layout.SPLITS]
        paths.append(layout.dropped_samples(context.run_dir))
        return StageResult(summary, [str(path.relative_to(context.run_dir)) for path in paths])

    def _split(self, split: str) -> list[GAgentSample]:
        run_dir = self.context.run_dir
        path = layout.agent_graphs(run_dir, split)
        dropped = read_dropped(run_dir, "agent-graphs", split)
        if path.is_file() and dropped is not None:
            samples = load_samples(path)
            self._progress(len(self.data[split]), split)
        else:
            samples, dropped = self._built(split)
            write_dropped(run_dir, "agent-graphs", split, dropped)
            save_samples(path, samples)
        self.context.emit(_described(split, samples, dropped))
        return samples

    def _built(self, split: str) -> tuple[list[GAgentSample], Counter[str]]:
        graphs, scores = self.data[split], read_scores(self.context.run_dir, split)
        samples: list[GAgentSample] = []
        dropped: Counter[str] = Counter()
        # Held-out questions get no ground-truth edges: an answer that selection loses stays lost.
        keep_gt = split == "train"
        for number, score in zip(range(len(graphs)), scores, strict=True):
            self.context.checkpoint()
            result = self.builder.build(graphs[number], score, keep_gt)
            if isinstance(result, Dropped):
                dropped[result.reason] += 1
            else:
                samples.append(result)
            if (number + 1) % GRAPHS_AT_ONCE == 0:
                self._progress(GRAPHS_AT_ONCE, split)
        self._progress(len(graphs) % GRAPHS_AT_ONCE, split)
        return samples, dropped

    def _progress(self, count: int, split: str) -> None:
        self.done += count
        self.context.progress(self.done, self.total, note=split)


def _described(split: str, samples: list[GAgentSample], dropped: Mapping[str, int]) -> AgentGraphsBuilt:
    count = max(1, len(samples))
    return AgentGraphsBuilt(
        split=split,
        samples=len(samples),
        dropped=dict(dropped),
        edges_mean=sum(sample.edge_head_locals.shape[0] for sample in samples) / count,
        nodes_mean=sum(sample.node_entity_ids.shape[0] for sample in samples) / count,
    )
