"""Answers in OpenAI's form, whole or in pieces, with a field of their own: `steer`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.esm.library.entry_names import chosen_name
from engine.events import DecisionTaken
from engine.levers.levers import SteeredAnswer
from engine.levers.token_logprobs import ScoredToken
from engine.serve.parsed_request import Kind
from engine.serve.pending_request import Written


@dataclass(frozen=True)
class Reply:
    """The form of the answer to one request. `n`: choices for each of its prompts."""

    request: str
    kind: Kind
    model: str
    levers: list[str]
    n: int = 1
    logprobs: bool = False

    def whole(self, answers: Sequence[SteeredAnswer]) -> dict[str, Any]:
        """The answers at once. What was decided stands beside a single one, and in each of several."""
        choices = [self._choice(index, answer) for index, answer in enumerate(answers)]
        if len(choices) > 1:
            choices = [
                {**choice, **self._steer(answer)} for choice, answer in zip(choices, answers, strict=True)
            ]
        head = self._head("chat.completion" if self._chat else "text_completion")
        steer = self._steer(answers[0]) if len(answers) == 1 else {}
        return {**head, "choices": choices, "usage": self.usage(answers), **steer}

    def _choice(self, index: int, answer: SteeredAnswer) -> dict[str, Any]:
        message = {"message": {"role": "assistant", "content": answer.text}}
        content = message if self._chat else {"text": answer.text}
        logprobs = self._logprobs(answer.scored or [])
        return {"index": index, **content, "finish_reason": answer.finish, "logprobs": logprobs}

    def opening(self, index: int) -> dict[str, Any]:
        """The first piece of a chat: who speaks."""
        return self._piece(index, {"role": "assistant", "content": ""}, "")

    def text(self, index: int, written: Written) -> dict[str, Any]:
        """A piece of the answer."""
        return self._piece(index, {"content": written.text}, written.text, scored=written.scored)

    def decided(self, index: int, decision: DecisionTaken) -> dict[str, Any]:
        """What was decided for the segment that has just been written."""
        return {**self._piece(index, {}, ""), "steer": {"decision": decision_fields(decision)}}

    def end(self, index: int, answer: SteeredAnswer) -> dict[str, Any]:
        """The last piece: why it ended, and what the levers did."""
        return {**self._piece(index, {}, "", answer.finish), **self._steer(answer)}

    def usage_piece(self, answers: Sequence[SteeredAnswer]) -> dict[str, Any]:
        """What it cost, for those who asked for it."""
        return {**self._head(self._chunk), "choices": [], "usage": self.usage(answers)}

    def usage(self, answers: Sequence[SteeredAnswer]) -> dict[str, int]:
        """Tokens of the prompts, each counted once, and of the answers; probes are in `steer`."""
        asked = sum(answer.prompt_tokens for answer in answers[:: self.n])
        written = sum(len(answer.tokens) for answer in answers)
        return {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}

    def _steer(self, answer: SteeredAnswer) -> dict[str, Any]:
        """What was decided, what each lever did, and what became of the prompt."""
        did = [{"lever": d.lever, "acted": d.acted, "what": d.what, "tokens": d.tokens} for d in answer.did]
        decisions = [decision_fields(decision) for decision in answer.decisions]
        prompt = asdict(answer.prompt)
        return {"steer": {"levers": self.levers, "did": did, "decisions": decisions, "prompt": prompt}}

    def _logprobs(self, scored: Sequence[ScoredToken]) -> dict[str, Any] | None:
        if not self.logprobs:
            return None
        return chat_logprobs(scored) if self._chat else text_logprobs(scored)

    @property
    def _chat(self) -> bool:
        return self.kind == "chat"

    @property
    def _chunk(self) -> str:
        return "chat.completion.chunk" if self._chat else "text_completion"

    def _piece(
        self,
        index: int,
        delta: dict[str, Any],
        text: str,
        finish: str | None = None,
        scored: Sequence[ScoredToken] = (),
    ) -> dict[str, Any]:
        content = {"delta": delta} if self._chat else {"text": text}
        choice = {"index": index, **content, "finish_reason": finish}
        if scored:
            choice["logprobs"] = self._logprobs(scored)
        return {**self._head(self._chunk), "choices": [choice]}

    def _head(self, name: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self._chat else "cmpl"
        created = int(time.time())
        return {"id": f"{prefix}-{self.request}", "object": name, "created": created, "model": self.model}


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


def chat_logprobs(scored: Sequence[ScoredToken]) -> dict[str, Any]:
    """As a chat has them."""

    def entry(text: str, logprob: float | None) -> dict[str, Any]:
        whole = "\ufffd" not in text  # a part of a character has no text, and so no bytes that could be told
        return {"token": text, "logprob": logprob, "bytes": list(text.encode()) if whole else None}

    content = [
        {**entry(token.text, token.logprob), "top_logprobs": [entry(*other) for other in token.top]}
        for token in scored
    ]
    return {"content": content, "refusal": None}


def text_logprobs(scored: Sequence[ScoredToken]) -> dict[str, Any]:
    """As a text has them: parallel lists. Where several tokens have the same text, the likeliest stands for them."""
    return {
        "tokens": [token.text for token in scored],
        "token_logprobs": [token.logprob for token in scored],
        "top_logprobs": [None if token.logprob is None else _likeliest(token) for token in scored],
        "text_offset": [token.offset for token in scored],
    }


def _likeliest(token: ScoredToken) -> dict[str, float | None]:
    likeliest: dict[str, float | None] = {}
    for text, logprob in (*token.top, (token.text, token.logprob)):
        likeliest.setdefault(text, logprob)
    return likeliest


def event_bytes(piece: dict[str, Any]) -> bytes:
    """A piece as a server-sent event."""
    return f"data: {json.dumps(piece, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"
