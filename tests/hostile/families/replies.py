"""What servers, judges, reflectors and controllers answer."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2

from engine.evolution.judges.judge import JudgeFailed
from engine.evolution.judges.openai_judge import OpenAIJudge
from engine.evolution.reflectors.openai_reflector import read_reply
from engine.servers.completion import Reply, Unusable, json_object, read_completion
from engine.servers.refusal import is_about_content, refusal_text
from engine.servers.retry_after import retry_after
from engine.servers.transport import BodyRefused, _Bounded
from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.openai_controller import OpenAIController
from engine.slsm.judges.openai_judge import OpenAIAnswerJudge
from engine.slsm.multichallenge import Criterion
from engine.slsm.state import Constraint, FlatState, SemanticState
from engine.slsm.turns import Turn
from tests.hostile.family import Family


def completion(content: str, **message: Any) -> bytes:
    """A chat completion with this content."""
    body = {
        "id": "1",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
    }
    return json.dumps(body).encode()


class _Said:
    """In a client's place: it has received one body."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def complete(self, *_: object) -> Reply:
        """As the client reads it; what the client turns into a failed request is none of the reader's."""
        return read_completion(self._body.decode(errors="replace"))


_VERDICT = json.dumps({"reasoning": "2,500 million is 2.5 billion.", "correct": True, "verdict": "YES"})
_DELTAS = json.dumps({"deltas": {"0": 0.5, "1": -1, "2": 0.0}, "summary": "Ends sooner."})
_CHANGES = json.dumps(
    {
        "changes": [
            {
                "operation": "add",
                "list": "constraints",
                "id": "",
                "text": "No commas.",
                "status": "active",
                "evidence": "no commas",
            },
            {
                "operation": "resolve",
                "list": "facts",
                "id": "F1",
                "text": "gone",
                "status": "",
                "evidence": "",
            },
        ],
        "plan": {"mode": "verify", "reasons": ["a rule stands"]},
    }
)
_FLAT = json.dumps(
    {"memory_text": "No commas.", "mismatch": False, "plan": {"mode": "proceed", "reasons": []}}
)
_CONFLICTS = json.dumps({"conflicts": [{"item": "C1", "why": "it has a comma"}]})
_STATE = SemanticState(constraints=(Constraint(id="C1", text="Answer without commas."),))
_TURNS = [Turn("Answer without commas. My cat is called Ida.")]


def _bodies(*contents: str) -> Callable[[], list[bytes]]:
    return lambda: [
        *map(completion, contents),
        *(completion(f"<think>hm</think>Sure!\n```json\n{content}\n```") for content in contents),
        completion("", refusal="I cannot."),
        *(content.encode() for content in contents),
    ]


def _judge(data: bytes, folder: Path) -> object:
    return OpenAIJudge(_Said(data), "m", 0.01).judge("How much?", ["2500"], "2.5 billion")  # type: ignore[arg-type]


def _answer_judge(data: bytes, folder: Path) -> object:
    judge = OpenAIAnswerJudge(_Said(data), "m", capitals=True)  # type: ignore[arg-type]
    return judge.judge(Criterion("No commas?", "YES"), "One and two")


def _reflector(data: bytes, folder: Path) -> object:
    try:
        deltas, _ = read_reply(read_completion(data.decode(errors="replace")), ["0", "1", "2"])
    except Unusable as error:
        return str(error).encode()
    return deltas


def _controller(data: bytes, folder: Path) -> object:
    controller = OpenAIController(_Said(data), "m")  # type: ignore[arg-type]
    controller.update(_STATE, _TURNS)
    controller.update(FlatState(memory_text="No commas."), _TURNS)
    return controller.detect(_STATE, _TURNS, "One, two")


def _refusal(data: bytes, folder: Path) -> object:
    return is_about_content(refusal_text(data.decode(errors="replace")))


def _wait(data: bytes, folder: Path) -> object:
    text = data.decode("latin-1")
    first, _, second = text.partition("\n")
    return retry_after({"retry-after": first, "retry-after-ms": second}, 1.7e9)


def _packed(data: bytes, folder: Path) -> object:
    """A body in pieces of 64 KiB, behind `content-encoding: gzip`."""

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for at in range(0, len(data), 1 << 16):
                yield data[at : at + (1 << 16)]

    async def whole() -> int:
        return sum([len(piece) async for piece in _Bounded(Pieces(), True, 1 << 24)])

    return asyncio.run(whole())


def _sentence(data: bytes, folder: Path) -> object:
    """Instructions and answers, as the exact checks read them."""
    text = data.decode(errors="replace")
    check = parse_check(text[:2000])
    return None if check is None else check.holds(text)


_UNREAD = (ValueError, RecursionError)
"""What the client takes for a failed request."""
FAMILIES = [
    Family(
        "completion",
        "json",
        _bodies('{"a": "Nine apples."}'),
        lambda data, _: json_object(read_completion(data.decode(errors="replace"))),
        _UNREAD,
    ),
    Family("judge's verdict", "json", _bodies(_VERDICT), _judge, (*_UNREAD, JudgeFailed)),
    Family("answer judge's verdict", "json", _bodies(_VERDICT), _answer_judge, _UNREAD),
    Family("reflector's deltas", "json", _bodies(_DELTAS), _reflector, _UNREAD),
    Family("controller's reply", "json", _bodies(_CHANGES, _FLAT, _CONFLICTS), _controller, _UNREAD),
    Family(
        "refusal",
        "json",
        lambda: [
            b'{"error": {"message": "context length exceeded"}}',
            b'{"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}',
        ],
        _refusal,
    ),
    Family("retry-after", "text", lambda: [b"3\n", b"Wed, 21 Oct 2026 07:28:00 GMT\n1500"], _wait),
    Family(
        "packed body",
        "bytes",
        lambda: [gzip.compress(completion("a")), gzip.compress(b"0" * (1 << 23)), zlib.compress(b"abc")],
        _packed,
        (BodyRefused,),
    ),
    Family(
        "instruction",
        "text",
        lambda: [
            b"Answer in at most 30 words.",
            b"Your answer must not contain any commas.",
            b"Include the words sea and ship.",
            b"Start every sentence with So.",
        ],
        _sentence,
    ),
]
