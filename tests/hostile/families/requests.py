"""What clients ask a steered server: the JSON of a request, read as the server reads it, and the error sent back."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

from engine.levers.levers import Levers
from engine.serve.parsed_request import parse_request
from engine.serve.refused import Refused
from tests.hostile.family import Family

_LEVERS = cast("Levers", SimpleNamespace(model_name="tiny", names=["esm", "notes"], fits=[], esm=None))
_CHAT: dict[str, Any] = {
    "model": "tiny", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "5 + 3?"}],
    "max_tokens": 20, "temperature": 0.5, "seed": 3, "stop": ["\n"], "stream": True, "n": 1, "top_p": 1,
    "stream_options": {"include_usage": True}, "steer": {"esm": True, "k_scale": 1.5, "L": 2, "notes": "always"},
}  # fmt: skip
_COMPLETION: dict[str, Any] = {"prompt": "5 + 3 =", "max_tokens": 8, "stop": "\n", "steer": {"esm": False}}


def _asked(kind: Literal["chat", "completion"], data: bytes) -> object:
    """As the server does it: what comes back has to be a response that can be sent."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the request is no JSON") from error
    try:
        return parse_request(kind, body, _LEVERS, ["esm"], 512)
    except Refused as error:
        _ = error.response
        raise


def _chat(data: bytes, folder: Path) -> object:
    return _asked("chat", data)


def _completion(data: bytes, folder: Path) -> object:
    return _asked("completion", data)


FAMILIES = [
    Family("steered chat", "json", lambda: [json.dumps(_CHAT).encode()], _chat, (Refused,)),
    Family("steered completion", "json", lambda: [json.dumps(_COMPLETION).encode()], _completion, (Refused,)),
]
