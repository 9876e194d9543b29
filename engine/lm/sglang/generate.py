"""SGLang's `/generate` and `/health`: questions and answers are token ids."""

from __future__ import annotations

from typing import Any

from engine.lm.model_server import ModelAnswer, ModelQuestion
from engine.lm.protocol import Tokenizer
from engine.servers.http import Http


class Broken(Exception):
    """The connection or the server broke: a further attempt may help."""


class Refused(Exception):
    """The server refused the request, or is not an SGLang server."""


class GenerateClient:
    """Requests and replies of one server. `send` may be called from several threads."""

    def __init__(self, address: str, tokenizer: Tokenizer, timeout: float) -> None:
        """`timeout`: seconds for an answer."""
        self._http = Http(address, "", timeout)
        self._tokenizer = tokenizer

    def healthy(self, timeout: float) -> bool:
        """Whether the server reports to be healthy within `timeout` seconds."""
        return self._http.get("/health", timeout).status == 200

    def body(self, question: ModelQuestion, processor: str | None) -> dict[str, Any]:
        """The request's fields. `processor`: a custom logits processor as SGLang's string."""
        ends = self._tokenizer.eos_token_ids
        sampling: dict[str, Any] = {
            "max_new_tokens": question.max_tokens,
            "temperature": question.temperature,
            "stop_token_ids": sorted(ends),
        }
        if question.temperature > 0:
            sampling["sampling_seed"] = question.seed % (1 << 31)
        body: dict[str, Any] = {
            "input_ids": list(self._tokenizer.encode_chat(question.prompt, question.system)),
            "sampling_params": sampling,
        }
        return body if processor is None else {**body, "custom_logit_processor": processor}

    def send(self, body: dict[str, Any]) -> Any:
        """The server's reply, as JSON. Raises Broken and Refused."""
        answer = self._http.post("/generate", body)
        if answer.good:
            return answer.body
        message = answer.problem or f"status {answer.why()}"
        raise Refused(message) if 300 <= answer.status < 500 else Broken(message)

    def read(self, reply: Any) -> ModelAnswer:
        """The answer, without the token that ended it; its text is decoded in this process.
        Raises Broken for an answer that the server aborted, Refused for a reply without an answer."""
        try:
            tokens = [int(token) for token in reply["output_ids"]]
            finish = reply["meta_info"]["finish_reason"]
            ended = str(finish["type"])
        except (KeyError, TypeError, ValueError):
            raise Refused("the reply has no output_ids or finish_reason") from None
        if ended == "abort":
            raise Broken(f"the server aborted the answer: {finish.get('message')}")
        kept = [token for token in tokens if token not in self._tokenizer.eos_token_ids]
        return ModelAnswer(self._tokenizer.decode(kept), kept, finished=ended == "stop")
