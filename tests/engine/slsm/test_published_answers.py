"""A file of answers in a model's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.errors import DataError
from engine.events import ConversationAnswered, Event, ModeScored
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.published_answers import read_answers
from engine.slsm.slsm_stage import RunSLSM
from engine.tasks.generated.dialogues.records import generate_dialogues, multichallenge_jsonl
from tests.engine.slsm.small_run import small_config

COUNT = 12


def run(folder: Path, records: list[Any], **slsm: Any) -> list[Event]:
    questions, answers = folder / "questions.jsonl", folder / "answers.jsonl"
    questions.write_bytes(multichallenge_jsonl(COUNT, 0))
    answers.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))
    events: list[Event] = []
    config = small_config(
        **{
            "compare": ["baseline"], "data": {"path": str(questions)},
            "answers": {"kind": "file", "path": str(answers)},
        } | slsm
    )  # fmt: skip
    RunSLSM().run(StageContext("slsm", config, folder, events.append, lambda: None, None))  # type: ignore[arg-type]
    return events


def right(skip: int = 0) -> list[dict[str, Any]]:
    """The answer to each generated dialogue that passes."""
    import random

    return [
        {"QUESTION_ID": one.id, "RESPONSE": one.answer(random.Random(0), remembers=True)}
        for one in generate_dialogues(COUNT, 0)[skip:]
    ]


def test_each_conversation_gets_its_own_answer(tmp_path: Path) -> None:
    records = right()
    records[3]["RESPONSE"] = "Nothing."
    records[5]["RESPONSE"] = " "
    records[7] = {"id": records[7]["QUESTION_ID"], "answer": records[7]["RESPONSE"]}
    events = run(tmp_path, records[::-1])
    found = {one.conversation_id: one for one in events if isinstance(one, ConversationAnswered)}
    wrong = {records[3]["QUESTION_ID"], records[5]["QUESTION_ID"]}
    assert {key for key, one in found.items() if not one.passed} == wrong
    assert found[records[5]["QUESTION_ID"]].failure == "the answer in the file is empty"
    assert found[records[0]["QUESTION_ID"]].answer == records[0]["RESPONSE"]
    (scored,) = [one for one in events if isinstance(one, ModeScored)]
    assert (scored.n, scored.unanswered, scored.model_calls) == (COUNT, 1, 0)
    assert json.loads(layout.summary(tmp_path).read_text())["model"] == "answers of answers.jsonl"


def test_answers_beyond_the_limit_are_no_matter(tmp_path: Path) -> None:
    events = run(tmp_path, right(), data={"path": str(tmp_path / "questions.jsonl"), "conversations": 4})
    assert sum(isinstance(one, ConversationAnswered) for one in events) == 4


@pytest.mark.parametrize(
    ("records", "what", "where"),
    (
        (right(2), r"no answer to 2 of 12 conversations: \S+, \S+ \(", "answers.jsonl"),
        ([*right(), {"id": "stranger", "answer": "x"}], "no conversation for 1 of 13 answers: stranger", ""),
        ([], "no answer to 12 of 12 conversations: .*, …", ""),
        ([*right(), right()[0]], "occurs twice", "line 13"),
        (["{"], "not JSON", "line 1"),
        ([{"RESPONSE": "x"}], "the id is None", "line 1"),
        ([{"QUESTION_ID": "a", "RESPONSE": None}], "the answer is None", "line 1"),
    ),
)
def test_a_file_that_does_not_fit_is_refused_at_once(
    tmp_path: Path, records: list[Any], what: str, where: str
) -> None:
    with pytest.raises(DataError, match=what) as raised:
        run(tmp_path, records)
    assert where in raised.value.where
    assert not layout.answers(tmp_path).exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    from engine.slsm.multichallenge import parse_dialogues

    dialogues = parse_dialogues(multichallenge_jsonl(2, 0), "x", "x", None)
    with pytest.raises(DataError, match=r"cannot be read.*slsm\.answers\.path"):
        read_answers(tmp_path / "none.jsonl", dialogues)


@pytest.mark.parametrize(
    ("slsm", "what"),
    (
        ({"answers": {"kind": "file"}}, "belong together"),
        ({"answers": {"path": "x"}}, "belong together"),
        ({"answers": {"kind": "file", "path": "x"}}, "without a note"),
        ({"answers": {"kind": "file", "path": "x"}, "compare": ["baseline", "always"]}, "without a note"),
        ({"answers": {"kind": "file", "path": "x"}, "compare": ["baseline"], "attempts": 2}, "one answer"),
    ),
)
def test_settings_that_do_not_go_with_a_file(slsm: dict[str, Any], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        small_config(**slsm)
