"""Conversations from files, and who judges their answers; that nobody else is told what they are judged by."""

from __future__ import annotations

import csv
import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from engine.config.models.openai import OpenAISection
from engine.config.slsm import SLSMDataSection, SLSMJudgeSection
from engine.errors import ConfigError, DataError
from engine.events import ConversationAnswered, Event, ModeScored, Notice, SLSMBegan
from engine.run.stage import StageContext
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.spent import AskFailed
from engine.slsm import layout
from engine.slsm.judges.judge import AnswerJudgeFailed, ExactAnswerJudge
from engine.slsm.judges.openai_judge import OpenAIAnswerJudge
from engine.slsm.multichallenge import Criterion, parse_dialogues, read_dialogues
from engine.slsm.slsm_stage import RunSLSM
from engine.slsm.turns import Turn
from tests.engine.slsm.small_run import answers_of, small_config
from tests.exactly import exactly
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

SECRET = "Does the reply mention the zyxomma?"


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def record(key: str = "q1", **changes: Any) -> dict[str, Any]:
    """A line as published."""
    return {
        "QUESTION_ID": key,
        "AXIS": "INFERENCE_MEMORY",
        "CONVERSATION": said("My dog is Rex.", "Nice.", "What is my dog called?"),
        "TARGET_QUESTION": SECRET,
        "PASS_CRITERIA": "YES",
    } | changes


def lines(*records: Any) -> bytes:
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in records)


# ---------------------------------------------------------------- reading


def test_the_published_fields(tmp_path: Path) -> None:
    path = tmp_path / "benchmark_questions.jsonl"
    path.write_bytes(
        lines(
            record("a", AXIS="SELF_COHERENCE"), record("b", PASS_CRITERIA="no"), b"", record("c", EXTRA=[1])
        )
    )
    found = read_dialogues(path, 100)
    assert [one.id for one in found.conversations] == ["a", "b", "c"]
    assert found.conversations[0].turns == (Turn("My dog is Rex.", "Nice."), Turn("What is my dog called?"))
    assert found.axes == ["SELF_COHERENCE", "INFERENCE_MEMORY"], "as they come"
    assert found.criteria["b"] == Criterion(SECRET, "NO")
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.name == "benchmark_questions"
    assert [one.id for one in read_dialogues(path, 2).conversations] == ["a", "b"]


def test_the_hubs_parquet_is_the_same(tmp_path: Path) -> None:
    """Small letters, messages by column or one by one, a column more."""
    published = [record("a", PASS_CRITERIA="YES "), record("b", AXIS="SELF_COHERENCE")]
    rows: list[dict[str, Any]] = [
        {name.lower(): value for name, value in one.items()} | {"num_turns": 2} for one in published
    ]
    by_column: list[dict[str, Any]] = [
        row
        | {"conversation": {key: [one[key] for one in row["conversation"]] for key in ("role", "content")}}
        for row in rows
    ]
    whole = parse_dialogues(lines(*published), "x", "x", 9)
    path = tmp_path / "test-00000-of-00001.parquet"
    for table in (rows, by_column):
        parquet.write_table(pyarrow.Table.from_pylist(table), path)
        found = read_dialogues(path, 9)
        assert (found.conversations, found.criteria) == (whole.conversations, whole.criteria)
        assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    parquet.write_table(pyarrow.Table.from_pylist([rows[0], rows[1] | {"axis": None}]), path)
    with pytest.raises(
        DataError,
        match=exactly(
            "Expected `str`, got `null` - at `$.AXIS` (…/test-00000-of-00001.parquet: row 2): give "
            "MultiChallenge's fields QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION and PASS_CRITERIA; or "
            "`messages`, each with `role` (user, assistant, system) and `content`"
        ),
    ):
        read_dialogues(path, 9)


def test_plain_chats_need_no_criteria() -> None:
    data = lines(
        {"messages": said("Hi", "Hello", "How are you?")},
        {"id": 7, "messages": said("A?"), "topic": "x"},
        {"id": 0, "messages": said("B?")},
    )
    found = parse_dialogues(data, "chats.jsonl", "chats", 9)
    assert [one.id for one in found.conversations] == ["chat-1", "7", "0"]
    assert not found.criteria
    assert found.axes == [""]


def test_system_messages_open_the_first_turn_and_neighbours_are_joined() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        *said("Hi"),
        *said("there"),
        {"role": "assistant", "content": "Hello"},
        {"role": "assistant", "content": "again"},
        *said("Bye"),
    ]
    (one,) = parse_dialogues(lines({"messages": messages}), "x", "x", 1).conversations
    assert one.turns == (Turn("Be kind.\n\nHi\n\nthere", "Hello\n\nagain"), Turn("Bye"))
    assert one.messages("NOTE")[-1] == {"role": "user", "content": "Bye\n\nNOTE"}


MALFORMED = {
    "not JSON": b"{",
    "not UTF-8": b'{"QUESTION_ID": "\xff"}',
    "not a JSON object": [1, 2],
    **{f"missing required field `{name}`": {key: value for key, value in record().items() if key != name}
       for name in record()},
    "Expected `array`, got `str` - at `$.CONVERSATION`": record(CONVERSATION="Hi"),
    "`CONVERSATION`: no message": record(CONVERSATION=[]),
    "`CONVERSATION`: no message of the user": record(CONVERSATION=[{"role": "system", "content": "x"}]),
    "Expected `object`, got `str` - at `$.CONVERSATION[0]`": record(CONVERSATION=["Hi"]),
    "missing required field `content` - at `$.CONVERSATION[1]`": record(CONVERSATION=[*said("Hi"), {"role": "user"}]),
    "`CONVERSATION`: message 0 has no `content`": record(CONVERSATION=[{"role": "user", "content": None}]),
    "got `int` - at `$.CONVERSATION[0].content`": record(CONVERSATION=[{"role": "user", "content": 1}]),
    "`CONVERSATION`: message 0 has the role 'tool'": record(CONVERSATION=[{"role": "tool", "content": ""}]),
    "`CONVERSATION`: message 0 is the assistant's": record(CONVERSATION=[{"role": "assistant", "content": "Hi"}]),
    "`CONVERSATION`: the last message is the assistant's": record(CONVERSATION=said("Hi", "Hello")),
    "`PASS_CRITERIA` is 'MAYBE'": record(PASS_CRITERIA="MAYBE"),
    "got `null` - at `$.PASS_CRITERIA`": record(PASS_CRITERIA=None),
    "got `null` - at `$.TARGET_QUESTION`": record(TARGET_QUESTION=None),
    "at `$.TARGET_QUESTION`": record(TARGET_QUESTION=""),
    "got `array` - at `$.AXIS`": record(AXIS=[]),
    "got `null` - at `$.QUESTION_ID`": record(QUESTION_ID=None),
    "got `bool` - at `$.QUESTION_ID`": record(QUESTION_ID=True),
    "the id 'q0' occurs twice": record("q0"),
    "Expected `array`, got `object` - at `$.messages`": {"messages": {}},
    "`messages`: the last message is the assistant's": {"messages": said("Hi", "Hello")},
    "at `$.id`": {"id": [], "messages": said("Hi")},
}  # fmt: skip


FORM = (
    "give MultiChallenge's fields QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION and PASS_CRITERIA; or `messages`, "
    "each with `role` (user, assistant, system) and `content`"
)
HINTS = {
    "not JSON": "correct or remove it", "not a JSON object": "correct or remove it",
    "the last message": "end with what the user says last", "`PASS_CRITERIA` is": "YES or NO",
    "occurs twice": "give every conversation its own id",
}  # fmt: skip


@pytest.mark.parametrize(("told", "malformed"), MALFORMED.items(), ids=MALFORMED)
def test_a_malformed_line_is_one_error_with_line_and_field(told: str, malformed: Any) -> None:
    with pytest.raises(DataError) as raised:
        parse_dialogues(lines(record("q0"), malformed), "data.jsonl", "data", 9)
    told = "not JSON" if told == "not UTF-8" else told
    assert told in raised.value.what
    assert raised.value.where == "data.jsonl:2"
    assert raised.value.hint == next((hint for words, hint in HINTS.items() if words in told), FORM)


def test_half_a_letter_is_read_as_a_question_mark() -> None:
    (one,) = parse_dialogues(lines(record(CONVERSATION=said("Hi \ud800"))), "x", "x", 1).conversations
    assert one.turns[-1].user == "Hi ?"


def test_no_file_and_no_conversation_are_errors(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "cannot be read: No such file or directory (…/none.jsonl): set slsm.data.path to a file, or to "
            "hub:ScaleAI/MultiChallenge"
        ),
    ):
        read_dialogues(tmp_path / "none.jsonl", 1)
    with pytest.raises(
        DataError,
        match=exactly(
            "no conversation (x): one JSON object a line, in MultiChallenge's form or with `messages`"
        ),
    ):
        parse_dialogues(b"\n\n", "x", "x", 1)


# ---------------------------------------------------------------- judges


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    (
        ('Does the answer end with the word "maple"?', "A tree. MAPLE!", "A maple tree."),
        ('Does the answer begin with the word "Sure"?', "sure, yes.", "Yes, sure."),
        ('Does the answer contain the word "Rex"?', "It is rex.", "It is Rexford."),
        ('Does the answer give exactly the list "tea, milk"?', "It is tea, milk.", "Your list is tea, milk, jam."),
        ('Does the answer give exactly the list "tea, milk"?', "Tea, milk", "Your list is jam, tea, milk."),
        ('Does the answer give exactly the list "tea, milk"?', "So: tea, milk!", "Your list is tea, milk and jam."),
        ("Is the answer written in capital letters only?", "YES, 2.", "YES, two."),
        ("Is the answer written in capital letters only?", "2 M", "2 + 2 = 4"),
    ),
)  # fmt: skip
def test_the_exact_judge(question: str, yes: str, no: str) -> None:
    judge = ExactAnswerJudge()
    for criterion, first, second in (
        (Criterion(question, "YES"), yes, no),
        (Criterion(question, "NO"), no, yes),
    ):
        assert judge.judge(criterion, first).passed
        for answer, reply in ((yes, "YES"), (no, "NO")):
            assert judge.judge(criterion, answer).reason == f"{reply} to: {question}"
        assert judge.judge(criterion, " ").reason == "there is no answer"
        assert not judge.judge(criterion, second).passed
        assert not judge.judge(criterion, " ").passed


def test_the_exact_judge_refuses_what_it_cannot_decide() -> None:
    with pytest.raises(
        AnswerJudgeFailed,
        match=exactly(
            "the exact judge cannot decide 'Is the answer kind?' (slsm.judge.kind): use `openai` for questions of"
            " meaning"
        ),
    ):
        ExactAnswerJudge().judge(Criterion("Is the answer kind?", "YES"), "Yes.")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-judge-secret")


def openai(server: MisbehavingServer, timeout: float = 30) -> dict[str, Any]:
    return {"base_url": server.url, "api_key_env": "TEST_KEY", "timeout": timeout, "retries": 0}


def judge_at(server: MisbehavingServer, timeout: float = 30) -> OpenAIAnswerJudge:
    section = OpenAISection(**openai(server, timeout))
    return OpenAIAnswerJudge(OpenAIClient(section, "slsm.judge.openai"), section.model, capitals=True)


def verdict(said: str, **more: Any) -> str:
    return json.dumps({"reasoning": "because", "verdict": said} | more)


@pytest.mark.parametrize(
    ("criteria", "given", "passed"),
    (("YES", "YES", True), ("YES", "no", False), ("NO", "NO", True), ("NO", " no\n", True)),
)
def test_a_judge_behind_a_server(criteria: str, given: str, passed: bool) -> None:
    with misbehaving_server(lambda body: verdict(given)) as server:
        found = judge_at(server).judge(Criterion(SECRET, criteria), "It is Rex.")
    assert found.passed is passed
    assert found.reason == f"{given.strip().upper()}: because"
    assert found.spent.tokens == 120
    text, choice = {"type": "string"}, {"type": "string", "enum": ["YES", "NO"]}
    assert server.requests[0]["response_format"]["json_schema"] == {
        "name": "verdict", "strict": True,
        "schema": {
            "type": "object", "properties": {"reasoning": text, "verdict": choice},
            "required": ["reasoning", "verdict"], "additionalProperties": False,
        },
    }  # fmt: skip
    (asked,) = server.requests[0]["messages"]
    assert asked["role"] == "user", "as the benchmark's authors ask: one message, no conversation"
    assert asked["content"] == (
        "Judge whether an assistant's answer meets a criterion. The criterion is a question with YES or NO as its "
        "reply.\n\nThe assistant's answer:\n<<<\nIt is Rex.\n>>>\n\nThe criterion, which you apply VERY STRICTLY:\n"
        f'<<<\n{SECRET}\n>>>\n\nReply with a JSON object: "reasoning", how you come to your verdict, and then '
        '"verdict", YES or NO.'
    )


@pytest.mark.parametrize(
    ("reply", "fault"),
    (
        ("YES", ""), ("[]", ""), ("{}", ""), (verdict("MAYBE"), ""), ('{"verdict": 1, "reasoning": ""}', ""),
        ('{"verdict": "YES", "reasoning": null}', ""), ("", ""), (verdict("YES"), "refusal"),
        (verdict("YES"), "truncated"), (verdict("YES"), "429"), (verdict("YES"), "hang"),
        (verdict("YES"), "no completion"),
    ),
)  # fmt: skip
def test_a_judge_that_gives_no_verdict_has_not_judged(reply: str, fault: str) -> None:
    with (
        misbehaving_server(lambda body: reply, [fault]) as server,
        pytest.raises(AskFailed) as raised,
    ):
        judge_at(server, 0.5 if fault == "hang" else 30).judge(Criterion(SECRET, "YES"), "It is Rex.")
    assert raised.value.spent.calls == 1
    if fault not in ("", "refusal", "truncated"):
        assert raised.value.where.startswith("slsm.judge.openai: gpt-4o at http://127.0.0.1:")
    else:
        assert raised.value.where == "slsm.judge: gpt-4o"
        assert raised.value.hint == "check the judge's server and model, then resume"
    if fault in ("", "refusal", "truncated"):
        no_object = "the verdict is no object with `reasoning` and `verdict`"
        assert raised.value.what == no_object or raised.value.what.startswith("no verdict: ")
    assert "sk-judge-secret" not in str(raised.value)


# ---------------------------------------------------------------- the stage with all parts behind servers


def memory(body: dict[str, Any]) -> str:
    """What a controller replies, whatever it is asked."""
    name = body["response_format"]["json_schema"]["name"]
    plan = {"mode": "verify", "reasons": ["names"]}
    added = {
        "operation": "add",
        "list": "facts",
        "id": "",
        "text": "The dog is Rex",
        "status": "",
        "evidence": "Rex",
    }
    return json.dumps(
        {
            "memory_changes": {"changes": [added], "plan": plan},
            "memory": {"memory_text": "The dog is Rex.", "mismatch": False, "plan": plan},
            "conflicts": {"conflicts": [{"item": "The dog is Rex", "why": "does not say Rex"}]},
        }[name]
    )


def answer(body: dict[str, Any]) -> str:
    return (
        "It is Rex." if "[SLSM MEMORY NOTE]" in body["messages"][-1]["content"] else "I do not know. \ud83d"
    )


def run_behind(folder: Path, servers: dict[str, MisbehavingServer], data: bytes, **slsm: Any) -> list[Event]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "questions.jsonl"
    path.write_bytes(data)
    parts = {name: {"kind": "openai", "openai": openai(server)} for name, server in servers.items()}
    events: list[Event] = []
    config = small_config(data={"path": str(path)}, **parts, **slsm)
    RunSLSM().run(StageContext("slsm", config, folder, events.append, lambda: None, None))  # type: ignore[arg-type]
    return events


def judged(body: dict[str, Any]) -> str:
    return verdict("YES" if "It is Rex." in body["messages"][-1]["content"] else "NO")


def test_nobody_but_the_judge_is_told_what_is_asked_of_the_answer(tmp_path: Path) -> None:
    """Every prompt that is sent to model, controller and detector, in every mode and memory, and every file."""
    told = {"AXIS": "UNHEARD_OF_AXIS", "PASS_CRITERIA": "YES"}
    data = lines(*(record(f"secret-id-{number}", **told) for number in range(3)))
    with (
        misbehaving_server(memory) as controller,
        misbehaving_server(answer) as model,
        misbehaving_server(judged) as judge,
    ):
        events = run_behind(
            tmp_path,
            {"controller": controller, "answers": model, "judge": judge},
            data,
            compare=["baseline", "never", "on_risk", "always", "on_detection"],
            compare_memory=["structured", "flat"],
        )
    assert len(model.requests) == 3 * 3  # without a note, with a structured one, with a flat one
    names = [body["response_format"]["json_schema"]["name"] for body in controller.requests]
    assert {name: names.count(name) for name in set(names)} == {
        "memory_changes": 6,
        "memory": 6,
        "conflicts": 6,
    }
    for server in (controller, model):
        for body in server.requests:
            sent = json.dumps(body, ensure_ascii=False)
            for secret in (
                "zyxomma",
                SECRET,
                "UNHEARD_OF_AXIS",
                "secret-id",
                "YES",
                "TARGET_QUESTION",
                "PASS_CRITERIA",
            ):
                assert secret not in sent
    assert judge.requests and all(SECRET in json.dumps(body) for body in judge.requests)
    for path in (layout.states, layout.answers, layout.detections):
        assert "zyxomma" not in path(tmp_path).read_text()
    scores = {(one.mode, one.memory_mode): one.score for one in events if isinstance(one, ModeScored)}
    assert scores["baseline", "none"] == 0
    assert scores["always", "flat"] == scores["on_detection", "structured"] == scores["on_risk", "flat"] == 1


def test_one_refused_conversation_is_a_failed_answer(tmp_path: Path) -> None:
    """Too long, filtered, empty: named, counted, not sent to the judge, and not asked for again."""
    data = lines(*(record(name) for name in ("long", "filtered", "empty", "good")))
    faults = ["400 maximum context length is 10 tokens", "400 content management policy"]
    with (
        misbehaving_server(lambda body: "" if len(model.requests) == 3 else "It is Rex.", faults) as model,
        misbehaving_server(lambda body: verdict("YES")) as judge,
    ):
        servers = {"answers": model, "judge": judge}
        events = run_behind(tmp_path, servers, data, compare=["baseline"], concurrency=1)
        asked, again = len(model.requests), run_behind(tmp_path, servers, data, compare=["baseline"])
        assert len(model.requests) == asked == 4 and len(judge.requests) == 1
    answered = {one.conversation_id: one for one in events if isinstance(one, ConversationAnswered)}
    assert [bool(one.failure) for one in answered.values()] == [True, True, True, False]
    assert [one.passed for one in answered.values()] == [False, False, False, True]
    assert "context length" in answered["long"].failure and "empty" in answered["empty"].verdict
    (scored,) = (one for one in events if isinstance(one, ModeScored))
    assert (scored.unanswered, scored.judged, scored.score) == (3, 4, 0.25)
    notices = [one.text for one in (*events, *again) if isinstance(one, Notice) and one.level == "warning"]
    said = f"3 of 4 requests gave no answer, which counts as failed; the first is long: {answered['long'].failure}"
    assert notices.count(said) == 2


def test_a_server_that_refuses_everything_ends_the_stage_and_is_asked_again(tmp_path: Path) -> None:
    """A refusal for no reason of the conversation: nothing is kept of it, and a resumed run goes on."""
    data = lines(*(record(f"c{number}") for number in range(10)))
    with misbehaving_server(lambda body: "It is Rex.") as model, misbehaving_server(judged) as judge:
        model.fault_of = lambda body: "400 no such parameter"
        servers = {"answers": model, "judge": judge}
        before = set(threading.enumerate())
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (400): 400 no such parameter for Bearer *** at /v1/chat/completions "
                "(slsm.answers.openai: gpt-4o at http://127.0.0.1:…/v1): check that the server answers, the model's "
                "name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ) as failed:
            run_behind(tmp_path, servers, data, compare=["baseline"])
        # Also while the error is held: what is under way ends with the stage, not when something collects it.
        started = {thread.name.split("-")[0] for thread in set(threading.enumerate()) - before}
        assert failed.value and "ThreadPoolExecutor" not in started
        assert not layout.answers(tmp_path).exists() or not layout.answers(tmp_path).read_text()
        model.fault_of = lambda body: ""
        events = run_behind(tmp_path, servers, data, compare=["baseline"])
    (scored,) = (one for one in events if isinstance(one, ModeScored))
    assert (scored.unanswered, scored.score) == (0, 1.0)


def test_answers_that_were_cut_are_counted_and_warned_of(tmp_path: Path) -> None:
    data = lines(record("a"), record("b"))
    with misbehaving_server(lambda body: "It is Rex. " * 9, ["truncated"]) as model:
        with misbehaving_server(judged) as judge:
            servers = {"answers": model, "judge": judge}
            events = run_behind(
                tmp_path, servers, data, compare=["baseline"], max_new_tokens=7, concurrency=1
            )
        assert {body["max_tokens"] for body in model.requests} == {7}
    (scored,) = (one for one in events if isinstance(one, ModeScored))
    assert scored.cut == 1 and sum(one.cut for one in answers_of(events)) == 1
    notices = [one.text for one in events if isinstance(one, Notice)]
    assert "1 of 2 answers were cut at slsm.max_new_tokens = 7: raise it" in notices
    assert json.loads(layout.summary(tmp_path).read_text())["cut"] == 1


def test_a_file_is_read_whole_unless_a_limit_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(lines(*(record(str(number)) for number in range(300))))
    whole, part = read_dialogues(path, SLSMDataSection().conversations), read_dialogues(path, 240)
    assert (len(whole.conversations), whole.left_out) == (300, 0)
    assert (len(part.conversations), part.left_out) == (240, 60)
    with misbehaving_server(answer) as model:
        config = small_config(
            data={"path": str(path), "conversations": 2}, compare=["baseline"], judge={"kind": "none"},
            answers={"kind": "openai", "openai": openai(model)},
        )  # fmt: skip
        events: list[Event] = []
        RunSLSM().run(StageContext("slsm", config, tmp_path, events.append, lambda: None, None))  # type: ignore[arg-type]
        assert {body["max_tokens"] for body in model.requests} == {1024}
    left = "slsm.data.conversations = 2 leaves out 298 of 300 conversations"
    assert ("warning", left) in [(one.level, one.text) for one in events if isinstance(one, Notice)]


def test_settings_that_answers_do_not_use_are_refused() -> None:
    for name, value in (("max_tokens", 100), ("temperature", 0.5)):
        with pytest.raises(ValueError, match=f"`openai.{name}` is not used for answers"):
            small_config(answers={"kind": "openai", "openai": {name: value}})
    with pytest.raises(ValueError, match="more than servers take"):
        small_config(answers={"kind": "openai"}, temperature=3.0)


def test_questions_that_the_exact_judge_cannot_judge(tmp_path: Path) -> None:
    """None of them: refused before anything is asked. Some: answered, and not scored."""
    kind = record("meaning", TARGET_QUESTION="Is the answer kind?")
    exact = record("exact", TARGET_QUESTION='Does the answer contain the word "Rex"?')
    with misbehaving_server(lambda body: "It is Rex.") as model:
        with pytest.raises(
            ConfigError,
            match=exactly(
                "slsm.judge.kind: found exact, which can judge none of 1 target questions, expected `openai` for "
                "questions of meaning, or `none` for a run without scores (configuration): correct this value"
            ),
        ):
            run_behind(tmp_path / "a", {"answers": model}, lines(kind), compare=["baseline"])
        assert not model.requests
        events = run_behind(tmp_path / "b", {"answers": model}, lines(kind, exact), compare=["baseline"])
    words = "the exact judge cannot judge 1 of 2 conversations: they are answered, not scored"
    assert ("warning", words) in [(one.level, one.text) for one in events if isinstance(one, Notice)]
    (scored,) = (one for one in events if isinstance(one, ModeScored))
    assert (scored.n, scored.judged, scored.score) == (2, 1, 1.0)


def test_where_nothing_was_judged_there_is_no_score(tmp_path: Path) -> None:
    with misbehaving_server(answer) as model, misbehaving_server(lambda body: "no verdict") as judge:
        servers = {"answers": model, "judge": judge}
        with pytest.raises(
            DataError,
            match=exactly(
                "no answer was judged, so there is no score: no verdict: it is not JSON: Expecting value: line 1 "
                "column 1 (char 0) (slsm.judge: gpt-4o): check the judge's server and model, then resume "
                "(slsm.judge): set `kind: none` for a run without scores, or another judge in a new run; the answers "
                "are kept"
            ),
        ):
            run_behind(tmp_path, servers, lines(record("a"), record("b")), compare=["baseline"])
    rows = list(csv.DictReader(layout.modes(tmp_path).open()))
    assert [row["score"] for row in rows] == [""]


def test_a_refusal_for_good_is_not_asked_again(tmp_path: Path) -> None:
    with (
        misbehaving_server(answer) as model,
        misbehaving_server(judged, fault_of=lambda body: "401") as judge,
    ):
        with pytest.raises(ServerFailed, match="401"):
            servers = {"answers": model}
            parts = {"kind": "openai", "openai": openai(judge)}
            run_behind(tmp_path, servers, lines(record("a"), record("b")), compare=["baseline"], judge=parts)
        assert len(judge.requests) == 2


def test_who_judged_what_is_recorded(tmp_path: Path) -> None:
    data = lines(record())
    with misbehaving_server(answer) as model, misbehaving_server(judged) as judge:
        events = run_behind(tmp_path, {"answers": model, "judge": judge}, data, inject="always")
    (began,) = (event for event in events if isinstance(event, SLSMBegan))
    summary = json.loads(layout.summary(tmp_path).read_text())
    assert began.dataset_hash == summary["dataset_hash"] == hashlib.sha256(data).hexdigest()
    assert began.judge == summary["judge"] == "gpt-4o"
    assert (summary["dataset"], summary["conversations"], summary["unjudged"]) == ("questions", 1, 0)
    assert list(summary) == [
        "dataset", "dataset_hash", "conversations", "controller", "detector", "model", "judge", "controller_failures",
        "unjudged", "cut", "unanswered", "score_always_structured", "score_as_published_always_structured",
    ]  # fmt: skip
    assert (began.conversations, began.variants) == (1, [["always", "structured"]])
    assert (
        (began.controller, began.model)
        == (summary["controller"], summary["model"])
        == ("rules (offline)", "gpt-4o")
    )
    assert (began.detector, summary["detector"], began.dataset) == ("", "", "questions")


def test_a_judge_that_fails_is_asked_again_then_left_out_and_counted(tmp_path: Path) -> None:
    """Two conversations, three attempts at a verdict: the first one gets it the second time, the other never does."""
    data, faults = lines(record("a"), record("b")), ["429", "", "429", "429", "500"]
    with misbehaving_server(answer) as model, misbehaving_server(judged, faults) as judge:
        events = run_behind(
            tmp_path, {"answers": model}, data, inject="always", concurrency=1,
            judge={"kind": "openai", "openai": openai(judge)},
        )  # fmt: skip
    assert len(judge.requests) == 5
    first, second = answers_of(events)
    reported = [one.passed for one in events if isinstance(one, ConversationAnswered)]
    assert reported == [None, None, True, None], "as it is given, then as it is judged"
    assert first.passed is True
    assert second.passed is None and "the server failed (500)" in second.verdict
    (row,) = (event for event in events if isinstance(event, ModeScored))
    assert (row.n, row.judged, row.score) == (2, 1, 1.0)
    assert json.loads(layout.summary(tmp_path).read_text())["unjudged"] == 1
    written = [json.loads(line) for line in layout.verdicts(tmp_path).read_text().splitlines()]
    assert [line["cost"]["calls"] for line in written] == [2, 3]


@pytest.mark.parametrize(("questions", "asked"), [(12, 8), (3, 3)])
def test_a_judge_that_is_dead_ends_the_stage_and_judges_when_the_run_goes_on(
    tmp_path: Path, questions: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After eight answers in a row, or all of fewer."""
    monkeypatch.setattr(SLSMJudgeSection, "attempts", 1)
    data = lines(*(record(f"{number}") for number in range(questions)))
    settings: dict[str, Any] = {"inject": "always", "concurrency": 1}
    with misbehaving_server(answer) as model:
        servers = {"answers": model}
        with (
            misbehaving_server(judged, ["500"] * 100) as judge,
            pytest.raises(ServerFailed, match=r"the server failed \(500\)"),
        ):
            run_behind(
                tmp_path, servers, data, **settings,
                judge={"kind": "openai", "openai": openai(judge)},
            )  # fmt: skip
        assert asked <= len(judge.requests) <= asked + 1 and len(model.requests) == questions
        with misbehaving_server(judged) as judge:
            run_behind(tmp_path, servers | {"judge": judge}, data, **settings)
        assert len(judge.requests) == len(model.requests) == questions
    summary = json.loads(layout.summary(tmp_path).read_text())
    assert summary["unjudged"] == 0 and summary["score_always_structured"] == 1


def test_answers_on_which_the_judge_s_server_fails_now_and_then_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven in a row, one that is judged, four at the end."""
    monkeypatch.setattr(SLSMJudgeSection, "attempts", 1)
    data = lines(*(record(f"{number}") for number in range(12)))
    with (
        misbehaving_server(answer) as model,
        misbehaving_server(judged, ["500"] * 7 + [""] + ["500"] * 4) as judge,
    ):
        run_behind(
            tmp_path, {"answers": model}, data, inject="always", concurrency=1,
            judge={"kind": "openai", "openai": openai(judge)},
        )  # fmt: skip
    summary = json.loads(layout.summary(tmp_path).read_text())
    assert summary["unjudged"] == 11 and len(judge.requests) == 12


def test_a_model_that_fails_costs_no_answer_that_was_there(tmp_path: Path) -> None:
    data = lines(*(record(f"{number}") for number in range(6)))
    with misbehaving_server(answer, ["", "", "401"]) as model, misbehaving_server(judged) as judge:
        servers = {"answers": model, "judge": judge}
        with pytest.raises(
            ServerFailed,
            match=exactly(
                "the server refused the request (401): 401 for Bearer *** at /v1/chat/completions "
                "(slsm.answers.openai: gpt-4o at http://127.0.0.1:…/v1): check that the server answers, the model's "
                "name, and the key in TEST_KEY; `steer-tui doctor --server` helps"
            ),
        ):
            run_behind(tmp_path, servers, data, inject="always", concurrency=1)
        assert len(model.requests) == 3
        run_behind(tmp_path, servers, data, inject="always", concurrency=1)
    assert len(model.requests) == 3 + 4
    assert len(layout.results(tmp_path).read_text().splitlines()) == 6


def test_a_plain_chat_runs_without_a_judge(tmp_path: Path) -> None:
    data = lines({"messages": said("My dog is Rex.", "Nice.", "What is my dog?")})
    with misbehaving_server(answer) as model:
        events = run_behind(tmp_path, {"answers": model}, data, inject="always")
    (one,) = (event for event in events if isinstance(event, ConversationAnswered))
    assert (one.answer, one.injected, one.passed) == ("It is Rex.", True, None)
    summary = json.loads(layout.summary(tmp_path).read_text())
    assert summary["judge"] == "none" and not [name for name in summary if name.startswith("score_")]
