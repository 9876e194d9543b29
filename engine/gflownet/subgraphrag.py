"""Edge scores from SubgraphRAG's `retrieval_result.pth`: by sample id, `scored_triplets` of (h, r, t, score)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError
from engine.gflownet.tables import Texts
from engine.torch_file import load_torch

UNSCORED = 1e-4
"""Score of an edge that the file does not name."""


class GivenScores:
    """The file's scores, asked sample by sample."""

    def __init__(self, path: Path, texts: Texts) -> None:
        self._path = path
        self._texts = texts
        mend = "give the file that SubgraphRAG's retriever wrote: a dictionary by sample id with `scored_triplets`"
        if not path.is_file():
            raise DataError(what="there are no scores", where=f"retriever.scores: {path}", mend=mend)
        self._samples: dict[str, Any] = load_torch(path, mend)
        for sample_id, sample in self._samples.items():
            if not isinstance(sample, dict) or not isinstance(sample.get("scored_triplets"), list):
                raise DataError(
                    what=f"sample {sample_id} has no list `scored_triplets`", where=str(path), mend=mend
                )

    def of(self, data: Any) -> torch.Tensor | None:
        """Scores [E] in (0, 1] of a retrieval graph's edges, or None where the file does not know the sample. An edge
        that stands there twice has its best score."""
        sample = self._samples.get(data.sample_id)
        if sample is None:
            return None
        known: dict[tuple[str, str, str], float] = {}
        for number, triplet in enumerate(sample["scored_triplets"]):
            key, score = self._checked(triplet, data.sample_id, number)
            known[key] = max(score, known.get(key, UNSCORED))
        ids, relations = data.node_global_ids, data.edge_attr
        names = zip(
            ids[data.edge_index[0]].tolist(),
            relations.tolist(),
            ids[data.edge_index[1]].tolist(),
            strict=True,
        )
        entity, relation = self._texts.entity, self._texts.relation
        return torch.tensor([known.get((entity(h), relation(r), entity(t)), UNSCORED) for h, r, t in names])

    def _checked(self, triplet: Any, sample_id: str, number: int) -> tuple[tuple[str, str, str], float]:
        try:
            head, relation, tail, score = triplet
            score = float(score)
        except (TypeError, ValueError):
            score = float("nan")
            head = relation = tail = ""
        if not 0 <= score <= 1:
            raise DataError(
                what=f"sample {sample_id}: scored_triplets[{number}] is {str(triplet)[:80]}",
                where=str(self._path),
                mend="expected (head, relation, tail, score) with a score from 0 to 1",
            )
        return (head, relation, tail), max(score, UNSCORED)
