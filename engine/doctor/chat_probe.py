"""Questions to a server's chat completions, in the form that it takes, and what comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.doctor.http import Answer, Http
from engine.servers.completion import Reply, Unusable, read_completion
from engine.servers.refusal import refusal_text
from engine.servers.request_form import Asked, Message, RequestForm, Schema, other_form
from engine.servers.retry_after import retry_after

_ATTEMPTS = 3
_LONGEST_WAIT = 10.0


@dataclass(frozen=True)
class Said:
    """What came back. `reply` None: no completion, `answer.why()` says why."""

    answer: Answer
    reply: Reply | None = None

    @property
    def text(self) -> str:
        """Of the first choice, empty without one."""
        return self.reply.text if self.reply else ""

    @property
    def choices(self) -> list[Any]:
        """As the server gave them."""
        body = self.answer.body
        found = body.get("choices") if isinstance(body, dict) else None
        return found if isinstance(found, list) else []


class ChatProbe:
    """A model of a server. `form` and `notes`: how it has to be asked, and what that leaves out."""

    def __init__(self, http: Http, model: str) -> None:
        self._http = http
        self._model = model
        self._guard = threading.Lock()
        self.form = RequestForm()
        self.notes: list[str] = []
        self.turned_away: list[bool] = []
        """For each 429, whether it said how long to wait."""

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
    ) -> Said:
        """One question, with `more` fields as they are; `limit`: another name of `max_tokens`. What is refused is not
        left out."""
        told = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        form = self.form if limit is None else replace(self.form, limit=limit)
        return self.send(form.body(Asked(told, max_tokens, temperature, schema, seed)) | more)

    def send(self, fields: dict[str, Any]) -> Said:
        """A request as it is; a 429 is waited for."""
        request = {"model": self._model} | fields
        answer = self._http.post("/chat/completions", request)
        for attempt in range(1, _ATTEMPTS):
            if answer.status != 429:
                break
            asked = retry_after(answer.headers, time.time())
            with self._guard:
                self.turned_away.append(asked is not None)
            time.sleep(min(attempt if asked is None else asked, _LONGEST_WAIT))
            answer = self._http.post("/chat/completions", request)
        return Said(answer, _reply(answer))

    def find_form(self, messages: Sequence[Message], max_tokens: int) -> Said:
        """The first question, asked again in other forms while it is refused for its form: as the client does."""
        while True:
            asked = Asked(messages, max_tokens, 0.0)
            said = self.send(self.form.body(asked))
            other = other_form(self.form, asked, said.answer.status, refusal_text(said.answer.text))
            if said.reply is not None or other is None:
                return said
            self.form = other[0]
            self.notes.append(other[1])


def _reply(answer: Answer) -> Reply | None:
    if not 200 <= answer.status < 300:
        return None
    try:
        return read_completion(answer.text)
    except (Unusable, ValueError, RecursionError):
        return None
