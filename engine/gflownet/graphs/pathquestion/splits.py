"""Which questions are trained on and which are held out: questions that share too much stay together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy.cluster.hierarchy import DisjointSet

from engine.gflownet.graphs.pathquestion.files import QuestionLine
from engine.gflownet.graphs.raw import Triple
from engine.gflownet.layout import SPLITS
from engine.seeds import generator


@dataclass(frozen=True)
class PathQuestion:
    """A question in its own words, with the gold paths of all lines that ask it."""

    number: int
    question: str
    topic: str
    answers: tuple[str, ...]
    gold_paths: tuple[tuple[Triple, ...], ...]


def merged(lines: Iterable[QuestionLine]) -> list[PathQuestion]:
    """One question for each wording: one with several gold paths stands in as many lines."""
    by_wording: dict[tuple[str, str], list[QuestionLine]] = {}
    for line in lines:
        by_wording.setdefault((line.question, line.topic), []).append(line)
    return [
        PathQuestion(
            number=same[0].number,
            question=question,
            topic=topic,
            answers=tuple(dict.fromkeys(name for line in same for name in line.answers)),
            gold_paths=tuple(dict.fromkeys(line.gold_path for line in same)),
        )
        for (question, topic), same in by_wording.items()
    ]


def _keys(question: PathQuestion) -> list[Hashable]:
    """What paraphrases share, which are in one split: topic entity and relations of a gold path."""
    return [(question.topic, tuple(relation for _, relation, _ in path)) for path in question.gold_paths]


def split_questions(
    questions: Sequence[PathQuestion], sizes: Mapping[str, int], seed: int
) -> dict[str, list[PathQuestion]]:
    """The questions of each split, at most as many as `sizes` says. In an order drawn by `seed`, a group
    goes to the first of test, validation, train that has room for all of it; inside a split questions keep their
    order."""
    groups = grouped(questions)
    order = generator(seed, "graphs", "split by questions").permutation(len(groups))
    numbers: dict[str, list[int]] = {split: [] for split in SPLITS}
    for group in (groups[place] for place in order):
        for split in reversed(SPLITS):
            if len(numbers[split]) + len(group) <= sizes[split]:
                numbers[split] += group
                break
    return {split: [questions[number] for number in sorted(chosen)] for split, chosen in numbers.items()}


def grouped(questions: Sequence[PathQuestion]) -> list[list[int]]:
    """Numbers of questions that share a key, directly or through others, in order of their first."""
    groups, first = DisjointSet(range(len(questions))), dict[Hashable, int]()
    for number, question in enumerate(questions):
        for key in _keys(question):
            groups.merge(number, first.setdefault(key, number))
    return sorted(map(sorted, groups.subsets()))
