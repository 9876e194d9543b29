"""Offline data of the demonstration pool: questions about scikit-learn's handwritten digits.

scikit-learn includes 1,797 pictures of 8x8 pixels. Each is photographed here with its own brightness, contrast and
slanting shade, so that photos with similar pixels may show different digits. Each picture has four questions with
different answers. Demonstrations, training queries and held-out queries show different pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.pool.data.dataset import majority
from engine.seeds import generator

QUESTIONS = (
    "Which digit is this?",
    "Which digit comes after this one?",
    "Is this digit even?",
    "Is this digit larger than four?",
)
ANNOTATORS = 10
SIDE = 8
QUESTION_WIDTH = 32
PICTURES = {"demonstration": range(900), "train": range(900, 1500), "heldout": range(1500, 1797)}
"""Places of each split in the seed's order of the pictures."""
MOST_DEMONSTRATIONS = len(PICTURES["demonstration"]) * len(QUESTIONS)
_CARELESS = 0.2
"""Share of careless readings among an annotator's."""
_LOOKS_ALIKE = 1.6
"""Squared distance over which the chance of a careless reading falls by e."""
_LIGHT = 0.2
"""Largest change of brightness by the lamp, and from edge to middle by its shade."""

Floats = NDArray[np.float64]
Photo = NDArray[np.uint8]


def answer_of(digit: int, question: int) -> str:
    """The right answer to question number `question` about `digit`."""
    match question:
        case 0:
            return str(digit)
        case 1:
            return str(digit + 1)
        case 2:
            return "yes" if digit % 2 == 0 else "no"
        case _:
            return "yes" if digit > 4 else "no"


@dataclass(frozen=True)
class DigitQuestion:
    """A question (its number) about a photo [8, 8], and the answers of ten people."""

    photo: Photo
    question: int
    annotations: tuple[str, ...]

    @cached_property
    def majority(self) -> str:
        """The most frequent answer."""
        return majority(self.annotations)


class DigitsDataset:
    """Demonstrations by row of `embeddings`, queries by id.

    `embeddings` is float32 [N, 96]: pixels, then question words, each scaled to length 1/sqrt(2), so that the dot
    product of two rows is the mean of both similarities. Row 4 i + q is picture i under question q.
    """

    def __init__(
        self, seed: int, demonstrations: int = MOST_DEMONSTRATIONS, train: int = 600, heldout: int = 300
    ) -> None:
        """Takes numbers of questions, at most 3,600 demonstrations. Queries do not depend on these numbers."""
        if not 2 <= demonstrations <= MOST_DEMONSTRATIONS:
            raise ValueError(f"from 2 to {MOST_DEMONSTRATIONS} demonstrations")
        pictures = _pictures(seed)
        self._rows = [pictures.demonstration(row) for row in range(demonstrations)]
        self.splits = {
            split: [f"{split}-{number:04d}" for number in range(count)]
            for split, count in (("train", train), ("heldout", heldout))
        }
        self._queries = {
            name: pictures.query(name, split) for split, names in self.splits.items() for name in names
        }
        self.embeddings = _embed(self._rows)
        self._query_embeddings = dict(zip(self._queries, _embed(list(self._queries.values())), strict=True))

    @property
    def query_ids(self) -> list[str]:
        """Training queries, then held-out ones."""
        return list(self._queries)

    def digit_question(self, query_id: str) -> DigitQuestion:
        """Photo, question and answers of a query."""
        return self._queries[query_id]

    def digit_demonstration(self, row: int) -> DigitQuestion:
        """Photo, question and answers of a demonstration."""
        return self._rows[row]

    def question(self, query_id: str) -> str:
        """The question's text."""
        return QUESTIONS[self._queries[query_id].question]

    def annotations(self, query_id: str) -> list[str]:
        """The ten answers."""
        return list(self._queries[query_id].annotations)

    def query_embedding(self, query_id: str) -> NDArray[np.float32]:
        """The query's embedding [96], of length 1."""
        return self._query_embeddings[query_id]

    def query_image(self, query_id: str) -> Photo:
        """[8, 8] greyscale."""
        return self._queries[query_id].photo

    def excluded(self, query_id: str) -> Sequence[int]:
        """No rows: queries and demonstrations show different pictures."""
        return ()

    def image(self, row: int) -> Photo:
        """[8, 8] greyscale."""
        return self._rows[row].photo

    def demonstration(self, row: int) -> tuple[str, str]:
        """Question and majority answer."""
        shown = self._rows[row]
        return QUESTIONS[shown.question], shown.majority


# ---------------------------------------------------------------- pictures and people


@lru_cache(maxsize=2)
def _pictures(seed: int) -> _Pictures:
    """Kept: the stages of a run show the same ones."""
    return _Pictures(seed)


class _Pictures:
    """Draws photos and annotations; each draw depends only on the seed and the drawn item."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._images, self._digits, chances = _source()
        self._order = self._draws("order").permutation(len(self._digits))
        chances = chances.cumsum(axis=1)
        self._readings = chances / chances[:, -1:]
        self._photo = cache(lambda place: photographed(self._image(place), self._draws(f"photo {place}")))
        self.demonstration = cache(self._demonstration)
        self.query = cache(self._query)

    def _draws(self, item: str) -> np.random.Generator:
        return generator(self._seed, "digits", item)

    def _demonstration(self, row: int) -> DigitQuestion:
        place, question = divmod(row, len(QUESTIONS))
        return self._ask(place, self._photo(place), question, self._draws(f"demonstration {row}"))

    def _query(self, name: str, split: str) -> DigitQuestion:
        draws = self._draws(f"query {name}")
        place, question = int(draws.choice(PICTURES[split])), int(draws.integers(len(QUESTIONS)))
        return self._ask(place, photographed(self._image(place), draws), question, draws)

    def _image(self, place: int) -> Floats:
        return self._images[self._order[place]]

    def _ask(self, place: int, photo: Photo, question: int, draws: np.random.Generator) -> DigitQuestion:
        read = self._readings[self._order[place]].searchsorted(draws.random(ANNOTATORS), side="right")
        return DigitQuestion(photo, question, tuple(answer_of(int(digit), question) for digit in read))


def photographed(image: Floats, draws: np.random.Generator) -> Photo:
    """A photo of `image` [8, 8] in [0, 1] with drawn contrast, brightness, shade in both directions and noise."""
    contrast = draws.uniform(0.3, 0.6)
    brightness, down, across = draws.uniform(-_LIGHT, _LIGHT, 3)
    slope = np.linspace(-1, 1, SIDE)
    light = 0.3 + brightness + down * slope[:, None] + across * slope
    seen = np.clip(contrast * image + light + draws.normal(0, 0.03, image.shape), 0, 1)
    return np.round(255 * seen).astype(np.uint8)


@cache
def _source() -> tuple[Floats, NDArray[np.int64], Floats]:
    """Pictures [1797, 8, 8] in [0, 1], their digits, and the chance [1797, 10] that an annotator reads each digit."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    flat = np.asarray(images, dtype=np.float64) / 16
    digits = np.asarray(digits, dtype=np.int64)
    means = np.stack([flat[digits == digit].mean(axis=0) for digit in range(10)])
    alike = np.exp(-np.square(flat[:, None] - means).sum(axis=2) / _LOOKS_ALIKE)
    careless = alike / alike.sum(axis=1, keepdims=True)
    return flat.reshape(-1, SIDE, SIDE), digits, (1 - _CARELESS) * np.eye(10)[digits] + _CARELESS * careless


# ---------------------------------------------------------------- embeddings


def _embed(questions: Sequence[DigitQuestion]) -> NDArray[np.float32]:
    if not questions:
        return np.empty((0, SIDE * SIDE + QUESTION_WIDTH), dtype=np.float32)
    pixels = np.stack([item.photo.ravel() for item in questions]).astype(np.float64)
    pixels /= np.maximum(np.linalg.norm(pixels, axis=1, keepdims=True), 1)
    words = _question_words()[[item.question for item in questions]]
    return (np.concatenate([pixels, words], axis=1) / np.sqrt(2)).astype(np.float32)


@cache
def _question_words() -> NDArray[np.float32]:
    return HashedEmbedder(QUESTION_WIDTH).embed(QUESTIONS)
