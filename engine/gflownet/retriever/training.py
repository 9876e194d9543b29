"""The training of the edge scorer, an epoch at a time; killed and resumed, it ends with the same weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from engine.config.gflownet import RetrieverSection
from engine.errors import DataError
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.retriever.retriever import Retriever, recall_at_k
from engine.seeds import generator
from engine.training_state import BestWeights, TrainingState

LARGEST_WEIGHT = 50.0
"""Of a positive edge; without a bound the few positives of a huge graph would drown its negatives."""


class RetrieverTraining:
    """Scorer, optimiser, the best weights so far, and their file."""

    def __init__(self, width: int, section: RetrieverSection, run_seed: int, path: Path, seed: int) -> None:
        torch.manual_seed(seed)
        self.section = section
        self.model = Retriever(width, section.hidden, section.distance_rounds)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=section.learning_rate)
        self.epoch = 0
        self.best = BestWeights(self.model)
        self._run_seed = run_seed
        self._state = TrainingState(
            path,
            "the retriever's checkpoint",
            shape={"embedding_width": width, **section.values({"recall_k", "scores"})},
            parts={"model": self.model, "optimizer": self.optimizer, "best": self.best},
            hint="continue with the settings it was started with, or start a new run",
        )

    def restore(self) -> None:
        """Take over the last finished epoch. Raises DataError for a checkpoint of another shape."""
        self.epoch = self._state.restore({"epoch": self.epoch})["epoch"]

    def save(self) -> None:
        """Everything the rest of the training depends on; the order of the data is drawn by epoch."""
        self._state.save({"epoch": self.epoch})

    def run_epoch(
        self, data: GRetrievalDataset, tables: EmbeddingTables, checkpoint: Callable[[], None]
    ) -> float:
        """Every question once, in an order drawn for the epoch; the mean loss. Raises DataError where there is nothing
        to learn, or the loss grows beyond bounds."""
        order = generator(self._run_seed, "retriever", "order", self.epoch).permutation(len(data)).tolist()
        losses: list[float] = []
        for first in range(0, len(order), self.section.batch_size):
            checkpoint()
            batch = _batch(data, order[first : first + self.section.batch_size])
            positive = batch.labels.sum()
            if not positive:
                continue
            weight = ((batch.labels.shape[0] - positive) / positive).clamp(max=LARGEST_WEIGHT)
            loss = binary_cross_entropy_with_logits(
                self.model(batch, tables), batch.labels, pos_weight=weight
            )
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            losses.append(float(_finite(loss.detach())))
        if not losses:
            raise DataError(
                what="no training question has a path to an answer", where="graphs",
                hint="see gflownet/dropped.json; graphs.add_inverse_edges lets paths go against the edges",
            )  # fmt: skip
        self.epoch += 1
        return sum(losses) / len(losses)


@torch.no_grad()
def score_graphs(
    model: Retriever, data: GRetrievalDataset, tables: EmbeddingTables, numbers: Sequence[int]
) -> list[torch.Tensor]:
    """Probabilities [E] of each graph in `numbers`."""
    batch = _batch(data, numbers)
    scores = _finite(model(batch, tables)).sigmoid()
    return list(
        scores.split(torch.bincount(batch.batch[batch.edge_index[0]], minlength=len(numbers)).tolist())
    )


def mean_recalls(
    scores: Sequence[torch.Tensor], labels: Sequence[torch.Tensor], recall_k: Sequence[int]
) -> dict[str, float]:
    """recall@k by k, over the graphs with a positive edge."""
    recalls: dict[str, float] = {}
    for k in recall_k:
        values = [recall_at_k(score, label, k) for score, label in zip(scores, labels, strict=True)]
        known = [value for value in values if value is not None]
        recalls[str(k)] = sum(known) / len(known) if known else 0.0
    return recalls


def _batch(data: GRetrievalDataset, numbers: Sequence[int]) -> Any:
    from torch_geometric.data import Batch

    return Batch.from_data_list([data[number] for number in numbers])


def _finite(values: torch.Tensor) -> torch.Tensor:
    if not bool(torch.isfinite(values).all()):
        raise DataError(
            what="the retriever's training diverged", where="graphs.embedder",
            hint="take another embedder, and begin the stage `graphs` again",
        )  # fmt: skip
    return values
