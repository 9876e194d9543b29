"""A file of answers in a model's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.errors import DataError
from engine.events import ConversationAnswered, Event, ModeScored, Notice
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.published_answers import PublishedAnswers, read_answers
from engine.slsm.slsm_stage import RunSLSM
from engine.tasks.generated.dialogues.records import generate_dialogues, multichallenge_jsonl
from tests.engine.slsm.small_run import small_config
from tests.exactly import exactly
from tests.training.dialogue_answers import answer_to

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
        {"QUESTION_ID": one.id, "RESPONSE": answer_to(one, random.Random(0), remembers=True)}
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


def test_lists_are_attempts_of_which_one_that_passes_is_enough(tmp_path: Path) -> None:
    """As MultiChallenge's answers are published: `RESPONSE` is a list, most often of one text."""
    records = right()
    good = [record["RESPONSE"] for record in records]
    for record in records:
        record["RESPONSE"] = [record["RESPONSE"]]
    records[0]["RESPONSE"] = ["Nothing.", good[0]]
    records[1]["RESPONSE"] = ["Nothing.", None]
    records[2]["RESPONSE"] = []
    events = run(tmp_path, records)
    found = {
        (one.conversation_id, one.attempt): one for one in events if isinstance(one, ConversationAnswered)
    }
    assert len(found) == 2 * COUNT, "as many attempts as the longest list has"
    ids = [record["QUESTION_ID"] for record in records]
    assert [found[ids[0], attempt].passed for attempt in (0, 1)] == [False, True]
    assert [found[ids[1], attempt].failure for attempt in (0, 1)] == ["", "the answer in the file is empty"]
    assert [found[ids[2], attempt].failure for attempt in (0, 1)] == [
        "the file has no further attempt at it"
    ] * 2
    assert [found[ids[3], attempt].answer for attempt in (0, 1)] == [good[3], ""]
    outcomes = {key: found[key, 0].passed or found[key, 1].passed for key in ids}
    assert [key for key in ids if not outcomes[key]] == ids[1:3]
    (scored,) = [one for one in events if isinstance(one, ModeScored)]
    assert (scored.n, scored.judged) == (COUNT, COUNT)


def test_what_the_file_lacks_is_reported_and_counts_as_the_authors_count_it(tmp_path: Path) -> None:
    """12 dialogues on four axes, three each. Two of the first axis are not in the file; all others pass. Both counts
    have 1 of 3 on the first axis: (1/3 + 1 + 1 + 1) / 4 = 0.8333."""
    lines = multichallenge_jsonl(COUNT, 0).splitlines()
    records, axes = right(), [json.loads(line)["AXIS"] for line in lines]
    assert sorted(axes.count(axis) for axis in set(axes)) == [3, 3, 3, 3]
    first = [number for number, axis in enumerate(axes) if axis == axes[0]]
    kept = [record for number, record in enumerate(records) if number not in first[:2]]
    events = run(tmp_path, [*kept, {"id": "stranger", "answer": "x"}])
    about = json.loads(layout.summary(tmp_path).read_text())
    assert (about["score_baseline_none"], about["score_as_published_baseline_none"]) == (0.8333, 0.8333)
    notices = [event.text for event in events if isinstance(event, Notice) and event.level == "warning"]
    assert "slsm.answers.path: no answer to 2 of 12 conversations" in notices
    failures = [one.failure for one in events if isinstance(one, ConversationAnswered) and one.failure]
    assert failures == ["the file has no answer to it"] * 2
    assert "slsm.answers.path: no conversation for 1 of 11 answers" in notices


def test_answers_beyond_the_limit_are_no_matter(tmp_path: Path) -> None:
    events = run(tmp_path, right(), data={"path": str(tmp_path / "questions.jsonl"), "conversations": 4})
    assert not [one.text for one in events if isinstance(one, Notice) and "slsm.answers.path" in one.text]
    assert sum(isinstance(one, ConversationAnswered) for one in events) == 4


NAME_THEM = "name the answers to the conversations of slsm.data.path; ids tell which belongs to which"
FORM = "one JSON object a line with `QUESTION_ID` and `RESPONSE` (or `id` and `answer`), a text or a list of attempts"


@pytest.mark.parametrize(
    ("records", "what", "where"),
    (
        (
            [{"id": "a", "answer": "x"}],
            f"no answer to 12 of 12 conversations; no conversation for 1 of 1 answers (…/answers.jsonl): {NAME_THEM}",
            "answers",
        ),
        ([], f"no answer to 12 of 12 conversations (…/answers.jsonl): {NAME_THEM}", ""),
        (
            [*right(), right()[0]],
            "the id 'dialogue-…' occurs twice (…/answers.jsonl:13): put all attempts at a question into one list",
            ".jsonl:13",
        ),
        (["{"], "this line is not JSON (…) (…/answers.jsonl:1): correct or remove it", ".jsonl:1"),
        ([{"RESPONSE": "x"}], f"the id is None (…/answers.jsonl:1): {FORM}", ".jsonl:1"),
        ([{"id": True, "RESPONSE": "x"}], f"the id is True (…/answers.jsonl:1): {FORM}", ".jsonl:1"),
        (
            [{"QUESTION_ID": "a", "RESPONSE": None}],
            f"the answer is None (…/answers.jsonl:1): {FORM}",
            ".jsonl:1",
        ),
        (
            [right()[0], {"QUESTION_ID": "a", "RESPONSE": ["x", {"text": "y"}]}],
            f"attempt 2 is {{'text': 'y'}} (…/answers.jsonl:2): {FORM}",
            ".jsonl:2",
        ),
    ),
)
def test_a_file_that_does_not_fit_is_refused_at_once(
    tmp_path: Path, records: list[Any], what: str, where: str
) -> None:
    with pytest.raises(DataError, match=exactly(what)) as raised:
        run(tmp_path, records)
    assert where in raised.value.where
    assert not layout.answers(tmp_path).exists()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    from engine.slsm.multichallenge import parse_dialogues

    dialogues = parse_dialogues(multichallenge_jsonl(2, 0), "x", "x", None)
    with pytest.raises(
        DataError,
        match=exactly(
            "cannot be read: No such file or directory (…/none.jsonl): set slsm.answers.path to a file"
        ),
    ):
        read_answers(tmp_path / "none.jsonl", dialogues)


@pytest.mark.parametrize(
    ("slsm", "what"),
    (
        ({"answers": {"kind": "file"}}, "belong together"),
        ({"answers": {"path": "x"}}, "belong together"),
        ({"answers": {"kind": "file", "path": "x"}}, "without a note"),
        ({"answers": {"kind": "file", "path": "x"}, "compare": ["baseline", "always"]}, "without a note"),
        (
            {"answers": {"kind": "file", "path": "x"}, "compare": ["baseline"], "attempts": 2},
            "attempts of its lists",
        ),
    ),
)
def test_settings_that_do_not_go_with_a_file(slsm: dict[str, Any], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        small_config(**slsm)


def test_there_is_an_attempt_where_all_lists_are_empty() -> None:
    assert [PublishedAnswers("n", given).attempts for given in ({}, {"a": []}, {"a": ["x"], "b": ["y"] * 3})] == [
        1, 1, 3,
    ]  # fmt: skip
