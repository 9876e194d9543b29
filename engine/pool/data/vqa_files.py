"""Reads questions and people's answers from the JSON files of VQAv2 and OK-VQA (visualqa.org, okvqa.allenai.org)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sys import intern

import msgspec

from engine.errors import DataError
from engine.files import decoded
from engine.pool.data.dataset import majority

FEWEST_ANNOTATORS = 4
"""With fewer, no answer can be fully right (`official_vqa_accuracy`)."""


class _Question(msgspec.Struct):
    question_id: int | str
    image_id: int | str
    question: str


class _Answer(msgspec.Struct):
    answer: str


class _Annotation(msgspec.Struct):
    question_id: int | str
    answers: list[_Answer]


class _Questions(msgspec.Struct):
    questions: list[_Question]


class _Annotations(msgspec.Struct):
    annotations: list[_Annotation]


class VQAQuestion(msgspec.Struct, frozen=True):
    """A question with its image's id and people's answers."""

    question_id: str
    image_id: int | str
    text: str
    answers: tuple[str, ...]

    @property
    def majority(self) -> str:
        """The most frequent answer."""
        return majority(self.answers)


def read_vqa(questions: Path, annotations: Path) -> list[VQAQuestion]:
    """The questions, in the file's order. Raises DataError for an unusable file, a question with fewer than four
    answers and a repeated id."""
    form = ("a VQA file cannot be read", "give the published JSON file, unpacked")
    asked = decoded(questions, _Questions, *form).questions
    answers: dict[str, tuple[str, ...]] = {}
    for annotation in decoded(annotations, _Annotations, *form).annotations:
        name = str(annotation.question_id)
        if name in answers:
            raise DataError(
                what=f"question {name} is annotated twice", where=str(annotations), hint="remove one of them"
            )
        # Interned: few different answers, many times.
        answers[name] = tuple(intern(answer.answer) for answer in annotation.answers)
    joined = list(_joined(asked, answers, questions, annotations))
    if not joined:
        raise DataError(what="no questions", where=str(questions), hint="give a file with questions")
    return joined


def _joined(
    asked: list[_Question], answers: dict[str, tuple[str, ...]], questions: Path, annotations: Path
) -> Iterator[VQAQuestion]:
    seen: set[str] = set()
    for question in asked:
        name = str(question.question_id)
        given = answers.get(name, ())
        if name in seen:
            raise DataError(
                what=f"question_id {name} occurs twice", where=str(questions), hint="remove one of them"
            )
        if len(given) < FEWEST_ANNOTATORS:
            raise DataError(
                what=f"question {name} has {len(given)} answers, the VQA accuracy needs {FEWEST_ANNOTATORS} or more",
                where=str(annotations),
                hint="give the annotations that belong to these questions",
            )
        seen.add(name)
        yield VQAQuestion(name, question.image_id, question.question, given)
