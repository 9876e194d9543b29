"""A language model as reflector: exactly the known clusters, enforced by schema and checked again (spec Evolution
4.4)."""

from __future__ import annotations

from typing import Any

from engine.evolution.deltas import delta_problems
from engine.evolution.reflectors.prompt import SYSTEM
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply, Unusable, json_object
from engine.servers.request_form import Message, Schema
from engine.servers.spent import Spent

ATTEMPTS = 2
"""The second one is told what was wrong with the first."""


class OpenAIReflector:
    """Asks once, and once more with what was wrong."""

    def __init__(self, client: OpenAIClient, model: str) -> None:
        self.name = model
        self._client = client

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        """Raises ReflectorFailed."""
        names = list(given.deltas)
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": message},
        ]
        usage, problem = Spent(), ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                reply = self._client.complete(messages, reply_schema(names))
            except ServerFailed as error:
                failed = ReflectorFailed(what=error.what, where=error.where, mend=error.mend)
                failed.usage = usage + error.spent
                raise failed from None
            usage += reply.spent
            found = read_reply(reply, names)
            if not isinstance(found, str):
                deltas = {name: float(found["deltas"][name]) for name in names}
                return ReflectorReply(deltas, found["summary"].strip(), attempt, reply.text, usage)
            problem = found
            messages += [
                {"role": "assistant", "content": reply.text or reply.refusal or "(nothing)"},
                {
                    "role": "user",
                    "content": f"This cannot be used: {problem}. Reply again with the JSON object alone.",
                },
            ]
        failed = ReflectorFailed(
            what=f"no valid reply in {ATTEMPTS} attempts: {problem}",
            where=f"evolution.reflector: {self.name}",
            mend="the iteration ends without new deltas; the next one asks again",
        )
        failed.usage = usage
        raise failed


def reply_schema(names: list[str]) -> Schema:
    """Every cluster id required, none besides."""
    deltas = {
        "type": "object",
        "properties": {name: {"type": "number"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"deltas": deltas, "summary": {"type": "string"}},
        "required": ["deltas", "summary"],
        "additionalProperties": False,
    }
    return {"name": "reflector_output", "schema": schema}


def read_reply(reply: Reply, names: list[str]) -> dict[str, Any] | str:
    """The object, or what is wrong with it."""
    try:
        found = json_object(reply)
    except Unusable as error:
        return str(error)
    if set(found) != {"deltas", "summary"}:
        return 'it is not an object with exactly "deltas" and "summary"'
    problems = delta_problems(found["deltas"], names)
    if problems:
        return "; ".join(problems)
    if not isinstance(found["summary"], str) or not found["summary"].strip():
        return "the summary is no text"
    return found
