"""Checks of a server's chat completions. Each tests the effect of a field: a server may accept a field and ignore it.

The result of a check is ok, no or unknown, with its meaning for steer-tui.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.doctor.chat_probe import ChatProbe, ProbeReply
from engine.servers.completion import Unusable, json_object

State = Literal["ok", "no", "unknown"]

_COUNT = "Count from 1 to 30 in digits, separated by spaces. Write nothing else."
_VARIED = "Write ten random English words, separated by spaces."
_ARGUES = "Reply with the single word hello. Do not write JSON, braces or quotes: only the word hello."
_LIMIT = 6
_HOT = 2.0
_BIASED = 300
"""A token id that any vocabulary has. Which text it stands for does not matter."""
_SCHEMA = {
    "name": "probe",
    "schema": {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green"]}, "sure": {"type": "boolean"}},
        "required": ["colour", "sure"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Capability:
    """Result of a check. `text`: the observation; `meaning`: its consequence for steer-tui, if any."""

    name: str
    state: State
    text: str = ""
    meaning: str = ""


def token_limits(probe: ChatProbe) -> Capability:
    """The names of the token limit that the server obeys."""
    obeyed: dict[str, State] = {}
    for name in ("max_tokens", "max_completion_tokens"):
        reply = probe.ask(_COUNT, _LIMIT, limit=name)
        obeyed[name] = "no" if reply.completion is None else _limited(reply)
    text = ", ".join(f"{name} {_WORDS[state]}" for name, state in obeyed.items())
    if "ok" in obeyed.values():
        return Capability("token limit", "ok", text)
    unknown = "unknown" in obeyed.values()
    return Capability(
        "token limit", "unknown" if unknown else "no", text, "answers may be longer than configured"
    )


_WORDS: dict[State, str] = {"ok": "is obeyed", "no": "is not", "unknown": "is uncertain"}


def _limited(reply: ProbeReply) -> State:
    completion = reply.completion
    assert completion is not None
    if completion.finish_reason == "length":
        return "ok"
    if completion.completion_tokens is None:
        return "unknown"
    return "ok" if completion.completion_tokens <= _LIMIT else "no"


def usage(probe: ChatProbe, first: ProbeReply) -> Capability:
    """Whether answers report their token counts."""
    completion = first.completion
    if completion is not None and completion.prompt_tokens is not None:
        text = f"{completion.prompt_tokens} + {completion.completion_tokens} tokens reported"
        return Capability("usage", "ok", text)
    meaning = "characters are counted, cost is unknown; limits in tokens have no effect"
    return Capability("usage", "no", "no token counts", meaning)


def seeds(probe: ChatProbe) -> Capability:
    """Whether a seed fixes sampling. At a high temperature, since a confident model repeats itself anyway."""
    replies = [probe.ask(_VARIED, 48, _HOT, seed=seed) for seed in (7, 7, 7, 7, 8, 9, 10)]
    meaning = "sampled answers cannot be repeated; those at temperature 0 may"
    if failed := next((reply for reply in replies if reply.completion is None), None):
        return Capability("seed", "no", failed.answer.why(), meaning)
    same, others = {reply.text for reply in replies[:4]}, {reply.text for reply in replies[4:]}
    if len(same) > 1:
        return Capability("seed", "no", f"the same seed gave {len(same)} answers", meaning)
    if len(others) == 1:
        return Capability("seed", "unknown", f"all seeds gave the same answer at temperature {_HOT:g}")
    return Capability("seed", "ok", "the same seed gives the same answer, another seed another answer")


def logprobs(probe: ChatProbe) -> Capability:
    """Whether log-probabilities of the tokens come."""
    reply = probe.ask(_COUNT, 4, logprobs=True, top_logprobs=2)
    meaning = "no role needs them"
    if reply.completion is None:
        return Capability("logprobs", "no", reply.answer.why(), meaning)
    logprobs = reply.choices[0].get("logprobs") if reply.choices else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if isinstance(content, list) and content and isinstance(content[0].get("logprob"), int | float):
        return Capability(
            "logprobs", "ok", f"{len(content[0].get('top_logprobs') or [])} alternatives a token"
        )
    return Capability("logprobs", "no", "accepted, but none came", meaning)


def several(probe: ChatProbe) -> Capability:
    """Whether a request can have more than one choice."""
    reply = probe.ask(_VARIED, 8, 1.0, n=2)
    meaning = "no role needs it: every answer is a request of its own"
    if reply.completion is None:
        return Capability("n > 1", "no", reply.answer.why(), meaning)
    if len(reply.choices) == 2:
        return Capability("n > 1", "ok", "2 choices for n = 2")
    return Capability("n > 1", "no", f"{len(reply.choices)} choice for n = 2", meaning)


def stops(probe: ChatProbe, greedy: ProbeReply) -> Capability:
    """Whether a stop string is obeyed, tested with a string from the middle of the greedy answer."""
    text = greedy.text
    meaning = "no role needs them"
    middle = text[len(text) // 2 :][:2]
    if greedy.completion is None or len(text) < 4 or not middle.strip():
        return Capability("stop strings", "unknown", "the model wrote too little to stop it")
    reply = probe.ask(_COUNT, 48, stop=[middle])
    if reply.completion is None:
        return Capability("stop strings", "no", reply.answer.why(), meaning)
    if middle not in reply.text and text.startswith(reply.text.rstrip()):
        return Capability("stop strings", "ok", "the answer ends where it should")
    if reply.text == text:
        return Capability("stop strings", "no", "accepted, but not obeyed", meaning)
    return Capability("stop strings", "unknown", "the model did not write the same again")


def logit_bias(probe: ChatProbe, greedy: ProbeReply) -> Capability:
    """Whether a bias of +100 on a token changes a greedy answer."""
    reply = probe.ask(_COUNT, 8, logit_bias={str(_BIASED): 100})
    meaning = "no role needs it: evolution brings its own processor"
    if reply.completion is None:
        return Capability("logit_bias", "no", reply.answer.why(), meaning)
    if not greedy.text:
        return Capability("logit_bias", "unknown", "the model wrote nothing to compare with")
    if greedy.text.startswith(reply.text) and reply.text:
        return Capability("logit_bias", "no", "accepted, but not obeyed", meaning)
    return Capability("logit_bias", "ok", "a token of +100 is all that is written")


def json_schema(probe: ChatProbe) -> Capability:
    """Whether a schema is enforced against a prompt that argues for something else."""
    reply = probe.ask(_ARGUES, 96, schema=_SCHEMA)
    if reply.completion is None:
        meaning = "the schema goes into the prompt; answers are checked here and asked for again"
        return Capability("json_schema", "no", reply.answer.why(), meaning)
    meaning = "answers are checked here, and asked for again with the error"
    try:
        answer = json_object(reply.completion)
    except Unusable as error:
        if _is_cut_off_json(reply):
            return Capability("json_schema", "unknown", "the JSON was cut off: its shape is unknown", meaning)
        return Capability(
            "json_schema", "no", f"accepted, but not enforced: {_quote(reply.text) or error}", meaning
        )
    if (
        set(answer) == {"colour", "sure"}
        and answer["colour"] in ("red", "green")
        and isinstance(answer["sure"], bool)
    ):
        return Capability("json_schema", "ok", "enforced against a prompt that asks for no JSON")
    return Capability("json_schema", "no", f"JSON, but not of the schema: {_quote(reply.text)}", meaning)


def json_mode(probe: ChatProbe) -> Capability:
    """Whether some JSON object is enforced, a weaker promise than a schema."""
    reply = probe.ask(_ARGUES, 96, response_format={"type": "json_object"})
    meaning = "only asked for where json_schema is refused"
    if reply.completion is None:
        return Capability("json_object", "no", reply.answer.why(), meaning)
    if _is_cut_off_json(reply):
        return Capability("json_object", "ok", "started against a prompt that asks for no JSON, and cut off")
    try:
        json_object(reply.completion)
    except Unusable:
        return Capability("json_object", "no", f"accepted, but not enforced: {_quote(reply.text)}", meaning)
    return Capability("json_object", "ok", "enforced against a prompt that asks for no JSON")


def _is_cut_off_json(reply: ProbeReply) -> bool:
    """Whether a JSON object was started and cut off: small models may write spaces for ever."""
    cut_off = reply.completion is not None and reply.completion.finish_reason == "length"
    return cut_off and reply.text.lstrip().startswith("{")


def images(probe: ChatProbe) -> Capability:
    """Whether the model sees a red square."""
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": _red_square()}},
        {"type": "text", "text": "Which colour is this image? Answer with one word."},
    ]
    reply = probe.ask([{"role": "user", "content": content}], 48)
    meaning = "not for pool.vqa (vision)"
    if reply.completion is None:
        return Capability("images", "no", reply.answer.why(), meaning)
    if re.search(r"\bred\b", reply.text, re.IGNORECASE):  # not "no image was shared"
        return Capability("images", "ok", "a red square is seen")
    return Capability(
        "images", "unknown", f"accepted, but a red square is called {_quote(reply.text)}", meaning
    )


def system_messages(probe: ChatProbe) -> Capability:
    """Whether the server accepts the role `system`, as the first question showed."""
    if probe.form.system:
        return Capability("system messages", "ok", "accepted")
    return Capability("system messages", "no", "refused", "their text goes before the user's first message")


def waiting(probe: ChatProbe) -> Capability:
    """Whether a 429 says how long to wait; known only if the server turned a request away."""
    if not probe.turned_away:
        return Capability("Retry-After", "unknown", "no request was turned away")
    says, times = any(probe.turned_away), len(probe.turned_away)
    if says:
        return Capability("Retry-After", "ok", f"429 {times} times, with how long to wait")
    meaning = "waits double from one second on; `concurrency` and `requests_per_minute` hold requests back"
    return Capability("Retry-After", "no", f"429 {times} times, without how long to wait", meaning)


Check = Callable[[ChatProbe, ProbeReply, ProbeReply], Capability]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("system messages", lambda probe, first, greedy: system_messages(probe)),
    ("usage", lambda probe, first, greedy: usage(probe, first)),
    ("token limit", lambda probe, first, greedy: token_limits(probe)),
    ("json_schema", lambda probe, first, greedy: json_schema(probe)),
    ("json_object", lambda probe, first, greedy: json_mode(probe)),
    ("seed", lambda probe, first, greedy: seeds(probe)),
    ("images", lambda probe, first, greedy: images(probe)),
    ("stop strings", lambda probe, first, greedy: stops(probe, greedy)),
    ("logit_bias", lambda probe, first, greedy: logit_bias(probe, greedy)),
    ("logprobs", lambda probe, first, greedy: logprobs(probe)),
    ("n > 1", lambda probe, first, greedy: several(probe)),
)
"""In the order of the report; each takes the probe, the reply to its first question and a greedy answer."""


def greedy_answer(probe: ChatProbe) -> ProbeReply:
    """The model's plain greedy answer, to compare with."""
    return probe.ask(_COUNT, 48)


def _quote(text: str) -> str:
    return json.dumps(" ".join(text.split())[:60], ensure_ascii=False) if text.strip() else ""


def _red_square(size: int = 64) -> str:
    """A PNG as a data URL; vision models want some pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()
