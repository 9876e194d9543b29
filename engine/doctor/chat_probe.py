"""Questions to a server's chat completions, in the form that the server accepts, and its replies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.servers.completion import Reply, Unusable, read_completion
from engine.servers.http import Http, HttpAnswer
from engine.servers.refusal import refusal_text
from engine.servers.request_form import Asked, Message, RequestForm, Schema, other_form
from engine.servers.retry_after import retry_after

_ATTEMPTS = 3
_LONGEST_WAIT = 10.0


@dataclass(frozen=True)
class ProbeReply:
    """The reply to a probe. `completion` None: the server gave none, `answer.why()` says why."""

    answer: HttpAnswer
    completion: Reply | None = None


class ChatProbe:
    """Asks a model of a server. `form`: the form of request that it accepts; `notes`: what that form leaves out."""

    def __init__(self, http: Http, model: str) -> None:
        self._http = http
        self._model = model
        self.form = RequestForm()
        self.notes: list[str] = []

    def ask(
        self,
        messages: str | Sequence[Message],
        max_tokens: int = 48,
        temperature: float = 0.0,
        *,
        schema: Schema | None = None,
        seed: int | None = None,
        limit: Literal["max_tokens", "max_completion_tokens"] | None = None,
        **more: Any,
    ) -> ProbeReply:
        """Ask a question, with `more` fields unchanged; `limit`: the name under which `max_tokens` is sent. Fields that
        the server refuses are not left out."""
        turns = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        form = self.form if limit is None else replace(self.form, limit=limit)
        return self.send(form.body(Asked(turns, max_tokens, temperature, schema, seed)) | more)

    def send(self, fields: dict[str, Any]) -> ProbeReply:
        """Send a request unchanged; after a 429, wait and send it again."""
        request = {"model": self._model} | fields
        answer = self._http.post("/chat/completions", request)
        for attempt in range(1, _ATTEMPTS):
            if answer.status != 429:
                break
            pause = retry_after(answer.headers, time.time())
            time.sleep(min(attempt if pause is None else pause, _LONGEST_WAIT))
            answer = self._http.post("/chat/completions", request)
        return ProbeReply(answer, _completion(answer))

    def find_form(self, messages: Sequence[Message], max_tokens: int) -> ProbeReply:
        """Ask the first question, again in other forms while the server refuses its form, as the client does."""
        while True:
            asked = Asked(messages, max_tokens, 0.0)
            reply = self.send(self.form.body(asked))
            other = other_form(self.form, asked, reply.answer.status, refusal_text(reply.answer.text))
            if reply.completion is not None or other is None:
                return reply
            self.form = other[0]
            self.notes.append(other[1])


def _completion(answer: HttpAnswer) -> Reply | None:
    if not 200 <= answer.status < 300:
        return None
    try:
        return read_completion(answer.text)
    except (Unusable, ValueError, RecursionError):
        return None
