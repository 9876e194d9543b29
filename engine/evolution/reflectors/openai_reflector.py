"""A language model as reflector: exactly the known clusters, enforced by schema and checked again (spec Evolution
4.4)."""

from __future__ import annotations

from engine.evolution.deltas import Deltas, Problems, delta_problems, problem_words
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Reply, Unusable, json_object
from engine.servers.request_form import Message, Schema, object_schema
from engine.servers.spent import Spent

ATTEMPTS = 2
"""The second request says what was wrong with the first reply."""


class ReplyRefused(ValueError):
    """`problems`: the rules that the reply breaks."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problem_words(problems))
        self.problems = problems


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
        refused: list[Problems] = []
        while len(refused) < ATTEMPTS:
            try:
                reply = self._client.complete(messages, reply_schema(names))
            except ServerFailed as error:
                failed = ReflectorFailed(what=error.what, where=error.where, hint=error.hint)
                failed.usage, failed.refused = usage + error.spent, refused
                raise failed from None
            usage += reply.spent
            try:
                deltas, summary = read_reply(reply, names)
                return ReflectorReply(deltas, summary, reply.text, usage=usage, refused=refused)
            except ReplyRefused as error:
                problem = str(error)
                refused.append(error.problems)
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
        failed.usage, failed.refused = usage, refused
        raise failed


def reply_schema(names: list[str]) -> Schema:
    """JSON schema of a reply: exactly the cluster ids `names`, and a summary."""
    deltas = object_schema(**{name: {"type": "number"} for name in names})
    return {"name": "reflector_output", "schema": object_schema(deltas=deltas, summary={"type": "string"})}


def read_reply(reply: Reply, names: list[str]) -> tuple[Deltas, str]:
    """The reply's deltas and summary. Raises ReplyRefused."""
    try:
        content = json_object(reply)
    except Unusable as error:
        raise ReplyRefused({error.rule: error.detail}) from None
    if set(content) != {"deltas", "summary"}:
        raise ReplyRefused({'it is not an object with exactly "deltas" and "summary"': ""})
    deltas, summary = content["deltas"], content["summary"]
    problems = delta_problems(deltas, names)
    if not isinstance(summary, str):
        problems["the summary is not a text"] = ""
    elif not summary.strip():
        problems["the summary is empty"] = ""
    if problems:
        raise ReplyRefused(problems)
    return {name: float(deltas[name]) for name in names}, summary.strip()
