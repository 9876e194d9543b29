"""SGLang's `/generate` and `/health`: questions go as token ids and come back as token ids."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

from engine.lm.model_server import Answer, Ask
from engine.lm.protocol import Tokenizer

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The server is on this machine, whatever proxy the environment names."""


class Broken(Exception):
    """The connection or the server broke: asking again may help."""


class Refused(Exception):
    """The server does not want such a question, or is another kind of server."""


class GenerateClient:
    """Requests and replies of one server. `send` may be called from several threads."""

    def __init__(self, address: str, tokenizer: Tokenizer, timeout: float) -> None:
        """`timeout`: seconds without a byte of an answer."""
        self._address = address
        self._tokenizer = tokenizer
        self._timeout = timeout

    def healthy(self, timeout: float) -> bool:
        """Whether it says so within `timeout` seconds."""
        try:
            with _DIRECT.open(f"{self._address}/health", timeout=timeout) as reply:
                return reply.status == 200
        except (OSError, HTTPException):
            return False

    def body(self, ask: Ask, processor: str | None) -> dict[str, Any]:
        """The request. `processor`: SGLang's string of a custom logits processor."""
        ends = self._tokenizer.eos_token_ids
        sampling: dict[str, Any] = {
            "max_new_tokens": ask.max_tokens,
            "temperature": ask.temperature,
            "stop_token_ids": sorted(ends),
        }
        if ask.temperature > 0:
            sampling["sampling_seed"] = ask.seed % (1 << 31)
        body: dict[str, Any] = {
            "input_ids": list(self._tokenizer.encode_chat(ask.prompt)),
            "sampling_params": sampling,
        }
        return body if processor is None else {**body, "custom_logit_processor": processor}

    def send(self, body: dict[str, Any]) -> Any:
        """What it replies. Raises Broken and Refused."""
        request = urllib.request.Request(
            f"{self._address}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with _DIRECT.open(request, timeout=self._timeout) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            told = " ".join(error.read(400).decode(errors="replace").split())
            kind = Broken if error.code >= 500 else Refused
            raise kind(f"status {error.code}: {told}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise Broken(f"{type(error).__name__}: {error}") from None

    def read(self, reply: Any) -> Answer:
        """The answer, without the token that ended it; its text as the same tokens are written in this process.
        Raises Broken for an answer that the server gave up, Refused for what is none."""
        try:
            tokens = [int(token) for token in reply["output_ids"]]
            finish = reply["meta_info"]["finish_reason"]
            ended = str(finish["type"])
        except (KeyError, TypeError, ValueError):
            raise Refused("the reply has no output_ids or finish_reason") from None
        if ended == "abort":
            raise Broken(f"it gave the answer up: {finish.get('message')}")
        kept = [token for token in tokens if token not in self._tokenizer.eos_token_ids]
        return Answer(self._tokenizer.decode(kept), kept, finished=ended == "stop")
