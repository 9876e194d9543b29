"""A language model as judge: it answers MultiChallenge's target question about an answer.

It is asked as the benchmark's authors ask (arXiv 2501.17399), in our words: one message with the answer alone, no
conversation; the question as the criterion, to be applied very strictly; reasoning first, then YES or NO. They ask it
in capitals, which we do where `capitals` is set.
"""

from __future__ import annotations

from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import Unusable, json_object
from engine.servers.request_form import Message, Schema, object_schema
from engine.servers.spent import Spent
from engine.slsm.judges.judge import AnswerJudgeFailed, AnswerJudgeUnreachable, AnswerVerdict
from engine.slsm.multichallenge import Criterion

_ASKED = """\
Judge whether an assistant's answer meets a criterion. The criterion is a question with YES or NO as its reply.

The assistant's answer:
<<<
{answer}
>>>

The criterion, which you apply {strictly}:
<<<
{question}
>>>

Reply with a JSON object: "reasoning", how you come to your verdict, and then "verdict", YES or NO."""

SCHEMA: Schema = {
    "name": "verdict",
    "schema": object_schema(reasoning={"type": "string"}, verdict={"type": "string", "enum": ["YES", "NO"]}),
}


class OpenAIAnswerJudge:
    """Asks once; the caller retries."""

    def __init__(self, client: OpenAIClient, model: str, capitals: bool) -> None:
        self.name = model
        self._strictly = "VERY STRICTLY" if capitals else "very strictly"
        self._client = client

    def judge(self, criterion: Criterion, answer: str) -> AnswerVerdict:
        asked = _ASKED.format(answer=answer, question=criterion.target_question, strictly=self._strictly)
        messages: list[Message] = [{"role": "user", "content": asked}]
        try:
            reply = self._client.complete(messages, SCHEMA)
        except ServerFailed as error:
            failed = _failed(error.what, self.name, error.spent, AnswerJudgeUnreachable)
            failed.final = error.final
            raise failed from None
        try:
            fields = json_object(reply)
        except Unusable as error:
            raise _failed(f"no verdict: {error}", self.name, reply.spent) from None
        verdict, reasoning = str(fields.get("verdict")).strip().upper(), fields.get("reasoning")
        if verdict not in ("YES", "NO") or not isinstance(reasoning, str):
            raise _failed("the verdict is no object with `reasoning` and `verdict`", self.name, reply.spent)
        return AnswerVerdict(verdict == criterion.pass_criteria, f"{verdict}: {reasoning}", reply.spent)


def _failed(
    what: str, name: str, spent: Spent, kind: type[AnswerJudgeFailed] = AnswerJudgeFailed
) -> AnswerJudgeFailed:
    error = kind(
        what=what, where=f"slsm.judge: {name}", hint="check the judge's server and model, then resume"
    )
    error.spent = spent
    return error
