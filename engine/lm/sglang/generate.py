"""SGLang's `/generate` and `/health`: questions and answers are token ids."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

from engine.lm.model_server import ModelAnswer, ModelQuestion
from engine.lm.protocol import Tokenizer
from engine.servers.proxy import direct_opener

_DIRECT = direct_opener("http://127.0.0.1")
"""Without the environment's proxies and without redirects: the server runs on this machine."""
_LARGEST = 1 << 26
"""Bytes of a reply."""


class Broken(Exception):
    """The connection or the server broke: a further attempt may help."""


class Refused(Exception):
    """The server refused the request, or is not an SGLang server."""


class GenerateClient:
    """Requests and replies of one server. `send` may be called from several threads."""

    def __init__(self, address: str, tokenizer: Tokenizer, timeout: float) -> None:
        """`timeout`: seconds without a byte of an answer."""
        self._address = address
        self._tokenizer = tokenizer
        self._timeout = timeout

    def healthy(self, timeout: float) -> bool:
        """Whether the server reports to be healthy within `timeout` seconds."""
        try:
            with _DIRECT.open(f"{self._address}/health", timeout=timeout) as reply:
                return reply.status == 200
        except (OSError, HTTPException):
            return False

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
        request = urllib.request.Request(
            f"{self._address}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with _DIRECT.open(request, timeout=self._timeout) as reply:
                data = reply.read(_LARGEST + 1)
            if len(data) > _LARGEST:
                raise Refused(f"the reply is larger than {_LARGEST >> 20} MiB")
            return json.loads(data)
        except urllib.error.HTTPError as error:
            message = " ".join(error.read(400).decode(errors="replace").split())
            kind = Broken if error.code >= 500 else Refused
            raise kind(f"status {error.code}: {message}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise Broken(f"{type(error).__name__}: {error}") from None

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
