"""A language model as judge: a verdict with its reasoning, against every gold answer (spec Evolution 1, step 5)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.servers.client import OpenAIClient
from engine.servers.completion import Reply, Unusable, json_object
from engine.servers.request_form import Message, Schema, object_schema

_SYSTEM = """\
You judge whether an answer to a question about a financial document is right. It is right if it agrees with any of \
the given gold answers. Numbers agree if they differ by at most {tolerance:.4g} of the gold number ({percent:.4g}%), \
whatever their unit or rounding is called (2.5 billion is 2500 million). Length, style and additional remarks do not \
matter; a contradiction does. Reply with a JSON object: "reasoning", one or two sentences on what you compared, and \
"correct"."""

_USER = """\
Question: {question}

Gold answers:
{golds}

Answer to judge:
{answer}"""

SCHEMA: Schema = {
    "name": "verdict",
    "schema": object_schema(reasoning={"type": "string"}, correct={"type": "boolean"}),
}


class OpenAIJudge:
    """Asks once; the caller retries."""

    def __init__(self, client: OpenAIClient, model: str, tolerance: float) -> None:
        self.name = model
        self._client = client
        self._tolerance = tolerance

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Raises JudgeFailed, ServerFailed."""
        return _read(self._client.complete(self.messages(question, golds, answer), SCHEMA), self.name)

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """A language model judges every question."""
        return ""

    def messages(self, question: str, golds: Sequence[str], answer: str) -> list[Message]:
        """The messages that ask for a verdict."""
        system = _SYSTEM.format(tolerance=self._tolerance, percent=100 * self._tolerance)
        listed = "\n".join(f"- {gold}" for gold in golds)
        user = _USER.format(question=question, golds=listed, answer=answer)
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _read(reply: Reply, name: str) -> Verdict:
    problem = "it is not an object with `reasoning` and `correct`"
    try:
        content = json_object(reply)
        correct, reasoning = content.get("correct"), content.get("reasoning")
        if isinstance(correct, bool) and isinstance(reasoning, str):
            return Verdict(correct, reasoning, reply.spent)
    except Unusable as error:
        problem = str(error)
    failed = JudgeFailed(
        what=f"no verdict: {problem}",
        where=f"evolution.judge: {name}",
        hint="the answer is judged again, and left out if that fails three times",
    )
    failed.spent = reply.spent
    raise failed
