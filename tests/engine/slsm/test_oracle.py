"""The stage against `oracle.py` on the embedded model: notes, prompts, decisions, answers, calls and scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.config.file import load_config
from engine.events import ConversationAnswered, Event, ModeScored
from engine.lm.loading.load import load_model
from engine.lm.protocol import Completion, Request
from engine.slsm.slsm_stage import RunSLSM
from tests.engine.slsm import oracle
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

MODES = ("baseline", "never", "on_risk", "always", "on_detection")
DIALOGUES = 16


@dataclass
class Ran:
    """A run's folder and events, and what the model was asked: token ids and its text."""

    folder: Path
    events: list[Event]
    asked: dict[tuple[int, ...], str]
    encode: Any

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "slsm" / name).read_text().splitlines()]

    def model(self, messages: list[oracle.Message]) -> str:
        """What the model said to exactly this prompt."""
        return self.asked[tuple(self.encode(messages))].strip()


@pytest.fixture(scope="module", params=[(6, ["verify", "clarify"]), (1, ["verify"])], ids=["six", "one"])
def settings(request: pytest.FixtureRequest) -> tuple[int, list[str]]:
    """Most lines of a note, and the plans that are a risk."""
    return request.param


@pytest.fixture(scope="module")
def ran(settings: tuple[int, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    most, risks = settings
    folder = tmp_path_factory.mktemp("slsm")
    fields = (
        "model: {backend: embedded, path: dialogues}, controller: {kind: rules}, "
        f"compare: [{', '.join(MODES)}], compare_memory: [structured, flat], note_max_items: {most}, "
        f"risk_modes: [{', '.join(risks)}], data: {{conversations: {DIALOGUES}}}, max_new_tokens: 32, batch_size: 8"
    )
    config = load_config(DEMO, [f"slsm={{{fields}}}"])
    model = load_model(config.slsm_model)
    asked: dict[tuple[int, ...], str] = {}
    generate = model.generate

    def watched(requests: Sequence[Request], **rest: Any) -> list[Completion]:
        done = generate(requests, **rest)
        for request, completion in zip(requests, done, strict=True):
            asked[tuple(request.prompt)] = completion.text
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "generate", watched)
        events = run_stage(RunSLSM(), config, folder, model)
    return Ran(folder, events, asked, model.tokenizer.encode_messages)


def expected(ran: Ran, settings: tuple[int, list[str]]) -> dict[tuple[str, str, str], oracle.Answered]:
    """By conversation, mode and memory."""
    states = {
        (line["conversation_id"], line["memory_mode"]): line["state"] for line in ran.lines("states.jsonl")
    }
    found = {
        (line["conversation_id"], line["memory_mode"]): bool(line["conflicts"])
        for line in ran.lines("detections.jsonl")
    }
    most, risks = settings
    answers = {}
    for record in ran.lines("dialogues.jsonl"):
        key = record["QUESTION_ID"]
        for mode in MODES:
            for memory in ["none"] if mode == "baseline" else ["structured", "flat"]:
                answers[key, mode, memory] = oracle.answered(
                    mode, record["CONVERSATION"], states.get((key, memory)), most, set(risks), ran.model,
                    lambda first, key=key, memory=memory: found[key, memory],
                )  # fmt: skip
    return answers


def test_notes_prompts_answers_and_calls(ran: Ran, settings: tuple[int, list[str]]) -> None:
    wanted = expected(ran, settings)
    given = {
        (event.conversation_id, event.mode, event.memory_mode): event
        for event in ran.events
        if isinstance(event, ConversationAnswered)
    }
    assert given.keys() == wanted.keys() and len(given) == 9 * DIALOGUES
    for key, one in wanted.items():
        event = given[key]
        calls = (event.controller_calls, event.model_calls, event.detector_calls)
        assert (event.answer, event.note, calls) == (one.answer, one.note, one.calls), key
        assert event.injected == bool(one.note), key
        first = ran.model(one.prompts[0]) if len(one.prompts) == 2 else ""
        assert event.first_answer == first, key
    prompts = {tuple(ran.encode(prompt)) for one in wanted.values() for prompt in one.prompts}
    assert prompts == set(ran.asked), "nothing else was asked"
    modes = {key[1] for key, one in wanted.items() if one.note}
    assert modes == {"on_risk", "always", "on_detection"}
    assert any(not one.note for key, one in wanted.items() if key[1] == "on_risk")
    assert any(one.calls[1:] == (1, 1) for one in wanted.values())


def test_verdicts_and_scores(ran: Ran, settings: tuple[int, list[str]]) -> None:
    records = {record["QUESTION_ID"]: record for record in ran.lines("dialogues.jsonl")}
    wanted = expected(ran, settings)
    passed = {key: oracle.passes(records[key[0]], one.answer) for key, one in wanted.items()}
    for event in ran.events:
        if isinstance(event, ConversationAnswered):
            key = (event.conversation_id, event.mode, event.memory_mode)
            assert event.passed == passed[key], (records[key[0]]["TARGET_QUESTION"], event.answer)
    rows = [event for event in ran.events if isinstance(event, ModeScored)]
    assert len(rows) == 9
    for row in rows:
        own = {key[0]: key for key in wanted if key[1:] == (row.mode, row.memory_mode)}
        verdicts = [(records[name]["AXIS"], passed[key]) for name, key in own.items()]
        plain = [(records[name]["AXIS"], passed[name, "baseline", "none"]) for name in own]
        assert row.score == pytest.approx(oracle.macro_mean(verdicts))
        if row.mode != "baseline":
            difference = oracle.macro_mean(verdicts) - oracle.macro_mean(plain)
            assert row.difference == pytest.approx(difference)
        noted = [name for name, key in own.items() if wanted[key].note]
        before = [passed[name, "baseline", "none"] for name in noted]
        after = [passed[own[name]] for name in noted]
        effects = [(new > old, new == old, new < old) for old, new in zip(before, after, strict=True)]
        totals = [sum(column) for column in zip(*effects, strict=True)] or [0, 0, 0]
        assert [row.fixed, row.wasted, row.broke] == totals and row.injections == len(noted)
        calls = [wanted[key].calls for key in own.values()]
        means = [sum(column) / len(calls) for column in zip(*calls, strict=True)]
        assert [row.controller_calls, row.model_calls, row.detector_calls] == pytest.approx(means)


def test_the_memory_is_its_changes_and_quotes_its_turn(ran: Ran) -> None:
    """A structured state is what the changes of its turns add up to; every fact quotes the turn that it comes from."""
    said = {record["QUESTION_ID"]: record["CONVERSATION"] for record in ran.lines("dialogues.jsonl")}
    items: dict[str, dict[str, dict[str, Any]]] = {}
    structured = [line for line in ran.lines("states.jsonl") if line["memory_mode"] == "structured"]
    assert len(structured) > 2 * DIALOGUES
    for line in structured:
        own = items.setdefault(line["conversation_id"], {})
        if line["turn"] == 0:
            own.clear()
        messages = said[line["conversation_id"]]
        turn = [message["content"] for message in messages[2 * line["turn"] : 2 * line["turn"] + 2]]
        for change in line["event"].get("changes", []):
            if change["operation"] == "resolved":
                del own[change["item"]["id"]]
                continue
            own[change["item"]["id"]] = change["item"]
            if change["item"]["kind"] == "facts":
                assert any(change["item"]["evidence"] in text for text in turn)
        state = {
            item["id"]: item["text"]
            for kind in ("facts", "constraints", "assumptions", "unknowns", "edits")
            for item in line["state"][kind]
        }
        assert {key: item["text"] for key, item in own.items()} == state
