"""Asking a vision model with two demonstrations, and how right its answer is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from engine.pool.vqa.answer_words import normalise_answer
from engine.servers.spent import Spent


@dataclass(frozen=True)
class VQAAsk:
    """A query to be answered after two demonstrations: rows of the embedding table, in the prompt's order."""

    query_id: str
    demonstrations: tuple[int, int]


@dataclass(frozen=True)
class VQAReply:
    """`answer`, or None and the `error`; what it cost."""

    answer: str | None
    error: str | None = None
    spent: Spent = Spent()


class VQAModel(Protocol):
    """A model that answers questions about images; `name` says which, and stands in caches and reports."""

    @property
    def name(self) -> str: ...

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None]) -> Iterable[VQAReply]:
        """A reply to each, in order, as soon as it is there. The same ask has the same reply whatever else is asked.

        `checkpoint` may block or raise while replies are waited for. What fails for one ask is that ask's `error`;
        raises SteerError where nothing can be asked at all.
        """
        ...


def official_vqa_accuracy(answer: str, annotations: Sequence[str]) -> float:
    """Share in [0, 1] to which people agree with `answer` (Antol et al. 2015; DESIGN 7).

    For each annotator in turn, min(k/3, 1) with k the others who gave this answer; the mean of that over annotators.
    Both sides are normalised alike. With fewer than four annotators 1 cannot be reached.
    """
    if not annotations:
        raise ValueError("no annotations")
    given = normalise_answer(answer)
    n, k = len(annotations), sum(normalise_answer(one) == given for one in annotations)
    without_one_of_them = max(0, min(k - 1, 3))
    total = Fraction(k * without_one_of_them + (n - k) * min(k, 3), 3)
    return float(total / n)
