"""The stage `agent-graphs`: g_retrieval and its scores to g_agent (spec GFlowNet 0.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch

from engine.errors import DataError
from engine.events import AgentGraphsBuilt
from engine.gflownet import layout
from engine.gflownet.agent_builder import Dropped, GAgentBuilder
from engine.gflownet.agent_store import load_samples, save_samples
from engine.gflownet.dropped import read_dropped, write_dropped
from engine.gflownet.retrieval_dataset import GRetrievalDataset
from engine.gflownet.retrieval_store import RetrievalStore
from engine.gflownet.retriever_stage import read_scores
from engine.gflownet.samples import GAgentSample
from engine.stage import StageContext, StageResult
from engine.torch_file import torch_threads


class BuildAgentGraphs:
    """One packed file a split; a split that is written is not built again."""

    name = "agent-graphs"

    def run(self, context: StageContext) -> StageResult:
        with torch_threads(1), RetrievalStore(layout.retrieval_store(context.run_dir)) as store:
            data = {split: GRetrievalDataset(store, split) for split in layout.SPLITS}
            total = sum(map(len, data.values()))
            context.start(total, unit="questions")
            done, summary = 0, dict[str, float | int | str]()
            for split, graphs in data.items():
                samples = _split(context, split, graphs, done, total)
                done += len(graphs)
                summary[split] = len(samples)
                summary[f"{split}_dropped"] = len(graphs) - len(samples)
        paths = [layout.agent_graphs(context.run_dir, split) for split in layout.SPLITS]
        paths.append(layout.dropped_samples(context.run_dir))
        return StageResult(summary, [str(path.relative_to(context.run_dir)) for path in paths])


def _split(
    context: StageContext, split: str, graphs: GRetrievalDataset, done: int, total: int
) -> list[GAgentSample]:
    path = layout.agent_graphs(context.run_dir, split)
    if path.is_file():
        samples = load_samples(path)
        dropped = read_dropped(context.run_dir, "agent-graphs", split)
    else:
        samples, dropped = _built(context, split, graphs, done, total)
        write_dropped(context.run_dir, "agent-graphs", split, dropped)
        save_samples(path, samples)
    context.progress(done + len(graphs), total, note=split)
    context.emit(_described(split, samples, dropped))
    return samples


def _built(
    context: StageContext, split: str, graphs: GRetrievalDataset, done: int, total: int
) -> tuple[list[GAgentSample], Counter[str]]:
    section = context.config.agent_graphs
    builder, scores = GAgentBuilder(section), read_scores(context.run_dir, split)
    # A held-out question is never helped to keep its answer: what selection loses there, is lost.
    keep_gt = section.force_include_gt and split == "train"
    samples: list[GAgentSample] = []
    dropped: Counter[str] = Counter()
    if len(scores) != len(graphs):
        raise _unfit(context, split, f"{len(graphs)} {split} graphs, but scores of {len(scores)}")
    for number in range(len(graphs)):
        context.checkpoint()
        graph, score = graphs[number], scores[number]
        if score.shape != graph.labels.shape or not _probabilities(score):
            edges = graph.labels.shape[0]
            what = f"sample {graph.sample_id}: no scores in (0, 1] for its {edges} edges"
            raise _unfit(context, split, what)
        built = builder.build(graph, score, keep_gt)
        if isinstance(built, Dropped):
            dropped[built.reason] += 1
        else:
            samples.append(built)
        if number % 50 == 49:
            context.progress(done + number + 1, total, note=split)
    return samples, dropped


def _probabilities(scores: torch.Tensor) -> bool:
    return bool(((scores > 0) & (scores <= 1)).all())


def _unfit(context: StageContext, split: str, what: str) -> DataError:
    return DataError(
        what=what,
        where=str(layout.edge_scores(context.run_dir, split)),
        mend="remove the scores and run the stage retriever again",
    )


def _described(split: str, samples: list[GAgentSample], dropped: Mapping[str, int]) -> AgentGraphsBuilt:
    count = max(1, len(samples))
    return AgentGraphsBuilt(
        split=split,
        samples=len(samples),
        dropped=dict(dropped),
        edges_mean=sum(sample.edge_head_locals.shape[0] for sample in samples) / count,
        nodes_mean=sum(sample.node_entity_ids.shape[0] for sample in samples) / count,
        gt_kept=sum(sample.gt_path_exists for sample in samples),
    )
