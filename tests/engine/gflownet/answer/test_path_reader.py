"""The offline reader by hand: which paths it walks, how they are worded, and which ends it answers with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.events import PathStep
from engine.gflownet.answer.readers import PathReader
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt


class WordCounts:
    """An embedder over the words that it has met: texts with the same words are nearest."""

    name = "words"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts = list(texts)
        words = sorted({word for text in texts for word in text.lower().strip("?").split()})
        rows = np.array(
            [[text.lower().strip("?").split().count(word) for word in words] for text in texts], float
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def read(question: str, *triples: tuple[str, str, str]) -> tuple[str, list[str]]:
    """The answer, and the wordings that it was chosen from."""
    embedder = WordCounts()
    steps = [PathStep(head=h, relation=r, tail=t, score=1.0, gt=False, answer=False) for h, r, t in triples]
    asked: list[None] = []
    (answer,) = PathReader(embedder).read(  # type: ignore[arg-type]
        [build_triplet_prompt(question, steps, 1000)], lambda: asked.append(None)
    )
    assert asked == [None], "a stop is noticed between two questions"
    return answer, sorted(getattr(embedder, "texts", [])[1:])


FAMILY = (("Ann", "mother", "Bea"), ("Bea", "city", "Rome"), ("Ann", "city", "Oslo"), ("Cid", "city", "Lima"))


def test_the_nearest_wording_decides_and_the_last_relation_stands_first():
    answer, worded = read("what is the city of the mother of Ann?", *FAMILY)
    assert worded == ["city of Ann", "city of the mother of Ann", "mother of Ann"], (
        "Cid is not in the question"
    )
    assert answer == "Rome"
    assert read("city of Ann?", *FAMILY)[0] == "Oslo"


def test_all_ends_of_the_wording_are_answered_a_line_each():
    answer, _ = read(
        "the child of Ann?", ("Ann", "child", "Dan"), ("Ann", "child", "Eve"), ("Ann", "city", "Oslo")
    )
    assert answer == "Dan\nEve"


def test_of_two_named_entities_the_ends_that_both_reach():
    triples = (("Ann", "film", "X"), ("Ann", "film", "Y"), ("Bob", "film", "Y"), ("Bob", "film", "Z"))
    assert read("the film of Ann and Bob?", *triples) == ("Y", ["film of Ann and Bob"])


def test_no_walk_comes_back_or_is_longer_than_four_edges():
    ring = [(f"N{n}", "to", f"N{(n + 1) % 3}") for n in range(3)]
    assert read("where from N0 do I get?", *ring)[1] == ["to of N0", "to of the to of N0"]
    chain = [(f"K{n}", "to", f"K{n + 1}") for n in range(6)]
    assert len(read("where from K0 do I get?", *chain)[1]) == 4


@pytest.mark.parametrize("triples", [(), FAMILY])
def test_where_no_path_begins_at_the_question_it_is_unknown(triples: tuple[tuple[str, str, str], ...]):
    assert read("who wrote this?", *triples)[0] == "unknown"
    assert read("what is the city of ann?", *triples)[0] == "unknown", "names are read as they are spelled"
