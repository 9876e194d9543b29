"""The offline VQA model: it copies from its demonstrations, as small models do, and reads a little by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.pool.data.digits import QUESTIONS, SIDE, Asked, DigitsDataset, answer_of
from engine.pool.vqa.vqa import VQAAsk, VQAReply
from engine.servers.spent import Spent

_SHARPNESS = 4
"""Power of the similarity: how much more the more similar demonstration counts."""
_FIRST = 0.85
"""Weight of the demonstration further from the question; the other's is 1."""
_OWN_READING = 0.8
"""Weight of the model's own reading beside the demonstrations'."""
_HAZE = 0.1
"""Squared distance over which the belief in a digit falls by e."""
_AT_ONCE = 4096

Floats = NDArray[np.float64]


class DigitsVQA:
    """Offline. Each demonstration votes for its own answer with its similarity to the query (photo and question
    alike), and ten beliefs, one a digit, vote for that digit's answer to the query's question: the distance of a photo
    of 4x4 pixels to the mean photo of each digit. They are right on less than half of the photos. The answer with most
    votes wins; of equals the first in order.
    """

    name = "similarity-weighted vote on digits (offline)"

    def __init__(self, dataset: DigitsDataset) -> None:
        self._dataset = dataset
        rows = len(dataset.embeddings)
        shown = [dataset.shown(row) for row in range(rows)]
        self._answers = sorted({answer_of(digit, q) for digit in range(10) for q in range(len(QUESTIONS))})
        place = {answer: number for number, answer in enumerate(self._answers)}
        self._said = np.array([place[one.majority] for one in shown])
        self._places = np.array(
            [[place[answer_of(digit, q)] for digit in range(10)] for q in range(len(QUESTIONS))]
        )
        self._means = _mean_views(shown)

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> list[VQAReply]:
        """One reply each. Raises KeyError or IndexError for a query or row that the data set does not have."""
        replies: list[VQAReply] = []
        for first in range(0, len(asks), _AT_ONCE):
            checkpoint()
            part = asks[first : first + _AT_ONCE]
            most = self._votes(part).argmax(axis=1)
            replies += [VQAReply(answer=self._answers[number], spent=Spent(1)) for number in most]
        return replies

    def _votes(self, asks: Sequence[VQAAsk]) -> Floats:
        """[asks, answers]."""
        names = list(dict.fromkeys(ask.query_id for ask in asks))
        number = {name: place for place, name in enumerate(names)}
        which = np.array([number[ask.query_id] for ask in asks])
        votes = self._own_votes(names)[which]
        queries = np.stack([self._dataset.query_embedding(name) for name in names]).astype(np.float64)[which]
        pairs = np.array([ask.demonstrations for ask in asks])
        line = np.arange(len(asks))
        for column, weight in ((0, _FIRST), (1, 1.0)):
            rows = pairs[:, column]
            similarity = (self._dataset.embeddings[rows] * queries).sum(axis=1)
            votes[line, self._said[rows]] += weight * np.maximum(similarity, 0) ** _SHARPNESS
        return votes

    def _own_votes(self, names: Sequence[str]) -> Floats:
        """[names, answers]."""
        votes = np.zeros((len(names), len(self._answers)))
        for line, name in zip(votes, names, strict=True):
            asked = self._dataset.asked(name)
            distance = np.square(_view(asked) - self._means).sum(axis=1)
            belief = np.exp((distance.min() - distance) / _HAZE)
            np.add.at(line, self._places[asked.question], _OWN_READING * belief / belief.sum())
        return votes


def _view(asked: Asked) -> Floats:
    """The photo as 4x4 pixels in [0, 1], flat."""
    half = SIDE // 2
    return asked.photo.reshape(half, 2, half, 2).mean(axis=(1, 3)).ravel() / 255


def _mean_views(shown: Sequence[Asked]) -> Floats:
    """[10, 16]: of the demonstrations that name their digit; far away for a digit that none names."""
    means = np.full((10, SIDE * SIDE // 4), 1e3)
    for digit in range(10):
        views = [_view(one) for one in shown if one.question == 0 and one.majority == str(digit)]
        if views:
            means[digit] = np.mean(views, axis=0)
    return means
