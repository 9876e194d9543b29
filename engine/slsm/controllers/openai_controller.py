"""A language model as controller: it proposes changes, and this side checks them (spec SLSM).

A reply is tried twice: the second time with what was wrong with the first. After that the state before stands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Unusable, usable_json
from engine.servers.request_form import Message, Schema
from engine.servers.spent import Spent
from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.detection import exact_conflicts, flat_constraints
from engine.slsm.controllers.diff import Change, DiffRefused, StateDiff, apply_diff, next_id
from engine.slsm.state import KINDS, FlatState, Plan, PlanMode, SemanticState, State
from engine.slsm.turns import Turn

_KEEPS = """\
You keep the memory of a conversation between a user and an assistant. After each turn you say what the turn changes \
in it. Keep what matters for later answers: facts about the user and preferences, names and numbers that were agreed, \
standing instructions, what is assumed, what would have to be known, and the latest version of anything that is \
edited. Leave out small talk. Quote as evidence the exact words of this turn."""

_STRUCTURED = """\
Reply with a JSON object. "changes": a list; each has "operation" (add, change or resolve), "list" (facts, \
constraints, assumptions, unknowns or edits), "id" (of the item to change or resolve; empty to add), "text" (one \
short sentence), "status" (constraints: active, satisfied or violated by the assistant's last answer; assumptions: \
valid or invalid; else empty) and "evidence". Never rewrite what this turn does not touch. "plan": "mode" (proceed; \
verify, if the next answer has to be checked against the memory; clarify, if something must be asked first) and \
"reasons"."""

_FLAT = """\
Reply with a JSON object. "memory_text": the whole memory after this turn, a short text. "mismatch": whether the \
assistant's last answer went against it. "plan": "mode" (proceed; verify, if the next answer has to be checked against \
the memory; clarify, if something must be asked first) and "reasons"."""

_DETECTS = """\
You compare an assistant's answer with what is known of the conversation. Reply with a JSON object: "conflicts", a \
list of what the answer goes against, each with "item" (its id or words) and "why". An empty list if it goes against \
nothing. What the answer need not mention is no conflict."""

_PLAN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["proceed", "verify", "clarify"]},
        "reasons": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["mode", "reasons"],
    "additionalProperties": False,
}


def _object(name: str, properties: dict[str, Any]) -> Schema:
    return {
        "name": name,
        "schema": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }


def _text_object(**properties: dict[str, Any]) -> dict[str, Any]:
    return _object("", properties)["schema"]


_STRING = {"type": "string"}
DIFF_SCHEMA = _object("memory_changes", {
    "changes": {"type": "array", "items": _text_object(
        operation={"type": "string", "enum": ["add", "change", "resolve"]},
        list={"type": "string", "enum": list(KINDS)},
        id=_STRING, text=_STRING,
        status={"type": "string", "enum": ["", "active", "satisfied", "violated", "valid", "invalid"]},
        evidence=_STRING,
    )},
    "plan": _PLAN,
})  # fmt: skip
FLAT_SCHEMA = _object("memory", {"memory_text": _STRING, "mismatch": {"type": "boolean"}, "plan": _PLAN})
CONFLICTS_SCHEMA = _object(
    "conflicts", {"conflicts": {"type": "array", "items": _text_object(item=_STRING, why=_STRING)}}
)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _PlanReply(_Reply):
    mode: PlanMode
    reasons: list[Annotated[str, Field(max_length=1000)]] = Field(max_length=20)


class _ChangeReply(_Reply):
    operation: Literal["add", "change", "resolve"]
    list: Literal["facts", "constraints", "assumptions", "unknowns", "edits"]
    id: str
    text: Annotated[str, Field(max_length=2000)]
    status: Literal["", "active", "satisfied", "violated", "valid", "invalid"]
    evidence: str


class _DiffReply(_Reply):
    changes: list[_ChangeReply] = Field(max_length=100)
    plan: _PlanReply


class _FlatReply(_Reply):
    memory_text: Annotated[str, Field(max_length=20_000)]
    mismatch: bool
    plan: _PlanReply


class _ConflictReply(_Reply):
    item: str
    why: str


class _ConflictsReply(_Reply):
    conflicts: list[_ConflictReply] = Field(max_length=50)


Found = TypeVar("Found")


class OpenAIController:
    """Any OpenAI-compatible server."""

    def __init__(self, client: OpenAIClient, model: str) -> None:
        self.name = model
        self._client = client

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        turn = turns[-1]
        if isinstance(state, SemanticState):
            structured = state

            def read_diff(text: str) -> StateDiff:
                diff = _diff(structured, _DiffReply.model_validate_json(text))
                apply_diff(structured, diff)
                return diff

            asked = _messages(f"{_KEEPS}\n\n{_STRUCTURED}", state, turn)
            diff, failure, spent = self._twice(asked, DIFF_SCHEMA, read_diff)
            if diff is None:
                return Update(state, None, failure, spent)
            return Update(apply_diff(state, diff), diff, "", spent)

        def read_flat(text: str) -> FlatState:
            reply = _FlatReply.model_validate_json(text)
            return FlatState(memory_text=reply.memory_text, mismatch=reply.mismatch, plan=_plan(reply.plan))

        asked = _messages(f"{_KEEPS}\n\n{_FLAT}", state, turn)
        found, failure, spent = self._twice(asked, FLAT_SCHEMA, read_flat)
        return Update(state if found is None else found, None, failure, spent)

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """What can be checked is; the server is asked about the rest, once."""
        structured = isinstance(state, SemanticState)
        constraints = state.constraints if structured else flat_constraints(state.memory_text)
        exact = exact_conflicts(constraints, answer)
        checked = {item.id for item in constraints if parse_check(item.text) is not None}
        user = (
            f"Known:\n{_json(state)}\n\nThe user's last message:\n{turns[-1].user}\n\nThe answer:\n{answer}"
        )
        asked = [{"role": "system", "content": _DETECTS}, {"role": "user", "content": user}]
        found, failure, spent = self._twice(asked, CONFLICTS_SCHEMA, _ConflictsReply.model_validate_json)
        judged = found.conflicts if found is not None else []
        # What was checked exactly is not for judgement.
        more = [Conflict(one.item, one.why, exact=False) for one in judged if one.item not in checked]
        return Detection((*exact, *more), failure, spent)

    def _twice(
        self, messages: list[Message], schema: Schema, read: Callable[[str], Found]
    ) -> tuple[Found | None, str, Spent]:
        """What `read` makes of the reply, or why there is none; and everything spent."""
        spent, problem = Spent(), ""
        for _ in range(2):
            asked = messages if not problem else _again(messages, problem)
            try:
                reply = self._client.complete(asked, schema)
            except ServerFailed as error:
                return None, error.what, spent + error.spent
            spent += reply.spent
            try:
                return read(usable_json(reply)), "", spent
            except (ValidationError, DiffRefused, Unusable) as error:
                problem = _told(error)
        return None, problem, spent


def _again(messages: list[Message], problem: str) -> list[Message]:
    """The same, with what was wrong; in one message, as some models' templates want roles to take turns."""
    *before, last = messages
    told = f"Your last reply could not be used: {problem}\nReply again, with the JSON object alone."
    return [*before, {**last, "content": f"{last['content']}\n\n{told}"}]


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _diff(state: SemanticState, reply: _DiffReply) -> StateDiff:
    """Raises DiffRefused for what does not fit the state, and ValidationError for a status of another list."""
    taken = {item.id for kind in KINDS for item in state.items(kind)}
    changes: list[Change] = []
    for one in reply.changes:
        if one.operation == "resolve":
            old = state.find(one.id)
            if old is None:
                raise DiffRefused(f"{one.id!r} is resolved, but there is none such")
            changes.append(Change("resolved", one.list, old, why=one.text))
            continue
        key, old = one.id, state.find(one.id)
        if one.operation == "add":
            key, old = next_id(one.list, taken), None
            taken.add(key)
        # Where only something else is said of an item, what is left empty stays.
        same = old.model_dump() if old is not None and old.text == one.text else {}
        fields: dict[str, Any] = {**same, "id": key, "text": one.text}
        if one.evidence or not same:
            fields["evidence"] = one.evidence
        if one.status and one.list in ("constraints", "assumptions"):
            fields["status"] = one.status
        item = KINDS[one.list].model_validate(fields)
        changes.append(Change("added" if one.operation == "add" else "changed", one.list, item, old))
    return StateDiff(tuple(changes), _plan(reply.plan))


def _plan(reply: _PlanReply) -> Plan:
    return Plan(mode=reply.mode, reasons=tuple(reply.reasons))


def _messages(system: str, state: State, turn: Turn) -> list[Message]:
    assistant = "" if turn.assistant is None else f"\n\nThe assistant answered:\n{turn.assistant}"
    user = f"The memory so far:\n{_json(state)}\n\nThis turn. The user said:\n{turn.user}{assistant}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _json(state: State) -> str:
    return json.dumps(state.model_dump(exclude={"plan"}), ensure_ascii=False)
