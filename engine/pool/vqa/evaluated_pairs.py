"""Evaluates pairs of demonstrations and keeps every reply in `evaluated.jsonl`, so that no pair is asked twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.files import append_jsonl, recover_records
from engine.pool.vqa.vqa import VQAAsk, VQAModel, VQAReply, official_vqa_accuracy

_WRITE_EVERY = 0.5
"""Seconds between writes; a kill loses at most their replies."""

RowPair = tuple[int, int]
"""Rows of the embedding table, in the prompt's order."""


class EvaluatedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A model's reply with two demonstrations, and its VQA accuracy; `score` is None if the model failed, with `error`.
    Cost as in `Spent`."""

    query_id: str
    pair: RowPair
    model: str
    answer: str | None
    score: float | None
    error: str | None = None
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


class PairEvaluator:
    """Evaluates pairs, and remembers them, in the file `path` if there is one.

    `annotations` gives people's answers to a query. `report` receives each new reply; they are written every half
    second. A stop loses only the requests under way, a kill also the replies of the last half second.
    """

    def __init__(
        self,
        path: Path | None,
        model: VQAModel,
        annotations: Callable[[str], Sequence[str]],
        report: Callable[[EvaluatedPair], None] = lambda evaluated: None,
    ) -> None:
        """Raises DataError for a file of other records, or with replies of another model."""
        self._path = path
        self._model = model
        self._annotations = annotations
        self._report = report
        self._known: dict[str, dict[RowPair, EvaluatedPair]] = {}
        for number, pair in enumerate(recover_records(path, EvaluatedPair) if path else (), 1):
            if pair.model != model.name:
                raise DataError(
                    what=f"this pair was answered by {pair.model!r}, this run asks {model.name!r}",
                    where=f"{path}:{number}",
                    hint="remove the file (its pairs are asked again), or start a new run",
                )
            self._remember([pair])

    def known(self, query_id: str) -> Mapping[RowPair, EvaluatedPair]:
        """The query's evaluated pairs."""
        return self._known.get(query_id, {})

    def all(self) -> Iterable[EvaluatedPair]:
        """All evaluated pairs."""
        return (reply for by_pair in self._known.values() for reply in by_pair.values())

    def evaluate(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> list[EvaluatedPair]:
        """The evaluation of each ask, in order; all unknown ones go to the model at once.

        Errors of `checkpoint` and of the model pass through; replies before them are kept.
        """
        unknown = [ask for ask in dict.fromkeys(asks) if ask.demonstrations not in self.known(ask.query_id)]
        if unknown:
            self._ask(unknown, checkpoint)
        return [self._known[ask.query_id][ask.demonstrations] for ask in asks]

    def _ask(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> None:
        """Ask the model, and write its replies every half second."""
        waiting: list[EvaluatedPair] = []
        written = time.monotonic()

        def take(number: int, reply: VQAReply) -> None:
            nonlocal waiting, written
            waiting.append(self._evaluated(asks[number], reply))
            self._report(waiting[-1])
            if time.monotonic() - written > _WRITE_EVERY:
                self._write(waiting)
                waiting, written = [], time.monotonic()

        try:
            self._model.answer(asks, checkpoint, take)
        finally:
            self._write(waiting)

    def _write(self, evaluated: list[EvaluatedPair]) -> None:
        if evaluated and self._path:
            append_jsonl(self._path, map(msgspec.to_builtins, evaluated))
        self._remember(evaluated)

    def _remember(self, evaluated: Iterable[EvaluatedPair]) -> None:
        for reply in evaluated:
            self._known.setdefault(reply.query_id, {})[reply.pair] = reply

    def _evaluated(self, ask: VQAAsk, reply: VQAReply) -> EvaluatedPair:
        return EvaluatedPair(
            query_id=ask.query_id,
            pair=ask.demonstrations,
            model=self._model.name,
            answer=reply.answer,
            score=None if reply.answer is None else self._score(ask.query_id, reply.answer),
            error=reply.error,
            **msgspec.structs.asdict(reply.spent),
        )

    def _score(self, query_id: str, answer: str) -> float:
        return official_vqa_accuracy(answer, self._annotations(query_id))
