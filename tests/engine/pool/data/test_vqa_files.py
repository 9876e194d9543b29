"""Questions and annotations of VQA's files, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import DataError
from engine.pool.data.vqa_files import VQAQuestion, read_vqa
from tests.exactly import exactly


def files(folder: Path, answers: list[str]) -> tuple[Path, Path]:
    questions, annotations = folder / "questions.json", folder / "annotations.json"
    questions.write_text(json.dumps({"questions": [{"question_id": 7, "image_id": 3, "question": "What?"}]}))
    given = [{"question_id": 7, "answers": [{"answer": answer} for answer in answers]}]
    annotations.write_text(json.dumps({"annotations": given}))
    return questions, annotations


def test_four_answers_are_enough_and_three_are_not(tmp_path: Path) -> None:
    """With four, VQA accuracy can be 1: the other three of each annotator agree."""
    said = ["b", "a", "b", "c"]
    assert read_vqa(*files(tmp_path, said)) == [VQAQuestion("7", 3, "What?", tuple(said))]
    with pytest.raises(
        DataError,
        match=exactly(
            "question 7 has 3 answers, the VQA accuracy needs 4 or more (…/annotations.json): give the "
            "annotations that belong to these questions"
        ),
    ):
        read_vqa(*files(tmp_path, said[:3]))


@pytest.mark.parametrize(("answers", "majority"), [("bab", "b"), ("cbcb", "b"), ("a", "a")])
def test_the_majority_s_answer_of_equal_ones_the_first_in_the_alphabet(answers: str, majority: str) -> None:
    assert VQAQuestion("7", 3, "What?", tuple(answers)).majority == majority
