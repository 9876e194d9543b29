"""The protocol of vision models, which answer after two demonstrations, and the accuracy of an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from engine.pool.vqa.answer_words import in_one_line, normalise_answer
from engine.servers.spent import Spent


@dataclass(frozen=True)
class VQAAsk:
    """A query and two demonstrations (rows of the embedding table), in the prompt's order."""

    query_id: str
    demonstrations: tuple[int, int]


@dataclass(frozen=True)
class BareAsk:
    """A query without demonstrations: what the model says by itself."""

    query_id: str
    demonstrations: tuple[()] = ()


Ask = VQAAsk | BareAsk


@dataclass(frozen=True)
class VQAReply:
    """A model's answer, or None and the `error`."""

    answer: str | None
    error: str | None = None
    spent: Spent = Spent()


OnAnswer = Callable[[int, VQAReply], None]
"""Called once for each ask, as soon as its reply is there, with its number and the reply."""


class VQAModel(Protocol):
    """A model that answers questions about images; caches and reports hold its `name`."""

    @property
    def name(self) -> str: ...

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        """Give a reply to each ask, in any order. A reply does not depend on the other asks.

        `checkpoint` may block or raise meanwhile; what has arrived is given. A single failure is the `error` of its
        reply; raises SteerError if nothing can be asked.
        """
        ...


class BareVQAModel(VQAModel, Protocol):
    """A model that can also be asked without demonstrations."""

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        """As `VQAModel`."""
        ...


def official_vqa_accuracy(answer: str, annotations: Sequence[str]) -> float:
    """VQA accuracy of `answer` in [0, 1] (Antol et al. 2015).

    The mean over annotators of min(k/3, 1), with k the other annotators who gave this answer. As the official script
    (github.com/GT-Vision-Lab/VQA, vqaEval.py) does it, answers are compared in their normal form; where all annotators
    wrote the same, as they stand, in lower case. It cannot reach 1 with fewer than four annotators.
    """
    if not annotations:
        raise ValueError("no annotations")
    texts = [in_one_line(text) for text in (answer, *annotations)]
    agreed = len(set(texts[1:])) == 1
    given, *others = [text.lower() if agreed else normalise_answer(text) for text in texts]
    n, k = len(others), others.count(given)
    agreeing_others = max(0, min(k - 1, 3))
    total = Fraction(k * agreeing_others + (n - k) * min(k, 3), 3)
    return float(total / n)
