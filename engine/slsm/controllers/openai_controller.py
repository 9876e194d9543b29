"""A language model as controller: it proposes changes, and this module checks them (spec SLSM).

After an unusable reply it is asked once more, with the error; after two such replies the earlier state stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.config.models.openai import OFFLINE
from engine.servers.client import OpenAIClient, ServerFailed, ask_structured
from engine.servers.completion import Reply, Unusable, usable_json
from engine.servers.request_form import Message, Schema
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import Conflict, Detection, Update
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


def _schema(name: str, reply: type[BaseModel]) -> Schema:
    """The JSON schema of a reply: definitions in their places, without lengths, which strict servers refuse."""
    whole = reply.model_json_schema()
    definitions = whole.pop("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return plain(definitions[node["$ref"].rpartition("/")[2]])
        return {key: plain(value) for key, value in node.items() if key not in _LEFT_OUT}

    return {"name": name, "schema": plain(whole)}


_LEFT_OUT = ("title", "maxLength", "maxItems")


class _StrictReply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _PlanReply(_StrictReply):
    mode: PlanMode
    reasons: list[Annotated[str, Field(max_length=1000)]] = Field(max_length=20)


class _ChangeReply(_StrictReply):
    operation: Literal["add", "change", "resolve"]
    list: Literal["facts", "constraints", "assumptions", "unknowns", "edits"]
    id: str
    text: Annotated[str, Field(max_length=2000)]
    status: Literal["", "active", "satisfied", "violated", "valid", "invalid"]
    evidence: str


class _DiffReply(_StrictReply):
    changes: list[_ChangeReply] = Field(max_length=100)
    plan: _PlanReply


class _FlatReply(_StrictReply):
    memory_text: Annotated[str, Field(max_length=20_000)]
    mismatch: bool
    plan: _PlanReply


class _ConflictReply(_StrictReply):
    item: str
    why: str


class _ConflictsReply(_StrictReply):
    conflicts: list[_ConflictReply] = Field(max_length=50)


DIFF_SCHEMA = _schema("memory_changes", _DiffReply)
FLAT_SCHEMA = _schema("memory", _FlatReply)
CONFLICTS_SCHEMA = _schema("conflicts", _ConflictsReply)
Parsed = TypeVar("Parsed")


class OpenAIController:
    """A controller behind an OpenAI-compatible server."""

    def __init__(self, client: OpenAIClient, model: str) -> None:
        self.name = model
        self._client = client

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        if isinstance(state, SemanticState):
            form, schema, read = _STRUCTURED, DIFF_SCHEMA, partial(_read_diff, state)
        else:
            form, schema, read = _FLAT, FLAT_SCHEMA, _read_flat
        messages = _messages(f"{_KEEPS}\n\n{form}", state, turns[-1])
        update, failure, spent, suspect = self._request(messages, schema, read)
        return replace(update or Update(state), failure=failure, spent=spent, suspect=suspect)

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """What the server finds the answer to go against, in one request."""
        user = (
            f"Known:\n{_json(state)}\n\nThe user's last message:\n{turns[-1].user}\n\nThe answer:\n{answer}"
        )
        messages = [{"role": "system", "content": _DETECTS}, {"role": "user", "content": user}]
        reply, failure, spent, suspect = self._request(
            messages, CONFLICTS_SCHEMA, _ConflictsReply.model_validate_json
        )
        claims = reply.conflicts if reply is not None else []
        conflicts = tuple(Conflict(claim.item, claim.why, exact=False) for claim in claims)
        return Detection(conflicts, failure, spent, suspect)

    def _request(
        self, messages: list[Message], schema: Schema, read: Callable[[str], Parsed]
    ) -> tuple[Parsed | None, str, Spent, ServerFailed | None]:
        """(the parsed reply or None, the failure or "", the cost of both attempts, the server's failure if it is not
        about this conversation)."""

        def parsed(reply: Reply) -> Parsed:
            try:
                return read(usable_json(reply))
            except (ValidationError, DiffRefused) as error:
                raise Unusable(_problem(error)) from None

        asked = ask_structured(self._client, messages, schema, parsed)
        server = asked.failed
        suspect = None if server is None or server.content else _with_way_out(server)
        return asked.value, asked.failure, asked.spent, suspect


def _with_way_out(error: ServerFailed) -> ServerFailed:
    return ServerFailed(
        what=error.what, where=error.where, hint=f"{error.hint}; or set `{OFFLINE['slsm.controller.openai']}`"
    )


def _problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _read_diff(state: SemanticState, text: str) -> Update:
    diff = _diff(state, _DiffReply.model_validate_json(text))
    return Update(apply_diff(state, diff), diff)


def _read_flat(text: str) -> Update:
    reply = _FlatReply.model_validate_json(text)
    return Update(FlatState(memory_text=reply.memory_text, mismatch=reply.mismatch, plan=_plan(reply.plan)))


def _diff(state: SemanticState, reply: _DiffReply) -> StateDiff:
    """The reply as a diff. Raises DiffRefused for an unknown id, and ValidationError for a status of another list."""
    taken = {item.id for kind in KINDS for item in state.items(kind)}
    changes: list[Change] = []
    for proposed in reply.changes:
        if proposed.operation == "resolve":
            old = state.find(proposed.id)
            if old is None:
                raise DiffRefused(f"{proposed.id!r} is resolved, but there is none such")
            changes.append(Change("resolved", proposed.list, old, why=proposed.text))
            continue
        key, old = proposed.id, state.find(proposed.id)
        if proposed.operation == "add":
            key, old = next_id(proposed.list, taken), None
            taken.add(key)
        # Where the text stays, fields left empty keep their values.
        unchanged = old.model_dump() if old is not None and old.text == proposed.text else {}
        fields: dict[str, Any] = {**unchanged, "id": key, "text": proposed.text}
        if proposed.evidence:
            fields["evidence"] = proposed.evidence
        if proposed.status and proposed.list in ("constraints", "assumptions"):
            fields["status"] = proposed.status
        item = KINDS[proposed.list].model_validate(fields)
        changes.append(
            Change("added" if proposed.operation == "add" else "changed", proposed.list, item, old)
        )
    return StateDiff(tuple(changes), _plan(reply.plan))


def _plan(reply: _PlanReply) -> Plan:
    return Plan(mode=reply.mode, reasons=tuple(reply.reasons))


def _messages(system: str, state: State, turn: Turn) -> list[Message]:
    assistant = "" if turn.assistant is None else f"\n\nThe assistant answered:\n{turn.assistant}"
    user = f"The memory so far:\n{_json(state)}\n\nThis turn. The user said:\n{turn.user}{assistant}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _json(state: State) -> str:
    return json.dumps(state.model_dump(exclude={"plan"}), ensure_ascii=False)
