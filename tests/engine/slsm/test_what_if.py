"""An answer in a conversation under another note: nothing but the note is new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DataError, SteerError
from engine.events import ConversationAnswered, Event
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.spent import Spent
from engine.slsm import layout
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given, LocalChatModel
from engine.slsm.judges.judge import AnswerJudgeFailed, AnswerVerdict
from engine.slsm.policy import REMINDER
from engine.slsm.records import TurnRecord
from engine.slsm.turns import Conversation, Turn, turns_of
from engine.slsm.what_if import WhatIf, WhatIfRequest
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.engine.slsm.note_following_model import NoteFollowingModel
from tests.engine.slsm.small_run import small_config
from tests.engine.slsm.stage_run import ALL, DIALOGUES, run_slsm
from tests.exactly import exactly

FIELDS: dict[str, Any] = {"data": {"conversations": DIALOGUES}, "temperature": 0.7} | ALL


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ConversationAnswered]]:
    folder = tmp_path_factory.mktemp("run")
    events: list[Event] = run_slsm(folder, temperature=0.7, **ALL)
    return folder, [event for event in events if isinstance(event, ConversationAnswered)]


class Willing(NoteFollowingModel):
    """Answers also what it has never heard."""

    def answer(self, messages: Sequence[dict[str, str]], seed: int) -> str:
        try:
            return super().answer(messages, seed)
        except KeyError:
            return "Well."


@pytest.fixture(scope="module")
def model() -> NoteFollowingModel:
    return Willing(generate_dialogues(DIALOGUES, 0))


@pytest.fixture(scope="module")
def what_if(run: tuple[Path, list[ConversationAnswered]], model: NoteFollowingModel) -> WhatIf:
    return WhatIf(context(run[0], model))


def context(folder: Path, model: Any, **slsm: Any) -> StageContext:
    config = small_config(**FIELDS | slsm)
    return StageContext("slsm", config, folder, lambda event: None, lambda: None, lambda section: model)


def of(event: ConversationAnswered, **more: Any) -> WhatIfRequest:
    case = {"mode": event.mode, "memory_mode": event.memory_mode, "attempt": event.attempt}
    return WhatIfRequest(conversation=event.conversation_id, **case, **more)


def test_every_answer_comes_again_with_its_verdict(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf
) -> None:
    for event in run[1]:
        tried = what_if.tried(of(event, note=event.note))
        assert tried.exact, tried.difference
        assert (tried.committed.text, tried.committed.right) == (event.answer, event.passed)
        assert tried.yours[0].text == event.answer and tried.committed.note == event.note


def test_a_memorys_note_gives_the_answer_of_the_mode_that_had_it(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf
) -> None:
    """Changed answers are those of a run with that choice: `always` beside `baseline`."""
    by_mode = {(e.conversation_id, e.mode, e.memory_mode): e for e in run[1]}
    changed = 0
    for event in run[1]:
        if event.mode != "baseline":
            continue
        for memory in ("structured", "flat"):
            always = by_mode[event.conversation_id, "always", memory]
            tried = what_if.tried(of(event, source=memory))
            assert (tried.yours[0].note, tried.yours[0].text) == (always.note, always.answer)
            assert tried.none.text == tried.committed.text == event.answer
            changed += tried.yours[0].text != event.answer
    assert changed


def test_an_earlier_turn_is_answered_again(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf, model: NoteFollowingModel
) -> None:
    """What stood in the conversation there came with the data, which the event says; without the note of the last."""
    model.asked.clear()
    tried = what_if.tried(of(next(one for one in run[1] if one.note), turn=0, note="Be kind."))
    assert (tried.committed.note, tried.committed.given) == ("", "no note, as in the run")
    assert not tried.exact and "no model of this run wrote it" in tried.difference
    assert tried.case["turn"] == 0 and tried.committed.right is None
    asked = [conversation for conversation, _ in model.asked]
    assert all(conversation.count('"role"') == 1 for conversation in asked)
    assert sum("Be kind." in conversation for conversation in asked) == 1


def test_the_sentence_that_is_always_the_same(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf
) -> None:
    assert what_if.tried(of(run[1][0], source="reminder")).yours[0].note == REMINDER


@pytest.mark.parametrize(
    ("slsm", "turn", "words"),
    [
        ({}, None, "the run has: {}"),
        (
            {"answers": {"kind": "openai"}}, None,
            "another answer came: the model behind a server need not answer twice alike",
        ),
        ({}, 0, "the answer in this turn came with the conversation: no model of this run wrote it"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_the_run_s_says_why(
    run: tuple[Path, list[ConversationAnswered]],
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
    slsm: dict[str, Any],
    turn: int | None,
    words: str,
) -> None:
    monkeypatch.setattr("engine.slsm.what_if.make_chat_model", lambda context: Other())
    tried = WhatIf(context(run[0], model, **slsm)).tried(of(run[1][0], turn=turn))
    assert not tried.exact and tried.difference == words.format(run[1][0].answer)
    assert [one.text for one in (tried.committed, tried.none, *tried.yours)] == ["Other."] * 3


class Other:
    """A model that says something else than the run's."""

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Any, keep: Given) -> None:
        keep(0, ChatAnswer("Other.", Spent()))

    def count_tokens(self, text: str) -> int:
        return len(text)


def test_an_answer_that_could_not_be_given_has_failed(
    run: tuple[Path, list[ConversationAnswered]], model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Other):
        def answer(self, asks: Sequence[ChatAsk], checkpoint: Any, keep: Given) -> None:
            keep(0, ChatAnswer("", Spent(), failure="it is too long"))

    monkeypatch.setattr("engine.slsm.what_if.make_chat_model", lambda context: Silent())
    for judge, right in (({}, False), ({"judge": {"kind": "none"}}, None)):
        tried = WhatIf(context(run[0], model, **judge)).tried(of(run[1][0], note="A note"))
        assert (tried.yours[0].right, tried.yours[0].verdict) == (right, "no answer: it is too long")


class Failing:
    """A judge that gives no verdict."""

    def judge(self, criterion: Any, answer: str) -> AnswerVerdict:
        raise AnswerJudgeFailed(what="no verdict", where="there", hint="wait")


def test_a_judge_is_made_only_where_something_is_asked_of_the_answers(
    model: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One behind a server needs a key."""
    data = SimpleNamespace(conversations=[], criteria={})
    monkeypatch.setattr("engine.slsm.what_if.make_dialogues", lambda context: data)
    monkeypatch.setattr("engine.slsm.what_if.make_judge", lambda context: pytest.fail("it is made"))
    WhatIf(context(tmp_path, model))


@pytest.mark.parametrize(("prompt", "right"), [("multichallenge", False), ("default", None)])
def test_without_a_verdict_it_counts_as_the_run_counts_it(
    run: tuple[Path, list[ConversationAnswered]],
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
    prompt: str,
    right: bool | None,
) -> None:
    monkeypatch.setattr("engine.slsm.what_if.make_judge", lambda context: Failing())
    judge = {"kind": "openai", "prompt": prompt}
    tried = WhatIf(context(run[0], model, judge=judge)).tried(of(run[1][0]))
    assert (tried.committed.right, tried.committed.verdict) == (right, "no verdict (there): wait")


def test_what_a_try_says_beside_its_answers(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf
) -> None:
    """A letter is a token here; what is asked of an answer is told of the last turn alone."""
    noted = next(one for one in run[1] if one.mode == "always" and one.note)
    tried = what_if.tried(of(noted, note="Be kind."))
    given = [(one.given, one.note, one.tokens) for one in (tried.committed, tried.none, *tried.yours)]
    assert given == [
        ("the note of the run", noted.note, len(noted.note)), ("no note", "", 0), ("your note", "Be kind.", 8),
    ]  # fmt: skip
    dialogue = next(one for one in generate_dialogues(DIALOGUES, 0) if one.id == noted.conversation_id)
    assert (tried.system, tried.example, tried.question) == ("slsm", noted.conversation_id, dialogue.question)
    assert tried.gold.endswith((" YES", " NO")) and "Does the answer" in tried.gold
    last = len(dialogue.turns)
    assert tried.case == {"mode": "always", "memory_mode": noted.memory_mode, "attempt": 0, "turn": last}
    early = what_if.tried(of(noted, turn=0))
    assert (early.gold, early.question) == ("", dialogue.turns[0][0])
    assert (early.committed.given, early.yours[0].given) == ("no note, as in the run", "no note")
    words = {
        source: what_if.tried(of(noted, source=source)).yours[0].given for source in ("flat", "reminder")
    }
    assert words == {
        "flat": "the note of the flat memory",
        "reminder": "the sentence that is always the same",
    }


def test_a_memory_that_the_run_did_not_keep(tmp_path: Path, model: Any) -> None:
    events = run_slsm(tmp_path, temperature=0.7, compare=["baseline"])
    event = next(one for one in events if isinstance(one, ConversationAnswered))
    with pytest.raises(DataError) as caught:
        WhatIf(context(tmp_path, model)).tried(of(event, source="flat"))
    assert str(caught.value) == (
        f"the run kept no flat memory of this turn ({layout.states(tmp_path)}): write the note yourself, or run with "
        "this kind of memory in slsm.compare_memory"
    )


def test_open_turns_have_what_the_model_wrote_in_this_conversation(tmp_path: Path, model: Any) -> None:
    """What the data give stays, and another conversation's answers are its own."""
    what_if: Any = object.__new__(WhatIf)
    what_if._context = context(tmp_path, model)
    own = Conversation("own", (Turn("a"), Turn("b", "given"), Turn("c"), Turn("d")))
    what_if._conversations = {"own": own, "other": replace(own, id="other")}
    assert what_if._conversation("own") == own, "no file, no answers"
    records = KeyedRecords(layout.turns(tmp_path), TurnRecord, TurnRecord.key)
    for name, turn in (("own", 0), ("other", 0), ("own", 1), ("own", 2), ("other", 2)):
        records.add(TurnRecord(conversation_id=name, turn=turn, answer=f"{name} {turn}"))
    assert what_if._conversation("own").turns == (
        Turn("a", "own 0"), Turn("b", "given"), Turn("c", "own 2"), Turn("d"),
    )  # fmt: skip
    assert [what_if._wrote("own", turn) for turn in range(4)] == [True, False, True, True]


def test_messages_of_before_an_earlier_turn_are_sent_as_they_were(tmp_path: Path, model: Any) -> None:
    given = [("system", "S"), ("user", "a"), ("user", "b"), ("assistant", None), ("user", "c")]
    what_if: Any = object.__new__(WhatIf)
    what_if._context, what_if._model = context(tmp_path, model), LocalChatModel(model, 9, 0.7)
    messages = [{"role": role, "content": text} for role, text in given]
    what_if._conversations = {"own": Conversation("own", turns_of(messages))}
    records = KeyedRecords(layout.turns(tmp_path), TurnRecord, TurnRecord.key)
    records.add(TurnRecord(conversation_id="own", turn=0, answer="it wrote"))
    model.asked.clear()
    request = WhatIfRequest(conversation="own", mode="baseline", memory_mode="", attempt=0)
    what_if._answer(what_if._conversation("own"), request, 0, "N", "your note")
    (asked,) = (json.loads(prompt) for prompt, _ in model.asked)
    assert asked == [*messages[:2], {"role": "user", "content": "b\n\nN"}]


def test_nothing_of_the_run_is_touched(run: tuple[Path, list[ConversationAnswered]], model: Any) -> None:
    before = {path: path.read_bytes() for path in layout.folder(run[0]).iterdir()}
    WhatIf(context(run[0], model)).tried(of(run[1][0]))
    assert {path: path.read_bytes() for path in layout.folder(run[0]).iterdir()} == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"conversation": "none"}, "no answer in conversation 'none'"),
        ({"mode": "reminder"}, "reminder has no answer"),
        ({"turn": 99}, "the conversation has no turn 100"),
    ],
)
def test_what_the_run_does_not_have_is_refused(
    run: tuple[Path, list[ConversationAnswered]], what_if: WhatIf, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataError) as caught:
        what_if.tried(WhatIfRequest(**(of(run[1][0]).model_dump() | change)))
    assert words in str(caught.value)


def test_a_conversation_that_the_data_have_no_more_is_refused(
    run: tuple[Path, list[ConversationAnswered]], model: Any
) -> None:
    """Its file may have been changed since the run."""
    gone = of(next(one for one in run[1] if one.conversation_id != run[1][0].conversation_id))
    what_if = WhatIf(context(run[0], model))
    del what_if._conversations[gone.conversation]
    with pytest.raises(DataError, match=f"has no answer in conversation '{gone.conversation}'"):
        what_if.tried(gone)


def test_answers_of_a_file_cannot_be_given_again(
    run: tuple[Path, list[ConversationAnswered]], model: Any
) -> None:
    with pytest.raises(
        SteerError,
        match=exactly(
            "slsm.answers.kind: found file, which answers its own questions alone, expected local or openai "
            "(configuration): correct this value"
        ),
    ):
        WhatIf(
            context(run[0], model, answers={"kind": "file", "path": "answers.jsonl"}, compare=["baseline"])
        )
