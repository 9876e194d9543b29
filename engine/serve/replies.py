"""Answers in OpenAI's form, whole or in pieces, with a field of their own: `steer`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from engine.esm.library.entry_names import chosen_name
from engine.events import DecisionTaken
from engine.levers.levers import Answered
from engine.serve.parsed_request import Kind


@dataclass(frozen=True)
class Reply:
    """The form of the answer to one request."""

    request: str
    kind: Kind
    model: str
    levers: list[str]

    def whole(self, answer: Answered) -> dict[str, Any]:
        """The answer at once."""
        content = (
            {"message": {"role": "assistant", "content": answer.text}}
            if self._chat
            else {"text": answer.text}
        )
        choice = {"index": 0, **content, "finish_reason": answer.finish, "logprobs": None}
        name = "chat.completion" if self._chat else "text_completion"
        return {**self._head(name), "choices": [choice], "usage": usage(answer), "steer": self.steer(answer)}

    def opening(self) -> dict[str, Any]:
        """The first piece of a chat: who speaks."""
        return self._piece({"role": "assistant", "content": ""}, "")

    def text(self, text: str) -> dict[str, Any]:
        """A piece of the answer."""
        return self._piece({"content": text}, text)

    def decided(self, decision: DecisionTaken) -> dict[str, Any]:
        """What was decided for the segment that has just been written."""
        return {**self._piece({}, ""), "steer": {"decision": decision_fields(decision)}}

    def end(self, answer: Answered) -> dict[str, Any]:
        """The last piece: why it ended, and what the levers did."""
        return {**self._piece({}, "", answer.finish), "steer": self.steer(answer)}

    def usage_piece(self, answer: Answered) -> dict[str, Any]:
        """What it cost, for those who asked for it."""
        return {**self._head(self._chunk), "choices": [], "usage": usage(answer)}

    def steer(self, answer: Answered) -> dict[str, Any]:
        """What was decided, and what each lever did."""
        return {
            "levers": self.levers,
            "did": [
                {"lever": d.lever, "acted": d.acted, "what": d.what, "tokens": d.tokens} for d in answer.did
            ],
            "decisions": [decision_fields(decision) for decision in answer.decisions],
        }

    @property
    def _chat(self) -> bool:
        return self.kind == "chat"

    @property
    def _chunk(self) -> str:
        return "chat.completion.chunk" if self._chat else "text_completion"

    def _piece(self, delta: dict[str, Any], text: str, finish: str | None = None) -> dict[str, Any]:
        content = {"delta": delta} if self._chat else {"text": text}
        return {**self._head(self._chunk), "choices": [{"index": 0, **content, "finish_reason": finish}]}

    def _head(self, name: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self._chat else "cmpl"
        return {
            "id": f"{prefix}-{self.request}",
            "object": name,
            "created": int(time.time()),
            "model": self.model,
        }


def decision_fields(decision: DecisionTaken) -> dict[str, Any]:
    """A decision in a few fields."""
    return {
        "segment": decision.m,
        "gate": decision.gate,
        "entry": decision.chosen,
        "name": chosen_name(decision) if decision.chosen else None,
        "layer": decision.layer,
        "alpha": decision.alpha,
        "tokens": decision.committed_tokens,
        "probe_tokens": decision.probe_tokens,
    }


def usage(answer: Answered) -> dict[str, int]:
    """Tokens of prompt and answer; probes are in `steer`."""
    written = len(answer.tokens)
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": answer.prompt_tokens + written,
    }


def event_bytes(piece: dict[str, Any]) -> bytes:
    """A piece as a server-sent event."""
    return f"data: {json.dumps(piece, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def error_body(message: str, kind: str, field: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}
