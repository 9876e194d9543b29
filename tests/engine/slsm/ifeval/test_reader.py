"""Conversations made of IFEval's file: what they hold, that they are the same each time, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError
from engine.slsm.judges.judge import ExactAnswerJudge
from engine.slsm.multichallenge import Dialogues, read_dialogues
from tests.bench.ifeval.reader import read_ifeval
from tests.bench.make_ifeval_conversations import made
from tests.engine.slsm.ifeval_lines import TASKS, ifeval_jsonl
from tests.exactly import exactly


def read(data: bytes, most: int | None = None, between: int = 2, seed: int = 0) -> Dialogues:
    return read_ifeval(data, "ifeval.jsonl", "ifeval", most, between, seed)


def test_instruction_then_unrelated_tasks_then_its_own() -> None:
    found = read(ifeval_jsonl())
    assert {one.id for one in found.conversations} == {f"ifeval-{1000 + number}-1" for number in range(4)}
    for one in found.conversations:
        number = int(one.id.split("-")[1]) - 1000
        first, *between, last = [turn.user for turn in one.turns]
        assert first.startswith("For this whole conversation: ")
        assert last == TASKS[number]
        assert len(set(between)) == 2 and set(between) <= set(TASKS) - {last}
        assert [one.is_open(place) for place in range(4)] == [True, True, True, False]
        instruction = first.removeprefix("For this whole conversation: ")
        assert (
            found.criteria[one.id].target_question == f"Does the answer keep this instruction: {instruction}"
        )
    axes = {one.id: one.axis for one in found.conversations}
    assert axes["ifeval-1003-1"] == "startend:end_checker"


def test_a_prompt_with_two_instructions_makes_two_conversations() -> None:
    both = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}
    found = read(ifeval_jsonl(3, **both))
    assert sorted(one.id for one in found.conversations) == [
        "ifeval-1000-1", "ifeval-1001-1", "ifeval-1002-1", "ifeval-1002-2",
    ]  # fmt: skip


def test_the_seed_decides_and_nothing_else() -> None:
    data = ifeval_jsonl()
    assert read(data) == read(data)
    turns, others = ({one.id: one.turns for one in read(data, seed=seed).conversations} for seed in (0, 1))
    assert turns.keys() == others.keys() and turns != others, "tasks and wording are drawn"
    assert list(others) != list(turns), "and the order"
    part = read(data, most=2)
    whole = read(data).conversations
    assert list(part.conversations) == list(whole[:2])
    assert part.left_out == len(whole) - 2


def test_the_last_task_is_drawn_where_the_prompt_has_none() -> None:
    data = ifeval_jsonl(4, prompt="Without commas: what follows is for you.")
    (one,) = [one for one in read(data).conversations if one.id == "ifeval-1003-1"]
    assert len({turn.user for turn in one.turns}) == 4
    assert one.turns[-1].user in TASKS[:3]


def test_the_exact_judge_decides_by_the_instruction() -> None:
    found = read(ifeval_jsonl())
    judge, criterion = ExactAnswerJudge(), found.criteria["ifeval-1000-1"]
    assert judge.can_judge(criterion)
    assert judge.judge(criterion, "One and two.").passed
    assert not judge.judge(criterion, "One, two.").passed
    assert not judge.judge(criterion, "...").passed, "no words are no answer"


def test_the_file_made_of_it_is_read_as_the_same_conversations(tmp_path: Path) -> None:
    """With turns that are open; as many of them as are asked for, the others counted."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(made(ifeval_jsonl(), "ifeval.jsonl", tasks=2))
    found, whole = read_dialogues(path, 3), read(ifeval_jsonl())
    assert list(found.conversations) == list(whole.conversations[:3])
    assert found.criteria == {one.id: whole.criteria[one.id] for one in found.conversations}
    assert found.left_out == len(whole.conversations) - 3 == 1


def test_only_the_assistant_may_leave_a_turn_open(tmp_path: Path) -> None:
    path = tmp_path / "any.jsonl"
    said = [("user", "Hi"), ("assistant", None), ("user", None)]
    messages = [{"role": role, "content": text} for role, text in said]
    path.write_text(json.dumps({"messages": messages}))
    with pytest.raises(
        DataError,
        match=exactly(
            "`messages`: message 2 has no `content` (…/any.jsonl:1): give MultiChallenge's fields QUESTION_ID, "
            "AXIS, CONVERSATION, TARGET_QUESTION and PASS_CRITERIA; or `messages`, each with `role` (user, "
            "assistant, system) and `content`"
        ),
    ):
        read_dialogues(path, None)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"key": None}, "`key` is None"),
    ({"key": True}, "`key` is True"),
    ({"prompt": ""}, "`prompt` is ''"),
    ({"instruction_id_list": "x"}, "`instruction_id_list` is 'x'"),
    ({"kwargs": []}, "`kwargs` is no list with an object for each"),
    ({"kwargs": [None]}, "`kwargs` is no list with an object for each"),
    ({"instruction_id_list": ["keywords:existence"]}, "keywords:existence: `keywords` is"),
)


@pytest.mark.parametrize(("changes", "what"), BAD)
def test_a_bad_line_is_named(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(DataError) as raised:
        read(ifeval_jsonl(**changes))
    assert what in raised.value.what
    assert raised.value.where == "ifeval.jsonl:6"


UNFIT: tuple[tuple[Callable[[], Dialogues], str], ...] = (
    (lambda: read(ifeval_jsonl(key=1000, instruction_id_list=["punctuation:no_comma"], kwargs=[{}])),
     "a `key` occurs twice (ifeval.jsonl): give every prompt its own key"),
    (lambda: read(ifeval_jsonl(2), between=2),
     "2 prompts begin with a task that can be set by itself; 2 unrelated ones and a last one are needed "
     "(ifeval.jsonl): use the whole file, or set fewer tasks"),
    (lambda: read(ifeval_jsonl(1, instruction_id_list=["x:y"]), between=0),
     "no instruction that the exact checks know (ifeval.jsonl): they know punctuation:no_comma, …, "
     "language:response_language"),
    (lambda: read(ifeval_jsonl() + b"{"),
     "this line is not JSON (…) (ifeval.jsonl:7): correct or remove it"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "what"), UNFIT)
def test_a_file_that_does_not_do_is_refused(call: Callable[[], Dialogues], what: str) -> None:
    with pytest.raises(DataError, match=exactly(what)):
        call()
