"""The free conversation's process: one line in, one line out, and a memory in between."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.lm.protocol import ignore
from engine.seeds import derive_seed
from engine.servers.spent import Spent
from engine.services import chat
from engine.services.chat import ChatRequest, serve
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given
from engine.slsm.policy import REMINDER
from tests.engine.levers.test_notes_lever import Remembering

CONFIG = """\
run: {name: talk, stages: [slsm]}
model: {backend: embedded, device: cpu}
slsm: {controller: {kind: rules}, max_new_tokens: 8}
"""


def test_a_message_has_at_most_20_000_letters() -> None:
    assert ChatRequest(say="x" * 20_000).say is not None
    with pytest.raises(ValidationError):
        ChatRequest(say="x" * 20_001)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def talk(run: Path, *requests: object) -> list[dict[str, Any]]:
    """The replies to requests, a line each."""
    replies = io.BytesIO()
    lines = "".join(
        f"{request if isinstance(request, str) else json.dumps(request)}\n" for request in requests
    )
    serve(run, io.StringIO(lines), replies)
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def test_a_turn_is_followed_answered_and_kept(run: Path) -> None:
    first, second = talk(
        run,
        {"say": "My dog is Rex.", "mode": "always"},
        {"say": "What is my dog?", "mode": "always"},
    )
    assert [item["text"] for item in first["states"][0]["items"]] == ["The user's dog is Rex"]
    said = [
        ["My dog is Rex.", first["answered"]["answer"]],
        ["What is my dog?", second["answered"]["answer"]],
    ]
    assert (first["turns"], second["turns"]) == (said[:1], said) and all(answer for _, answer in said)
    assert [(one["turn"], one["plan_mode"]) for one in second["states"]][1:] == [(1, "verify")]
    assert (
        second["answered"]["note"] == "[SLSM MEMORY NOTE]\nUser facts/preferences:\n- The user's dog is Rex"
    )
    assert second["answered"]["controller_calls"] == 2 and second["answered"]["model_calls"] == 1
    kept = (run / "slsm" / "chat.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == [first, second]


def test_modes_and_memories_can_change_between_turns(run: Path) -> None:
    """What was said while the controller was off is caught up."""
    plain, flat, detected = talk(
        run,
        {"say": "End every answer with the word maple.", "mode": "baseline"},
        {"say": "My dog is Rex.", "mode": "never", "memory_mode": "flat"},
        {"say": "What is my dog?", "mode": "on_detection", "memory_mode": "structured"},
    )
    assert plain["states"] == [] and plain["answered"]["memory_mode"] == "none"
    assert flat["states"][-1]["memory_text"] == "End every answer with the word maple. The user's dog is Rex."
    assert not flat["answered"].get("note") and flat["answered"]["memory_mode"] == "flat"
    assert {one["memory_mode"] for one in flat["states"]} == {"flat"}
    assert [one["turn"] for one in detected["states"]] == [0, 1, 2]
    assert [item["text"] for item in detected["states"][2]["items"]] == [
        "The user's dog is Rex", "End every answer with the word maple",
    ]  # fmt: skip
    assert detected["answered"]["detector_calls"] == 1
    assert detected["answered"]["conflicts"] and detected["answered"]["model_calls"] == 2


@pytest.mark.parametrize(
    ("settings", "mode", "memory"),
    [
        ("", "on_risk", "structured"),
        ("inject: always, memory_mode: flat", "always", "flat"),
        ("inject: reminder", "reminder", "none"),
        ("inject: remind_on_detection", "remind_on_detection", "structured"),
        ("inject: always, disable_controller: true", "baseline", "none"),
    ],
)
def test_without_a_mode_the_runs_is_taken(run: Path, settings: str, mode: str, memory: str) -> None:
    (run / "config.yaml").write_text(
        CONFIG.replace("slsm: {", f"slsm: {{{settings}{', ' if settings else ''}")
    )
    [reply] = talk(run, {"say": "My dog is Rex."})
    answered = reply["answered"]
    assert (answered["mode"], answered["memory_mode"], len(reply["states"])) == (
        mode,
        memory,
        memory != "none",
    )


def test_without_a_controller_there_is_no_other_mode_than_no_note(run: Path) -> None:
    (run / "config.yaml").write_text(CONFIG.replace("slsm: {", "slsm: {disable_controller: true, "))
    others = ({"say": "Hi.", "mode": mode} for mode in ("baseline", "reminder"))
    refused, *_, plain = talk(run, {"say": "Hi.", "mode": "always"}, *others)
    assert refused["error"] == (
        "mode `always` asks a controller, and this run has none (slsm.disable_controller: true): choose `baseline` or "
        "`reminder`, or start a run with `false`"
    )
    assert [user for user, _ in plain["turns"]] == ["Hi.", "Hi."]


def test_all_that_was_said_while_the_controller_was_off_is_caught_up(run: Path) -> None:
    """Turn after turn: what the second one adds is not lost with the third."""
    *_, last = talk(
        run,
        {"say": "My dog is Rex.", "mode": "baseline"},
        {"say": "My cat is Tom.", "mode": "baseline"},
        {"say": "My bird is Kim.", "mode": "baseline"},
        {"say": "Hello.", "mode": "always"},
    )
    known = [sorted(item["text"] for item in one["items"]) for one in last["states"]]
    bird, cat, dog = "The user's bird is Kim", "The user's cat is Tom", "The user's dog is Rex"
    assert known == [[dog], [cat, dog], [bird, cat, dog], [bird, cat, dog]]


def test_the_key_of_a_controller_is_needed_where_one_is_asked(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (run / "config.yaml").write_text(
        CONFIG.replace("controller: {kind: rules}", "controller: {kind: openai}")
    )
    plain, asked, again = talk(
        run, {"say": "Hi.", "mode": "baseline"}, {"say": "Hi."}, {"say": "So.", "mode": "baseline"}
    )
    assert plain["answered"]["answer"] and "slsm.controller.openai.api_key_env" in asked["error"]
    assert [said for said, _ in again["turns"]] == ["Hi.", "So."], "what got an error was not said"


class Polite:
    """A model that always says the same. `asks`: what it was asked."""

    name = "polite"

    def __init__(self) -> None:
        self.asks: list[ChatAsk] = []

    def answer(self, asks: Sequence[ChatAsk], checkpoint: object, keep: Given, early: Given = ignore) -> None:
        self.asks += asks
        for number in range(len(asks)):
            keep(number, ChatAnswer("Good.", Spent(1, 5)))

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def test_each_turn_has_its_seed_and_only_a_note_that_is_given_costs_tokens(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run takes going on for a risk, and gives the newest item: in eleven words."""
    model = Polite()
    monkeypatch.setattr(chat, "make_chat_model", lambda context: model)
    (run / "config.yaml").write_text(
        CONFIG.replace("slsm: {", "slsm: {risk_modes: [proceed], note_max_items: 1, ")
    )
    told = talk(
        run,
        {"say": "My dog is Rex.", "mode": "never"},
        {"say": "My cat is Tom.", "mode": "on_risk"},
        {"say": "My bird is Kim.", "mode": "never"},
    )
    assert [ask.seed for ask in model.asks] == [derive_seed(0, "slsm", "chat", turn) for turn in (1, 2, 3)]
    note = "[SLSM MEMORY NOTE]\nUser facts/preferences:\n- The user's cat is Tom"
    given = [(one["answered"].get("note", ""), one["answered"].get("note_tokens", 0)) for one in told]
    assert given == [("", 0), (note, 11), ("", 0)]
    assert [ask.messages[-1]["content"].endswith(note) for ask in model.asks] == [False, True, False]


def test_the_controller_looks_at_the_whole_conversation_and_the_first_answer(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it claims without a quote is left out of the memory, so that there is no note to answer again with."""
    model, controller = Polite(), Remembering(["why"], quote="never said")
    monkeypatch.setattr(chat, "make_chat_model", lambda context: model)
    monkeypatch.setattr(chat, "make_controller", lambda context: controller)
    _, second = talk(run, *({"say": text, "mode": "on_detection"} for text in ("One.", "Two.")))
    assert controller.watched == [(["One."], "Good."), (["One.", "Two."], "Good.")]
    assert [one.get("items", []) for one in second["states"]] == [[], []]
    assert [item["text"] for one in second["states"] for item in one["gated"]] == ["One.", "Two."]
    assert second["answered"]["model_calls"] == 1 and second["answered"]["conflicts"]


def test_an_answer_without_a_conflict_stands_and_costs_what_was_asked(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller reads the first turn with its answer and the second without one, and looks at the answer."""
    monkeypatch.setattr(chat, "make_chat_model", lambda context: Polite())
    monkeypatch.setattr(chat, "make_controller", lambda context: Remembering())
    _, second = talk(run, *({"say": text, "mode": "on_detection"} for text in ("One.", "Two.")))
    assert second["answered"] == {
        "type": "ConversationAnswered", "conversation_id": "chat", "axis": "", "mode": "on_detection",
        "memory_mode": "structured", "attempt": 0, "answer": "Good.", "injected": False, "reason": "no conflict",
        "controller_calls": 2, "controller_tokens": 20, "model_calls": 1, "model_tokens": 5, "detector_calls": 1,
        "detector_tokens": 7, "cost": 1.25,
    }  # fmt: skip


@pytest.mark.parametrize(("mode", "calls"), [("reminder", 1), ("remind_on_detection", 2)])
def test_the_sentence_in_place_of_a_note(
    run: Path, monkeypatch: pytest.MonkeyPatch, mode: str, calls: int
) -> None:
    """At once, or after the controller has found a conflict."""
    monkeypatch.setattr(chat, "make_chat_model", lambda context: Polite())
    monkeypatch.setattr(chat, "make_controller", lambda context: Remembering(["why"], quote="One."))
    [reply] = talk(run, {"say": "One.", "mode": mode})
    assert (reply["answered"]["note"], reply["answered"]["model_calls"]) == (REMINDER, calls)


def test_a_long_conversation_is_shown_whole_and_an_empty_message_adds_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "make_chat_model", lambda context: Polite())
    *_, last, empty = talk(run, *[{"say": "Hi.", "mode": "baseline"}] * 12, {"say": ""})
    assert last["turns"] == [["Hi.", "Good."]] * 12
    assert empty == {"turns": last["turns"], "states": [], "answered": None}


def test_begin_anew(run: Path) -> None:
    said = {"say": "My dog is Rex."}, {"say": "Hi."}
    *_, forgot, anew = talk(run, *said, {"forget": True}, {"say": "What is my dog?"})
    assert forgot == {"turns": [], "states": [], "answered": None}
    (state,) = anew["states"]
    known = [item["text"] for item in state["items"]]
    assert (state["turn"], state["plan_mode"], known) == (0, "clarify", ["What the user's dog is"])


@pytest.mark.parametrize("line", ["garbage", "[]", '{"say": 3}', '{"say": "x", "mode": "loud"}'])
def test_what_is_no_request_gets_an_error_and_the_talk_goes_on(run: Path, line: str) -> None:
    bad, good = talk(run, line, {"say": "My dog is Rex.", "mode": "never"})
    assert "not a request" in bad["error"]
    assert good["answered"]["mode"] == "never"


def test_a_run_that_cannot_be_talked_to(tmp_path: Path) -> None:
    [reply] = talk(tmp_path, {"say": "Hello."})
    assert "config.yaml" in reply["error"]
