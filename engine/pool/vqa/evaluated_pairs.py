"""`evaluated.jsonl`: every pair a query was asked with, kept as soon as its reply is there: none is asked twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.files import append_jsonl, recover_records
from engine.pool.vqa.vqa import VQAAsk, VQAModel, VQAReply, official_vqa_accuracy

_WRITE_EVERY = 0.5
"""Seconds of replies that a kill may lose."""

Pair = tuple[int, int]
"""Rows of the embedding table, in the prompt's order."""


class EvaluatedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A reply and its VQA accuracy; `score` is None where the model failed, and `error` says how. `model`: who was
    asked. Cost as in `Spent`."""

    query_id: str
    pair: Pair
    model: str
    answer: str | None
    score: float | None
    error: str | None = None
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


class PairAsker:
    """Asks the model for what it does not know yet.

    `annotations` gives a query's answers by people. `keep` is given replies as they come, those of half a second
    together. A stop loses the replies under way, a kill those of half a second more.
    """

    def __init__(
        self,
        model: VQAModel,
        annotations: Callable[[str], Sequence[str]],
        keep: Callable[[list[EvaluatedPair]], None],
    ) -> None:
        self._model = model
        self._annotations = annotations
        self._keep = keep
        self._known: dict[str, dict[Pair, EvaluatedPair]] = {}

    def remember(self, found: Iterable[EvaluatedPair]) -> None:
        """These are not asked again."""
        for one in found:
            self._known.setdefault(one.query_id, {})[one.pair] = one

    def known(self, query_id: str) -> Mapping[Pair, EvaluatedPair]:
        """What a query was asked with so far."""
        return self._known.get(query_id, {})

    def all(self) -> Iterable[EvaluatedPair]:
        """Everything that is known."""
        return (one for found in self._known.values() for one in found.values())

    def evaluate(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> list[EvaluatedPair]:
        """One each, in order; the model is asked with all unknown ones at once.

        Raises whatever `checkpoint` or the model raises; then those that were answered before are kept.
        """
        unknown = [ask for ask in dict.fromkeys(asks) if ask.demonstrations not in self.known(ask.query_id)]
        if unknown:
            self._ask(unknown, checkpoint)
        return [self._known[ask.query_id][ask.demonstrations] for ask in asks]

    def _ask(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> None:
        """Replies are written as they come, those of a moment together."""
        waiting: list[EvaluatedPair] = []
        written = time.monotonic()
        try:
            for ask, reply in zip(asks, self._model.answer(asks, checkpoint), strict=True):
                waiting.append(self._evaluated(ask, reply))
                if time.monotonic() - written > _WRITE_EVERY:
                    self._write(waiting)
                    waiting, written = [], time.monotonic()
        finally:
            self._write(waiting)

    def _write(self, found: list[EvaluatedPair]) -> None:
        if found:
            self._keep(found)
            self.remember(found)

    def _evaluated(self, ask: VQAAsk, reply: VQAReply) -> EvaluatedPair:
        return EvaluatedPair(
            query_id=ask.query_id,
            pair=ask.demonstrations,
            model=self._model.name,
            answer=reply.answer,
            score=None if reply.answer is None else self._score(ask.query_id, reply.answer),
            error=reply.error,
            calls=reply.spent.calls,
            tokens=reply.spent.tokens,
            cost=reply.spent.cost,
        )

    def _score(self, query_id: str, answer: str) -> float:
        return official_vqa_accuracy(answer, self._annotations(query_id))


class PairEvaluator(PairAsker):
    """Knows what is in a file, and keeps there what it asks."""

    def __init__(self, path: Path, model: VQAModel, annotations: Callable[[str], Sequence[str]]) -> None:
        """Raises DataError for a file that holds something else, or replies of another model."""
        super().__init__(model, annotations, self._append)
        self._path = path
        for number, pair in enumerate(recover_records(path, EvaluatedPair), 1):
            if pair.model != model.name:
                raise DataError(
                    what=f"this pair was answered by {pair.model!r}, this run asks {model.name!r}",
                    where=f"{path}:{number}",
                    mend="remove the file (its pairs are asked again), or start a new run",
                )
            self.remember([pair])

    def take_in(self, found: list[EvaluatedPair]) -> None:
        """Keep what was asked elsewhere."""
        self._append(found)
        self.remember(found)

    def _append(self, found: list[EvaluatedPair]) -> None:
        append_jsonl(self._path, map(msgspec.to_builtins, found))
