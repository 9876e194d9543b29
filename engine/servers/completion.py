"""A chat completion's body, read with suspicion: whatever a server calls one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeGuard

from engine.json_texts import changed_texts, whole
from engine.servers.spent import Spent

_LONGEST_TEXT = 4000
"""Characters of a text in a structured reply: a reason, a summary, an item. Logs, files and screens keep it whole."""

Tokens = tuple[int | None, int | None]
"""Of prompt and completion; None where nobody counted them."""

Problems = dict[str, str]
"""Each rule that a reply breaks, with what breaks it; "" where the rule says all."""

_ENDS = ("stop", "length", "content_filter", "tool_calls", "function_call")


@dataclass(frozen=True)
class Reply:
    """`finish_reason`: one of `_ENDS`, or that it is none of them; `refusal`: the model's own words. Tokens as
    the server counted them, None where it did not."""

    text: str
    finish_reason: str
    refusal: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    spent: Spent = Spent()


class Unusable(ValueError):
    """The reply is not what was asked for; the text says why, in words for the model. Tokens as in `Reply`, where there
    is none."""

    def __init__(self, broken: str | Problems, detail: str = "", tokens: Tokens = (None, None)) -> None:
        """`broken`: a rule, with `detail`, or several."""
        self.problems = {broken: detail} if isinstance(broken, str) else broken
        super().__init__(problem_words(self.problems))
        self.prompt_tokens, self.completion_tokens = tokens


def problem_words(problems: Problems) -> str:
    """All of them in a line: `missing clusters: 1, 2; beyond ±100: 3`."""
    return "; ".join(f"{rule}: {what}" if what else rule for rule, what in problems.items())


def read_completion(body: str) -> Reply:
    """The first choice. A thought before the answer (`<think>`), which some servers leave in, is left out.

    Raises ValueError or RecursionError where `body` is no JSON, and Unusable where it is no completion.
    """
    if body.lstrip()[:1] == "<":
        raise Unusable(
            "the answer is a web page, not JSON: base_url may name another server, or lack its /v1"
        )
    if body.lstrip().startswith(("data:", "event:")):
        raise Unusable("the answer is a stream of events, which was not asked for")
    parsed = json.loads(body)
    tokens = _tokens(parsed.get("usage") if isinstance(parsed, dict) else None)
    none = Unusable("the answer is not a chat completion", tokens=tokens)
    try:
        choice = parsed["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content") or "", message.get("refusal") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise none from None
    if not isinstance(text, str) or not isinstance(refusal, str):
        raise none
    text, refusal = whole(text), whole(refusal)
    ended = choice.get("finish_reason")
    reason = ended if ended in _ENDS else "no known reason"
    return Reply(_without_thought(text), reason, refusal, *tokens)


def _tokens(usage: Any) -> Tokens:
    """As the server counted them; a server that counts at all counts the prompt."""
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
        raise Unusable("the model refused", reply.refusal[:200])
    if reply.finish_reason == "length":
        raise Unusable("the reply was cut off at the token limit")
    if reply.finish_reason == "content_filter":
        raise Unusable("the reply was held back by the server's content filter")
    text = without_fence(reply.text)
    if not text.strip():
        raise Unusable("the reply is empty")
    return text


def json_object(reply: Reply) -> dict[str, Any]:
    """The object of a structured reply, its texts cut to a length that can be kept. Raises Unusable, also where a key
    stands twice: which of its values is meant, nobody knows."""
    text = usable_json(reply)
    try:
        parsed = changed_texts(json.loads(text, object_pairs_hook=_each_key_once), _keepable)
    except RecursionError:
        raise Unusable("it is nested too deeply") from None
    except ValueError as error:
        raise Unusable("it is not JSON", str(error)) from None
    if not isinstance(parsed, dict):
        raise Unusable("it is not a JSON object")
    return parsed


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice[:100]!r} twice in an object")
    return fields


def _without_thought(text: str) -> str:
    """`text` after its thought. Where the prompt's template opens the thought already (DeepSeek-R1, QwQ), only its end
    is in the answer."""
    end = text.find("</think>")
    begins = text.find("<think>")
    if end < 0 or (0 <= begins < end and text[:begins].strip()):
        return text
    return text[end + len("</think>") :].lstrip()


def without_fence(text: str) -> str:
    """What stands in a fence ("```json"), also behind words like "Sure!"; the text itself if it has none, or begins as
    JSON does."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    begins = text.find("```")
    ends = text.rfind("```")
    if begins < 0 or ends <= begins + 2:
        return text
    inner = text[begins + 3 : ends]
    word, line_end, rest = inner.partition("\n")
    return rest.strip() if line_end and word.strip().lower() in ("", "json") else text


def _keepable(text: str) -> str:
    """A text of a reply as files can hold it: cut to the longest, without halves of letters."""
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]} [cut: {len(text) - _LONGEST_TEXT:,} more characters]"
    return whole(text)
