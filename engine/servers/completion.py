"""A chat completion's body, read with suspicion: whatever a server calls one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeGuard

from engine.servers.spent import Spent

# Where the prompt's template opens the thought already (DeepSeek-R1, QwQ), only its end is in the answer.
_THOUGHT = re.compile(r"\A(?:\s*<think>.*?|(?:(?!<think>).)*?)</think>\s*", re.S)
_FENCED = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?\s*```\s*\Z", re.S | re.I)


@dataclass(frozen=True)
class Reply:
    """`finish_reason`: stop, length, content_filter, ...; `refusal`: the model's own words, if it refused. Tokens as
    the server counted them, None where it did not."""

    text: str
    finish_reason: str
    refusal: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    spent: Spent = Spent()


class Unusable(ValueError):
    """The reply is not what was asked for; the text says why, in words for the model. Tokens as in `Reply`,
    where there is none."""

    def __init__(
        self, why: str, prompt_tokens: int | None = None, completion_tokens: int | None = None
    ) -> None:
        super().__init__(why)
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens


def read_completion(body: str) -> Reply:
    """The first choice. A thought before the answer (`<think>`), which some servers leave in, is left out.

    Raises ValueError or RecursionError where `body` is no JSON, and Unusable where it is no completion.
    """
    parsed = json.loads(body)
    prompt, completion = _tokens(parsed.get("usage") if isinstance(parsed, dict) else None)
    none = Unusable("the answer is no chat completion", prompt, completion)
    try:
        choice = parsed["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content") or "", message.get("refusal") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise none from None
    if not isinstance(text, str) or not isinstance(refusal, str):
        raise none
    # JSON may hold halves of letters, which no file can.
    text, refusal = (words.encode(errors="replace").decode() for words in (text, refusal))
    return Reply(_THOUGHT.sub("", text), str(choice.get("finish_reason")), refusal, prompt, completion)


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Of prompt and completion; a server that counts at all counts the prompt."""
    if not isinstance(usage, dict) or not _is_count(usage.get("prompt_tokens")):
        return None, None
    completion = usage.get("completion_tokens")
    return usage["prompt_tokens"], completion if _is_count(completion) else 0


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def usable_json(reply: Reply) -> str:
    """The JSON text of a structured reply, without a fence around it. Raises Unusable for a refusal and for what was
    cut off or empty; whether it is JSON, and the right one, is the reader's to check."""
    if reply.refusal:
        raise Unusable(f"the model refused: {reply.refusal[:200]}")
    if reply.finish_reason == "length":
        raise Unusable("the reply was cut off at the token limit")
    if reply.finish_reason == "content_filter":
        raise Unusable("the reply was held back by the server's content filter")
    fenced = _FENCED.match(reply.text)
    text = fenced[1] if fenced else reply.text
    if not text.strip():
        raise Unusable("the reply is empty")
    return text


def json_object(reply: Reply) -> dict[str, Any]:
    """The object of a structured reply. Raises Unusable."""
    text = usable_json(reply)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"it is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise Unusable("it is not a JSON object")
    return parsed
