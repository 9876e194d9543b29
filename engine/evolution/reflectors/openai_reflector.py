"""A language model as reflector: exactly the known clusters, enforced by schema and checked again (spec Evolution
4.4)."""

from __future__ import annotations

from typing import Any

from engine.evolution.deltas import delta_problems
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply, Unusable, json_object
from engine.servers.request_form import Message, Schema, object_schema
from engine.servers.spent import Spent

ATTEMPTS = 2
"""The second request says what was wrong with the first reply."""


class OpenAIReflector:
    """Asks the server; after an invalid reply once more, naming the problem."""

    def __init__(self, client: OpenAIClient, model: str, system: str) -> None:
        self.name = model
        self._client = client
        self._system = system

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        """Raises ReflectorFailed."""
        names = list(given.deltas)
        messages: list[Message] = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": message},
        ]
        usage, problem = Spent(), ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                reply = self._client.complete(messages, reply_schema(names))
            except ServerFailed as error:
                failed = ReflectorFailed(what=error.what, where=error.where, hint=error.hint)
                failed.usage = usage + error.spent
                raise failed from None
            usage += reply.spent
            content = read_reply(reply, names)
            if not isinstance(content, str):
                deltas = {name: float(content["deltas"][name]) for name in names}
                return ReflectorReply(deltas, content["summary"].strip(), attempt, reply.text, usage=usage)
            problem = content
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
            hint="the iteration ends without new deltas; the next iteration asks again",
        )
        failed.usage = usage
        raise failed


def reply_schema(names: list[str]) -> Schema:
    """JSON schema of a reply: exactly the cluster ids `names`, and a summary."""
    deltas = object_schema(**{name: {"type": "number"} for name in names})
    return {"name": "reflector_output", "schema": object_schema(deltas=deltas, summary={"type": "string"})}


def read_reply(reply: Reply, names: list[str]) -> dict[str, Any] | str:
    """The reply's object, or what is wrong with it."""
    try:
        content = json_object(reply)
    except Unusable as error:
        return str(error)
    if set(content) != {"deltas", "summary"}:
        return 'it is not an object with exactly "deltas" and "summary"'
    problems = delta_problems(content["deltas"], names)
    if problems:
        return "; ".join(problems)
    if not isinstance(content["summary"], str) or not content["summary"].strip():
        return "the summary is not a text"
    return content
