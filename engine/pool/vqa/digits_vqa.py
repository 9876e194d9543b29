"""The offline VQA model: like small models, it mostly copies answers from its demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.pool.data.digits import QUESTIONS, SIDE, DigitQuestion, DigitsDataset, answer_of
from engine.pool.vqa.vqa import Ask, OnAnswer, VQAReply
from engine.servers.spent import Spent

_SHARPNESS = 4
"""Exponent of a demonstration's similarity in its vote."""
_FIRST = 0.85
"""Weight of the first demonstration; the second, next to the question, has weight 1."""
_READING = 0.8
"""Weight of the model's own reading of the photo."""
_HAZE = 0.1
"""Squared distance over which the belief in a digit falls by e."""
_AT_ONCE = 4096

Floats = NDArray[np.float64]


class DigitsVQA:
    """Answers by vote. Each demonstration votes for its own answer, with its similarity to the query in photo and
    question. The model's own belief in each digit, from the distance of the photo (as 4x4 pixels) to the digit's mean
    photo, votes for that digit's answer; it is right on less than half of the photos. Ties go to the first answer in
    order.
    """

    name = "similarity-weighted vote on digits (offline)"

    def __init__(self, dataset: DigitsDataset) -> None:
        self._dataset = dataset
        rows = len(dataset.embeddings)
        shown = [dataset.digit_demonstration(row) for row in range(rows)]
        self._answers = sorted({answer_of(digit, q) for digit in range(10) for q in range(len(QUESTIONS))})
        place = {answer: number for number, answer in enumerate(self._answers)}
        self._shown_answers = np.array([place[item.majority] for item in shown])
        self._places = np.array(
            [[place[answer_of(digit, q)] for digit in range(10)] for q in range(len(QUESTIONS))]
        )
        self._means = _mean_views(shown)

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        """Give a reply to each ask, in order. Raises KeyError or IndexError for an unknown query or row."""
        for first in range(0, len(asks), _AT_ONCE):
            checkpoint()
            most = self._votes(asks[first : first + _AT_ONCE]).argmax(axis=1)
            for number, place in enumerate(most, first):
                answered(number, VQAReply(answer=self._answers[place], spent=Spent(1)))

    def _votes(self, asks: Sequence[Ask]) -> Floats:
        """All votes [asks, answers]."""
        names = list(dict.fromkeys(ask.query_id for ask in asks))
        number = {name: place for place, name in enumerate(names)}
        which = np.array([number[ask.query_id] for ask in asks])
        votes = self._reading_votes(names)[which]
        queries = np.stack([self._dataset.query_embedding(name) for name in names]).astype(np.float64)[which]
        shown = np.array([bool(ask.demonstrations) for ask in asks])
        pairs = np.array([ask.demonstrations for ask in asks if ask.demonstrations], dtype=np.int64)
        line = np.flatnonzero(shown)
        for column, weight in ((0, _FIRST), (1, 1.0)):
            rows = pairs.reshape(-1, 2)[:, column]
            similarity = (self._dataset.embeddings[rows] * queries[line]).sum(axis=1)
            votes[line, self._shown_answers[rows]] += weight * np.maximum(similarity, 0) ** _SHARPNESS
        return votes

    def _reading_votes(self, names: Sequence[str]) -> Floats:
        """The model's own votes [names, answers]."""
        votes = np.zeros((len(names), len(self._answers)))
        for line, name in zip(votes, names, strict=True):
            query = self._dataset.digit_question(name)
            distance = np.square(_view(query) - self._means).sum(axis=1)
            belief = np.exp((distance.min() - distance) / _HAZE)
            np.add.at(line, self._places[query.question], _READING * belief / belief.sum())
        return votes


def _view(item: DigitQuestion) -> Floats:
    """The photo as 4x4 pixels in [0, 1], flat."""
    half = SIDE // 2
    return item.photo.reshape(half, 2, half, 2).mean(axis=(1, 3)).ravel() / 255


def _mean_views(shown: Sequence[DigitQuestion]) -> Floats:
    """Mean photos [10, 16] of the demonstrations that name their digit; far away for a digit without any."""
    means = np.full((10, SIDE * SIDE // 4), 1e3)
    for digit in range(10):
        views = [_view(item) for item in shown if item.question == 0 and item.majority == str(digit)]
        if views:
            means[digit] = np.mean(views, axis=0)
    return means
