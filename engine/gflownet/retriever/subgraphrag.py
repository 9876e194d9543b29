"""Edge scores from SubgraphRAG's `retrieval_result.pth`: by sample id, `scored_triples` of (h, r, t, score)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError
from engine.gflownet.graphs.raw import Triple, inverse_of
from engine.gflownet.graphs.tables import Texts
from engine.torch_file import load_torch

UNSCORED = 1e-4
"""Score of an edge that the file does not name."""


@dataclass(frozen=True)
class GraphScores:
    """Scores [E] of a graph's edges in (0, 1]; how many of its edges the file names, and how many of its triples the
    graph does not hold."""

    scores: torch.Tensor
    named: int
    strangers: int


@dataclass(frozen=True)
class Coverage:
    """How well a file fits a split: samples it does not know; edges of the others it does not name; triples it names
    that are not in their sample's graph."""

    missing: int = 0
    unscored: int = 0
    strangers: int = 0


def coverage(graphs: Sequence[GraphScores | None]) -> Coverage:
    """The coverage of a split's graphs; None: the file does not know the sample."""
    known = [graph for graph in graphs if graph is not None]
    return Coverage(
        missing=len(graphs) - len(known),
        unscored=sum(len(graph.scores) - graph.named for graph in known),
        strangers=sum(graph.strangers for graph in known),
    )


_NAMES = ("scored_triples", "scored_triplets")
"""As SubgraphRAG's retriever calls them, and its reasoner."""
_HINT = "give the file that SubgraphRAG's retriever wrote: a dictionary by sample id with `scored_triples`"


class GivenScores:
    """A file's scores, asked sample by sample; or those of all .pth files of a folder, as SubgraphRAG itself scores one
    split a file."""

    def __init__(self, path: Path, texts: Texts) -> None:
        self._texts = texts
        files = sorted(path.glob("*.pth")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise DataError(what="there are no scores", where=f"retriever.scores: {path}", hint=_HINT)
        self._samples: dict[str, tuple[Path, list[Any]]] = {}
        for file in files:
            self._read(file)

    def _read(self, file: Path) -> None:
        for sample_id, sample in load_torch(file, _HINT).items():
            values = [sample.get(name) for name in _NAMES] if isinstance(sample, dict) else []
            scored = next((value for value in values if isinstance(value, list)), None)
            if scored is None:
                raise DataError(
                    what=f"sample {sample_id} has no list `{_NAMES[0]}`", where=str(file), hint=_HINT
                )
            if sample_id in self._samples:
                raise DataError(
                    what=f"sample {sample_id} is in two files: {self._samples[sample_id][0].name}, {file.name}",
                    where=str(file.parent),
                    hint="keep one file for each split",
                )
            self._samples[sample_id] = file, scored

    def of(self, data: Any) -> GraphScores | None:
        """Scores of a retrieval graph's edges, or None where the file does not know the sample. An edge that the
        file scores twice has its best score, an inverse edge without a score that of the edge. Raises DataError for
        a malformed triple or score."""
        if data.sample_id not in self._samples:
            return None
        file, scored = self._samples[data.sample_id]
        known: dict[Triple, float] = {}
        for number, triplet in enumerate(scored):
            key, score = _checked(triplet, f"{file}: sample {data.sample_id}", number)
            known[key] = max(score, known.get(key, UNSCORED))
        edges = list(self._edges(data))
        scores = [_score(edge, known) for edge in edges]
        return GraphScores(
            scores=torch.tensor([UNSCORED if score is None else score for score in scores]),
            named=sum(score is not None for score in scores),
            strangers=len(known.keys() - set(edges)),
        )

    def _edges(self, data: Any) -> Iterable[Triple]:
        heads, tails = data.node_global_ids[data.edge_index].tolist()
        entities, relations = self._texts.entities, self._texts.relations
        for head, number, tail in zip(heads, data.edge_attr.tolist(), tails, strict=True):
            yield entities[head], relations[number], entities[tail]


def _score(edge: Triple, known: Mapping[Triple, float]) -> float | None:
    forth = inverse_of(edge)
    return known.get(edge, known.get(forth) if forth else None)


def _checked(triplet: Any, place: str, number: int) -> tuple[Triple, float]:
    try:
        head, relation, tail, score = triplet
        score = float(score)
    except (TypeError, ValueError):
        score = float("nan")
        head = relation = tail = ""
    texts = isinstance(triplet, tuple | list) and all(
        isinstance(text, str) for text in (head, relation, tail)
    )
    if not texts or not 0 <= score <= 1:
        raise DataError(
            what=f"{_NAMES[0]}[{number}] is {str(triplet)[:80]}",
            where=place,
            hint="expected (head, relation, tail, score) with a score from 0 to 1",
        )
    return (head, relation, tail), score
