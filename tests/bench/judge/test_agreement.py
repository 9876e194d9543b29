"""Holding a judge against people: the file is read, and the figures are those of the definition."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import DataError
from engine.evolution.judges.judge import Verdict
from tests.bench.judge.agreement import agreement_with_people
from tests.bench.judge.labelled_answers import LabelledAnswer, read_labelled_answers


def answer(right: bool, question: str = "?", kind: str = "") -> LabelledAnswer:
    return LabelledAnswer(question, ("41",), "41", right, kind)


def verdict(correct: bool) -> Verdict:
    return Verdict(correct, "")


CANNOT_TELL, FAILED = Verdict(None, ""), Verdict(None, "", failed=True)


def write(path: Path, *lines: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_figures_by_hand() -> None:
    """20 right by both, 5 by the judge alone, 10 by people alone, 15 by neither: Cohen's kappa is 0.4, his example."""
    cells = [(True, True)] * 20 + [(False, True)] * 5 + [(True, False)] * 10 + [(False, False)] * 15
    people = [answer(right, str(place)) for place, (right, _) in enumerate(cells)]
    said = [verdict(judge) for _, judge in cells]
    found = agreement_with_people([*people, answer(True), answer(True)], [*said, CANNOT_TELL, FAILED])[""]
    assert (found.answers, found.judged, found.cannot_tell) == (52, 50, 1)
    assert found.agreement == 0.7 and found.kappa == pytest.approx(0.4)
    assert found.precision == 0.8 and found.recall == pytest.approx(20 / 30)
    error = math.sqrt(0.7 * 0.3 / 50) / (1 - 0.5)  # Cohen 1960: of the agreement, over what chance leaves
    assert (found.kappa_low, found.kappa_high) == pytest.approx(
        (0.4 - 1.96 * error, 0.4 + 1.96 * error), abs=0.04
    )


def test_refusals_are_counted_apart() -> None:
    """Without them 4 right by both, 1 by the judge alone, 1 by people alone, 2 by neither: 6 of 8 agree, by chance
    (5 * 5 + 3 * 3) / 64 = 0.53125; kappa (0.75 - 0.53125) / 0.46875 = 7/15. Of three judged refusals the judge
    calls one right; as wrong answers they give 4, 2, 1, 4, by chance (6 * 5 + 5 * 6) / 121: kappa 28/61."""
    cells = [(True, True)] * 4 + [(False, True), (True, False)] + [(False, False)] * 2
    people = [answer(right, str(place)) for place, (right, _) in enumerate(cells)]
    refused = [replace(answer(False, f"r{place}"), refusal=True) for place in range(4)]
    said = [verdict(judge) for _, judge in cells]
    of_refused = [verdict(True), verdict(False), verdict(False), CANNOT_TELL]
    found = agreement_with_people([*people, *refused], [*said, *of_refused])[""]
    assert (found.answers, found.judged, found.cannot_tell) == (12, 11, 1)
    assert (found.refusals, found.refusals_right) == (3, 1)
    assert (found.agreement, found.precision, found.recall) == (0.75, 0.8, 0.8)
    assert found.kappa == pytest.approx(7 / 15)
    as_wrong = [*people, *(replace(one, refusal=False) for one in refused)]
    found = agreement_with_people(as_wrong, [*said, *of_refused])[""]
    assert found.kappa == pytest.approx(28 / 61) and (found.refusals, found.refusals_right) == (0, 0)
    assert found.precision == pytest.approx(4 / 6)


def test_types_have_figures_of_their_own() -> None:
    found = agreement_with_people(
        [
            answer(True, "a", "sums"),
            answer(False, "b", "sums"),
            answer(True, "c", "names"),
            answer(True, "d"),
        ],
        [verdict(True), verdict(False), CANNOT_TELL, verdict(False)],
    )
    assert list(found) == ["", "names", "sums"]
    assert found["sums"].kappa == 1.0 and found["sums"].judged == 2
    assert (found["names"].judged, found["names"].cannot_tell) == (0, 1)
    assert found["names"].kappa is None and found["names"].agreement is None


def test_one_question_has_no_interval() -> None:
    """However many answers it has."""
    found = agreement_with_people(
        [answer(True), answer(False), answer(True)], [verdict(True), verdict(False), verdict(False)]
    )[""]
    assert found.kappa == pytest.approx(0.4) and found.kappa_low is None and found.kappa_high is None


def test_answers_to_one_question_stand_together() -> None:
    """A hundred answers to two questions are two draws, not a hundred: the interval is wide."""
    people = [answer(place % 2 == 0, "a" if place < 50 else "b") for place in range(100)]
    said = [verdict(right.right if right.question == "a" else not right.right) for right in people]
    found = agreement_with_people(people, said)[""]
    assert found.kappa == pytest.approx(0.0) and (found.kappa_low, found.kappa_high) == (-1.0, 1.0)


def test_both_forms_of_file_are_read(tmp_path: Path) -> None:
    """This project's fields, and those in which FinanceBench's answers are published; a folder holds several."""
    write(
        tmp_path / "a.jsonl",
        {
            "question": "Cash?",
            "reference": ["41", "41.0"],
            "answer": "It is 41.",
            "label": True,
            "type": "sums",
        },
        {"question": "Debt?", "reference": 7, "answer": None, "label": "refusal"},
    )
    write(
        tmp_path / "b.jsonl",
        {"financebench_id": "x1", "question": "Cash?", "gold_answer": 41, "model_answer": "14",
         "label": "Incorrect Answer"},
        {"financebench_id": "x2", "question": "Cash?", "gold_answer": 41, "model_answer": "41",
         "label": "Correct Answer"},
    )  # fmt: skip
    assert read_labelled_answers(str(tmp_path), {"x1": "metrics"}) == [
        LabelledAnswer("Cash?", ("41", "41.0"), "It is 41.", True, "sums"),
        LabelledAnswer("Debt?", ("7",), "", False, refusal=True),
        LabelledAnswer("Cash?", ("41",), "14", False, "metrics"),
        LabelledAnswer("Cash?", ("41",), "41", True),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"question": "Cash?", "answer": "41", "label": True}, "no labelled answer"),
        ({"question": "Cash?", "reference": [], "answer": "41", "label": True}, "is empty"),
        ({"question": "", "reference": "41", "answer": "41", "label": True}, "is empty"),
        ({"question": "Cash?", "reference": "41", "answer": "41", "label": "perhaps"}, "'perhaps'"),
        ({"question": "Cash?", "reference": "41", "answer": "41"}, "None"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: dict[str, object], words: str) -> None:
    good = {"question": "Cash?", "reference": "41", "answer": "41", "label": True}
    with pytest.raises(DataError, match=words) as told:
        read_labelled_answers(write(tmp_path / "labels.jsonl", good, line))
    assert told.value.where.endswith("labels.jsonl:2") and told.value.hint


def test_a_file_without_answers_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no labelled answer"):
        read_labelled_answers(write(tmp_path / "labels.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        read_labelled_answers(str(tmp_path / "none.jsonl"))
