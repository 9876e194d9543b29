"""The SLSM document, held against the stage: its defaults, its four flows with their calls, its states and its notes.

Model and controller are a real server on this machine, which keeps what it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from engine.config.config import Config
from engine.errors import ConfigError, SteerError
from engine.events import ConversationAnswered, Event, StateUpdated
from engine.run.stage import StageContext
from engine.slsm.slsm_stage import RunSLSM
from engine.slsm.state import FlatState, SemanticState
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

QUESTION = "帮我写一段介绍"
TALK = [
    {"role": "user", "content": "我喜欢简洁，不要用emoji"},
    {"role": "assistant", "content": "好的"},
    {"role": "user", "content": QUESTION},
]
TURNS = 2
"""N of the document's table of calls."""
FLAT_MEMORY = "用户喜欢简洁风格，不要emoji，之前要求过修改标题..."
# Memory Mode, Structured: the memory note of the document's example.
NOTE = "[SLSM MEMORY NOTE]\nConstraints:\n- [satisfied] 不要用emoji\nUser facts/preferences:\n- 用户喜欢简洁"
# Memory Mode, Flat: the same.
FLAT_NOTE = f"[SLSM MEMORY NOTE]\n{FLAT_MEMORY}"


def add(kind: str, text: str, status: str, evidence: str) -> dict[str, str]:
    return {"operation": "add", "list": kind, "id": "", "text": text, "status": status, "evidence": evidence}


EXAMPLE = [
    add("facts", "用户喜欢简洁", "", "我喜欢简洁"),
    add("constraints", "不要用emoji", "satisfied", "不要用emoji"),
]


class Servers:
    """What model and controller reply. `plan`: of every turn; `changes`: of the first; `conflict`: whether y0 has one;
    `first`: y0."""

    def __init__(
        self,
        plan: str = "proceed",
        changes: list[Any] | None = None,
        conflict: bool = False,
        first: str = "y0",
    ) -> None:
        self.plan, self.conflict, self.first = {"mode": plan, "reasons": ["因为"]}, conflict, first
        self.changes = EXAMPLE if changes is None else changes

    def __call__(self, body: dict[str, Any]) -> str:
        kind = asked_for(body)
        first = TALK[0]["content"] in body["messages"][-1]["content"]
        if kind == "memory_changes":
            return json.dumps({"changes": self.changes if first else [], "plan": self.plan})
        if kind == "memory":
            return json.dumps({"memory_text": FLAT_MEMORY, "mismatch": False, "plan": self.plan})
        if kind == "conflicts":
            return json.dumps({"conflicts": [{"item": "C1", "why": "用了emoji"}] * self.conflict})
        return "y1" if "[SLSM MEMORY NOTE]" in body["messages"][-1]["content"] else self.first


def asked_for(body: dict[str, Any]) -> str:
    """Which of the controller's replies a request is for; "answer" for the underlying model."""
    return body["response_format"]["json_schema"]["name"] if "response_format" in body else "answer"


@contextmanager
def run(folder: Path, servers: Servers, **slsm: Any) -> Iterator[tuple[list[Event], MisbehavingServer]]:
    """The stage on the one conversation, with the document's settings but for `slsm`."""
    (folder / "slsm").mkdir(parents=True)
    (folder / "chats.jsonl").write_text(json.dumps({"id": "c", "messages": TALK}, ensure_ascii=False) + "\n")
    with misbehaving_server(servers) as server:
        openai = {"base_url": server.url, "api_key_env": "none", "retries": 0}
        section: dict[str, Any] = {
            "data": {"path": str(folder / "chats.jsonl")},
            "answers": {"kind": "openai", "openai": openai},
            "controller": {"openai": openai},
        }
        config = Config.model_validate({"slsm": section | slsm})
        events: list[Event] = []
        RunSLSM().run(StageContext("slsm", config, folder, events.append, lambda: None, None))  # type: ignore[arg-type]
        yield events, server


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def calls(server: MisbehavingServer) -> tuple[int, int, int]:
    """Calls of the controller turn by turn, of the underlying model, and of the detection."""
    kinds = [asked_for(body) for body in server.requests]
    turns = kinds.count("memory_changes") + kinds.count("memory")
    return turns, kinds.count("answer"), kinds.count("conflicts")


def prompts(server: MisbehavingServer) -> list[list[dict[str, str]]]:
    """What the underlying model was sent."""
    return [body["messages"] for body in server.requests if asked_for(body) == "answer"]


# ---------------------------------------------------------------- 配置示例


def test_the_documents_section_is_the_default() -> None:
    # YAML 配置, whose comments list the values of each field.
    written = yaml.safe_load("""
      disable_controller: false
      memory_mode: "structured"
      inject: "on_risk"
      risk_modes: ["verify", "clarify"]
      note_max_items: 6
      gate_facts_by_evidence: true
    """)
    default = Config().slsm
    assert {name: getattr(default, name) for name in written} == written
    assert Config.model_validate({"slsm": written}).slsm == default
    # 流程: the controller is a language model, and finds the conflicts itself.
    assert (default.controller.kind, default.detector, default.gate_kinds) == (
        "openai",
        "controller",
        ["facts"],
    )
    for field, values in {
        "inject": ("never", "on_risk", "always", "on_detection"),
        "memory_mode": ("structured", "flat"),
    }.items():
        for value in values:
            assert getattr(Config.model_validate({"slsm": {field: value}}).slsm, field) == value


# ---------------------------------------------------------------- 4种 inject 模式的处理流程, 模式对比总结


@pytest.mark.parametrize("memory", ("structured", "flat"))
@pytest.mark.parametrize(
    ("inject", "plan", "conflict", "counted", "notes"),
    (
        # onrisk: N + 1 calls; a note where the plan is to verify or to clarify.
        ("on_risk", "proceed", False, (TURNS, 1, 0), [False]),
        ("on_risk", "verify", False, (TURNS, 1, 0), [True]),
        ("on_risk", "clarify", False, (TURNS, 1, 0), [True]),
        # always: N + 1 calls, always a note.
        ("always", "proceed", False, (TURNS, 1, 0), [True]),
        # ondet: N turns and one detection; one answer without a conflict, two with one, the second with the note.
        ("on_detection", "verify", False, (TURNS, 1, 1), [False]),
        ("on_detection", "proceed", True, (TURNS, 2, 1), [False, True]),
        # 注意事项 1: never has the controller work, and injects nothing.
        ("never", "verify", True, (TURNS, 1, 0), [False]),
    ),
)
def test_the_flow_of_each_mode(
    tmp_path: Path,
    memory: str,
    inject: str,
    plan: str,
    conflict: bool,
    counted: tuple[int, int, int],
    notes: list[bool],
) -> None:
    with run(tmp_path, Servers(plan, conflict=conflict), inject=inject, memory_mode=memory) as (
        events,
        server,
    ):
        note = NOTE if memory == "structured" else FLAT_NOTE
        assert calls(server) == counted
        expected = [[*TALK[:-1], said(f"{QUESTION}\n\n{note}" if has else QUESTION)] for has in notes]
        assert prompts(server) == expected
    (answered,) = [event for event in events if isinstance(event, ConversationAnswered)]
    assert answered.answer == ("y1" if notes[-1] else "y0")
    assert (answered.note, answered.injected) == ((note, True) if notes[-1] else ("", False))
    assert (answered.controller_calls, answered.model_calls, answered.detector_calls) == counted


def test_the_baseline_asks_no_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 1. baseline (disable_controller=true): 0 calls of the controller, 1 of the model; 注意事项 2: a true baseline,
    # which needs no key of a controller.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with run(tmp_path, Servers("verify"), disable_controller=True, controller={}) as (_, server):
        assert calls(server) == (0, 1, 0)
        assert prompts(server) == [TALK]


def test_the_model_gets_the_conversation_as_it_is(tmp_path: Path) -> None:
    # 原始对话, in every mode: a system message and two of the user in a row stay what they were; the note is
    # added behind the user's last message. The controller reads turns, the system message in the first.
    talk = [{"role": "system", "content": "只说中文"}, *TALK[:-1], said("等一下"), TALK[-1]]
    (tmp_path / "own.jsonl").write_text(json.dumps({"id": "c", "messages": talk}))
    modes = {"compare": ["baseline", "always"], "data": {"path": str(tmp_path / "own.jsonl")}}
    with run(tmp_path, Servers(), **modes) as (_, server):
        assert calls(server) == (TURNS, 2, 0)
        sent = prompts(server)
        assert sorted(sent, key=str) == sorted([talk, [*talk[:-1], said(f"{QUESTION}\n\n{NOTE}")]], key=str)
        first = next(body for body in server.requests if asked_for(body) == "memory_changes")
        assert f"只说中文\n\n{TALK[0]['content']}" in first["messages"][-1]["content"]


def test_a_baseline_that_is_to_be_compared_with_a_controller_is_an_error() -> None:
    section = {"disable_controller": True, "compare": ["baseline", "on_risk", "always"]}
    with pytest.raises(ValidationError, match="asks no controller, but `compare` names on_risk, always"):
        Config.model_validate({"slsm": section})
    assert Config.model_validate({"slsm": section | {"compare": ["baseline"]}}).slsm.modes == ["baseline"]


@pytest.mark.parametrize(
    ("detector", "why", "asked"),
    (
        ("controller", "用了emoji", 1),
        ("checks", "says “maple”: Never use the word maple", 0),
        ("both", "says “maple”: Never use the word maple", 1),
    ),
)
def test_who_detects(tmp_path: Path, detector: str, why: str, asked: int) -> None:
    # 4. ondet: "Controller 检测 y0 是否违反约束". The exact checks in its place, or beside it, have names.
    changes = [add("constraints", "Never use the word maple", "active", "不要用emoji")]
    servers = Servers(changes=changes, conflict=True, first="maple")
    with run(tmp_path, servers, inject="on_detection", detector=detector) as (events, server):
        assert calls(server) == (TURNS, 2, asked)
    (answered,) = [event for event in events if isinstance(event, ConversationAnswered)]
    assert [(one.why, one.exact) for one in answered.conflicts] == [(why, detector != "controller")]
    assert answered.detector_calls == asked


# ---------------------------------------------------------------- Memory Mode


def test_the_states_have_the_documents_fields() -> None:
    # Structured and Flat, 状态格式.
    example: dict[str, Any] = {
        "facts": [{"id": "F1", "text": "用户喜欢简洁", "evidence": "..."}],
        "constraints": [{"id": "C1", "text": "不要用emoji", "status": "satisfied"}],
        "assumptions": [{"id": "A1", "text": "...", "status": "valid"}],
        "unknowns": [],
        "edits": [],
        "plan": {"mode": "proceed", "reasons": []},
    }
    state = SemanticState.model_validate_json(json.dumps(example))
    assert list(state.model_dump()) == list(example)
    assert (state.constraints[0].status, state.assumptions[0].status) == ("satisfied", "valid")
    flat = FlatState.model_validate_json(
        json.dumps({"memory_text": FLAT_MEMORY, "plan": {"mode": "proceed"}, "mismatch": False})
    )
    assert list(flat.model_dump()) == ["memory_text", "plan", "mismatch"]


def test_a_note_has_six_lines_at_most(tmp_path: Path) -> None:
    # YAML 配置, note_max_items: 6.
    facts = [add("facts", f"事实{number}", "", "我喜欢简洁") for number in range(9)]
    with run(tmp_path, Servers(changes=facts), inject="always") as (_, server):
        note = prompts(server)[0][-1]["content"]
    assert note.count("\n- ") == 6


@pytest.mark.parametrize(
    ("section", "left"),
    (
        ({}, {"facts": ["简洁"], "constraints": ["没说过"]}),
        ({"gate_facts_by_evidence": False}, {"facts": ["简洁", "编造"], "constraints": ["没说过"]}),
        ({"gate_kinds": ["facts", "constraints"]}, {"facts": ["简洁"], "constraints": []}),
    ),
)
def test_facts_are_gated_by_evidence(
    tmp_path: Path, section: dict[str, Any], left: dict[str, list[str]]
) -> None:
    # YAML 配置, gate_facts_by_evidence: true.
    changes = [
        add("facts", "简洁", "", "我喜欢简洁"),
        add("facts", "编造", "", "我喜欢长文"),
        add("constraints", "没说过", "active", "没有这句话"),
    ]
    with run(tmp_path, Servers(changes=changes), **section) as (events, _):
        states = [event for event in events if isinstance(event, StateUpdated)]
    kept = {kind: [item.text for item in states[-1].items if item.kind == kind] for kind in left}
    assert kept == left


# ---------------------------------------------------------------- a controller that is not there


def test_a_missing_key_is_one_error_with_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError) as raised, run(tmp_path, Servers(), controller={}):
        pass
    (problem,) = raised.value.problems
    assert problem.where == "slsm.controller.openai.api_key_env"
    for way in (
        "OPENAI_API_KEY set to a key",
        "slsm.controller.openai.base_url",
        "slsm.controller.kind: rules",
    ):
        assert way in problem.allowed


def test_a_server_that_is_not_there_is_one_error_with_both_ways_out(tmp_path: Path) -> None:
    """Two memories, so that more than one first turn is lost."""
    nobody = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "none", "retries": 0}
    section = {
        "compare": ["always"],
        "compare_memory": ["structured", "flat"],
        "controller": {"openai": nobody},
    }
    with pytest.raises(SteerError) as raised, run(tmp_path, Servers(), **section):
        pass
    assert "slsm.controller.openai" in raised.value.where
    assert (
        "check that the server answers" in raised.value.hint
        and "slsm.controller.kind: rules" in raised.value.hint
    )
    assert not (tmp_path / "slsm" / "states.jsonl").exists(), "nothing is kept of turns that nobody read"
