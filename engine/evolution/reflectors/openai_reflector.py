"""A language model as reflector: exactly the known clusters, enforced by schema and checked again (spec Evolution
4.4)."""

from __future__ import annotations

from engine.evolution.deltas import Deltas, delta_problems
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.client import OpenAIClient, ask_structured
from engine.servers.completion import Reply, Unusable, json_object
from engine.servers.request_form import Message, Schema, object_schema


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
        asked = ask_structured(
            self._client, messages, reply_schema(names), lambda reply: read_reply(reply, names)
        )
        refused = [reply.problems for reply in asked.refused]
        if asked.value is not None:
            return ReflectorReply(*asked.value, asked.text, usage=asked.spent, refused=refused)
        failed = ReflectorFailed(
            what=f"no valid reply in {len(refused)} attempts: {asked.failure}",
            where=f"evolution.reflector: {self.name}",
            hint="the iteration ends without new deltas; the next iteration asks again",
        )
        if (server := asked.failed) is not None:
            failed = ReflectorFailed(what=server.what, where=server.where, hint=server.hint)
        failed.spent, failed.refused = asked.spent, refused
        raise failed


def reply_schema(names: list[str]) -> Schema:
    """JSON schema of a reply: exactly the cluster ids `names`, and a summary."""
    deltas = object_schema(**{name: {"type": "number"} for name in names})
    return {"name": "reflector_output", "schema": object_schema(deltas=deltas, summary={"type": "string"})}


def read_reply(reply: Reply, names: list[str]) -> tuple[Deltas, str]:
    """The reply's deltas and summary. Raises Unusable."""
    content = json_object(reply)
    if set(content) != {"deltas", "summary"}:
        raise Unusable('it is not an object with exactly "deltas" and "summary"')
    deltas, summary = content["deltas"], content["summary"]
    problems = delta_problems(deltas, names)
    if not isinstance(summary, str):
        problems["the summary is not a text"] = ""
    elif not summary.strip():
        problems["the summary is empty"] = ""
    if problems:
        raise Unusable(problems)
    return {name: float(deltas[name]) for name in names}, summary.strip()
