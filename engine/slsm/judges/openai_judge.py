"""A language model as judge: it answers MultiChallenge's target question about an answer.

It is asked as the benchmark's authors ask (arXiv 2501.17399), in our words: one message with the answer alone, no
conversation; the question as the criterion, to be applied very strictly; reasoning first, then YES or NO. They ask it
in capitals, which we do where `capitals` is set.
"""

from __future__ import annotations

from engine.servers.client import OpenAIClient
from engine.servers.completion import Unusable, json_object
from engine.servers.request_form import Schema, object_schema
from engine.slsm.judges.judge import AnswerJudgeFailed, AnswerVerdict
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
        reply = self._client.complete([{"role": "user", "content": asked}], SCHEMA)
        problem = "the verdict is no object with `reasoning` and `verdict`"
        try:
            fields = json_object(reply)
            verdict, reasoning = str(fields.get("verdict")).strip().upper(), fields.get("reasoning")
            if verdict in ("YES", "NO") and isinstance(reasoning, str):
                passed = verdict == criterion.pass_criteria
                return AnswerVerdict(passed, f"{verdict}: {reasoning}", reply.spent)
        except Unusable as error:
            problem = f"no verdict: {error}"
        hint = "check the judge's server and model, then resume"
        failed = AnswerJudgeFailed(what=problem, where=f"slsm.judge: {self.name}", hint=hint)
        failed.spent = reply.spent
        raise failed
