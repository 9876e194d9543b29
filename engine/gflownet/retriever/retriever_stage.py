"""The stage `retriever`: a score for every edge of every retrieval graph (spec GFlowNet 0.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import safetensors.torch
import torch

from engine.errors import DataError, reading_errors
from engine.events import RetrieverEpoch, RetrieverMeasured
from engine.files import write_atomic
from engine.gflownet import layout
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.retriever.subgraphrag import UNSCORED, Coverage, GivenScores, GraphScores, coverage
from engine.gflownet.retriever.training import RetrieverTraining, mean_recalls, score_graphs
from engine.regular_file import read_regular
from engine.run.stage import StageContext, StageResult
from engine.torch_file import torch_threads

GRAPHS_AT_ONCE = 16


class TrainRetriever:
    """Trains the scorer, or takes scores made elsewhere; writes those of all splits."""

    def run(self, context: StageContext) -> StageResult:
        """Continues after the last finished epoch."""
        with torch_threads(1), RetrievalStore(layout.retrieval_store(context.run_dir)) as store:
            return _RetrieverJob(context, store).run()


class _RetrieverJob:
    def __init__(self, context: StageContext, store: RetrievalStore) -> None:
        self.context = context
        self.section = context.config.retriever
        self.data = {split: GRetrievalDataset(store, split) for split in layout.SPLITS}
        if not len(self.data["train"]):
            raise DataError(
                what="no training question is left", where="graphs", hint="see gflownet/dropped.json"
            )

    def run(self) -> StageResult:
        if self.section.scores is None:
            measured = self._trained()
        else:
            measured = self._given(Path(self.section.scores).expanduser())
        run_dir = self.context.run_dir
        paths = [layout.edge_scores(run_dir, split) for split in layout.SPLITS]
        if self.section.scores is None:
            paths.append(layout.retriever_checkpoint(run_dir))
        test = measured["test"]
        summary: dict[str, float | int | str] = {
            f"recall@{k}": round(value, 4) for k, value in test.recall.items()
        }
        if self.section.scores is not None:
            summary |= {
                "test_questions_without_scores": test.missing,
                "test_triples_without_score": test.unscored,
            }
        return StageResult(summary, [str(path.relative_to(run_dir)) for path in paths])

    # ------------------------------------------------------------ trained here

    def _trained(self) -> dict[str, RetrieverMeasured]:
        context, section = self.context, self.section
        tables = EmbeddingTables.load(context.run_dir)
        training = RetrieverTraining(
            tables.width, section, context.config.run.seed, layout.retriever_checkpoint(context.run_dir),
            context.seed("weights"),
        )  # fmt: skip
        training.restore()
        context.start(section.epochs, training.epoch, unit="epochs")
        while training.epoch < section.epochs:
            loss = training.run_epoch(self.data["train"], tables, context.checkpoint)
            scores, labels = self._scored("validation", training, tables)
            recall = mean_recalls(scores, labels, section.recall_k)
            # Where no question can distinguish epochs, the last one is kept.
            judged = any(bool(label.any()) for label in labels)
            best = training.best.offer(
                sum(recall.values()) if judged else float(training.epoch), training.epoch
            )
            # Before the checkpoint: a kill in between logs an epoch twice rather than not at all.
            context.emit(
                RetrieverEpoch(
                    epoch=training.epoch, epochs=section.epochs, loss=loss, recall=recall, best=best
                )
            )
            training.save()
            context.progress(training.epoch, section.epochs, note=f"loss {loss:.3f}")
        training.best.use()
        return {
            split: self._write(split, *self._scored(split, training, tables), "trained here", Coverage())
            for split in layout.SPLITS
        }

    def _scored(
        self, split: str, training: RetrieverTraining, tables: EmbeddingTables
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        data, scores = self.data[split], []
        for numbers in self._numbers(split):
            scores += score_graphs(training.model, data, tables, numbers)
        return scores, self._labels(split)

    def _labels(self, split: str) -> list[torch.Tensor]:
        data = self.data[split]
        return [data[number].labels for number in range(len(data))]

    def _numbers(self, split: str) -> Iterator[range]:
        count = len(self.data[split])
        for first in range(0, count, GRAPHS_AT_ONCE):
            self.context.checkpoint()
            yield range(first, min(count, first + GRAPHS_AT_ONCE))

    # ------------------------------------------------------------ made elsewhere

    def _given(self, path: Path) -> dict[str, RetrieverMeasured]:
        given = GivenScores(path, Texts.load(self.context.run_dir))
        total = sum(map(len, self.data.values()))
        self.context.start(total, unit="questions")
        by_split = {split: self._scores_of(given, data) for split, data in self.data.items()}
        if not any(graph is not None and graph.named for graphs in by_split.values() for graph in graphs):
            raise DataError(
                what="these scores name no edge of any graph",
                where=f"retriever.scores: {path}",
                hint="give the file made for the same questions; entities and relations must be spelled as there",
            )
        measured = {split: self._write_given(split, graphs, str(path)) for split, graphs in by_split.items()}
        self.context.progress(total, total)
        return measured

    def _scores_of(self, given: GivenScores, data: GRetrievalDataset) -> list[GraphScores | None]:
        graphs = []
        for number in range(len(data)):
            self.context.checkpoint()
            graphs.append(given.of(data[number]))
        return graphs

    def _write_given(
        self, split: str, graphs: Sequence[GraphScores | None], source: str
    ) -> RetrieverMeasured:
        labels = self._labels(split)
        scores = [
            torch.full(label.shape, UNSCORED) if graph is None else graph.scores
            for graph, label in zip(graphs, labels, strict=True)
        ]
        covered = coverage(graphs)
        if covered.missing or covered.unscored or covered.strangers:
            edges = sum(len(graph.scores) for graph in graphs if graph is not None)
            self.context.notice(
                f"{split}: {covered.missing} of {len(graphs)} questions have no scores; {covered.unscored:,} of the "
                f"{edges:,} triples of the others have none, and count as {UNSCORED:g}; {covered.strangers:,} scored "
                "triples are not in their question's graph",
                level="warning",
            )
        return self._write(split, scores, labels, source, covered)

    # ------------------------------------------------------------ scores of a split

    def _write(
        self,
        split: str,
        scores: list[torch.Tensor],
        labels: list[torch.Tensor],
        source: str,
        covered: Coverage,
    ) -> RetrieverMeasured:
        flat = torch.cat(scores) if scores else torch.empty(0)
        sizes = torch.tensor([len(score) for score in scores], dtype=torch.long)
        content = safetensors.torch.save({"scores": flat.float().contiguous(), "sizes": sizes})
        write_atomic(layout.edge_scores(self.context.run_dir, split), content)
        event = RetrieverMeasured(
            split=split,
            samples=len(scores),
            recall=mean_recalls(scores, labels, self.section.recall_k),
            source=source,
            **asdict(covered),
        )
        self.context.emit(event)
        return event


def read_scores(run_dir: Path, split: str) -> list[torch.Tensor]:
    """Scores [E] of each graph of a split. Raises DataError where they are missing."""
    path = layout.edge_scores(run_dir, split)
    kinds = (OSError, KeyError, ValueError, RuntimeError, safetensors.SafetensorError)
    with reading_errors(path, "the retriever's scores cannot be read", "run the stage retriever", *kinds):
        content = safetensors.torch.load(read_regular(path))
        return list(content["scores"].split(content["sizes"].tolist()))
