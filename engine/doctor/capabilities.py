"""What a server's chat completions can do, each found out by asking: that a field is accepted is no proof.

Every check says ok, no or unknown, and what it means for steer-tui.
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

from engine.doctor.chat_probe import ChatProbe, Said
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
    """`text`: what was seen; `meaning`: what follows for steer-tui, where something does."""

    name: str
    state: State
    text: str = ""
    meaning: str = ""


def token_limits(probe: ChatProbe) -> Capability:
    """By which name a limit is obeyed."""
    found: dict[str, State] = {}
    for name in ("max_tokens", "max_completion_tokens"):
        said = probe.ask(_COUNT, _LIMIT, limit=name)
        found[name] = "no" if said.reply is None else _limited(said)
    told = ", ".join(f"{name} {_WORDS[state]}" for name, state in found.items())
    if "ok" in found.values():
        return Capability("token limit", "ok", told)
    unknown = "unknown" in found.values()
    return Capability(
        "token limit", "unknown" if unknown else "no", told, "answers may be longer than configured"
    )


_WORDS: dict[State, str] = {"ok": "is obeyed", "no": "is not", "unknown": "cannot be told"}


def _limited(said: Said) -> State:
    reply = said.reply
    assert reply is not None
    if reply.finish_reason == "length":
        return "ok"
    if reply.completion_tokens is None:
        return "unknown"
    return "ok" if reply.completion_tokens <= _LIMIT else "no"


def usage(probe: ChatProbe, first: Said) -> Capability:
    """Whether answers say what they cost."""
    reply = first.reply
    if reply is not None and reply.prompt_tokens is not None:
        return Capability("usage", "ok", f"{reply.prompt_tokens} + {reply.completion_tokens} tokens reported")
    meaning = "characters are counted, no cost; limits in tokens never bite"
    return Capability("usage", "no", "no token counts", meaning)


def seeds(probe: ChatProbe) -> Capability:
    """Whether a seed fixes sampling. Hot and several times: a model that is sure of itself repeats itself anyway."""
    said = [probe.ask(_VARIED, 48, _HOT, seed=seed) for seed in (7, 7, 7, 7, 8, 9, 10)]
    meaning = "sampled answers cannot be had again; temperature 0 may"
    if bad := next((one for one in said if one.reply is None), None):
        return Capability("seed", "no", bad.answer.why(), meaning)
    same, others = {one.text for one in said[:4]}, {one.text for one in said[4:]}
    if len(same) > 1:
        return Capability("seed", "no", f"one seed gave {len(same)} answers", meaning)
    if len(others) == 1:
        return Capability("seed", "unknown", f"all seeds gave one answer at temperature {_HOT:g}")
    return Capability("seed", "ok", "the same seed gives the same answer, another one another")


def logprobs(probe: ChatProbe) -> Capability:
    """Log-probabilities of the tokens."""
    said = probe.ask(_COUNT, 4, logprobs=True, top_logprobs=2)
    meaning = "no role needs them"
    if said.reply is None:
        return Capability("logprobs", "no", said.answer.why(), meaning)
    found = said.choices[0].get("logprobs") if said.choices else None
    content = found.get("content") if isinstance(found, dict) else None
    if isinstance(content, list) and content and isinstance(content[0].get("logprob"), int | float):
        return Capability(
            "logprobs", "ok", f"{len(content[0].get('top_logprobs') or [])} alternatives a token"
        )
    return Capability("logprobs", "no", "accepted, none came", meaning)


def several(probe: ChatProbe) -> Capability:
    """More than one choice a request."""
    said = probe.ask(_VARIED, 8, 1.0, n=2)
    meaning = "no role needs it: every answer is a request of its own"
    if said.reply is None:
        return Capability("n > 1", "no", said.answer.why(), meaning)
    if len(said.choices) == 2:
        return Capability("n > 1", "ok", "2 choices for n = 2")
    return Capability("n > 1", "no", f"{len(said.choices)} choice for n = 2", meaning)


def stops(probe: ChatProbe, greedy: Said) -> Capability:
    """Stop strings, with one that stands in the middle of what the model writes anyway."""
    text = greedy.text
    meaning = "no role needs them"
    middle = text[len(text) // 2 :][:2]
    if greedy.reply is None or len(text) < 4 or not middle.strip():
        return Capability("stop strings", "unknown", "the model wrote too little to stop it")
    said = probe.ask(_COUNT, 48, stop=[middle])
    if said.reply is None:
        return Capability("stop strings", "no", said.answer.why(), meaning)
    if middle not in said.text and text.startswith(said.text.rstrip()):
        return Capability("stop strings", "ok", "the answer ends where it should")
    if said.text == text:
        return Capability("stop strings", "no", "accepted, not obeyed", meaning)
    return Capability("stop strings", "unknown", "the model did not write the same again")


def logit_bias(probe: ChatProbe, greedy: Said) -> Capability:
    """Whether a bias of +100 on a token changes a greedy answer."""
    said = probe.ask(_COUNT, 8, logit_bias={str(_BIASED): 100})
    meaning = "no role needs it: evolution brings its own processor"
    if said.reply is None:
        return Capability("logit_bias", "no", said.answer.why(), meaning)
    if not greedy.text:
        return Capability("logit_bias", "unknown", "the model wrote nothing to compare with")
    if greedy.text.startswith(said.text) and said.text:
        return Capability("logit_bias", "no", "accepted, not obeyed", meaning)
    return Capability("logit_bias", "ok", "a token of +100 is all that is written")


def json_schema(probe: ChatProbe) -> Capability:
    """Whether a schema is enforced against a prompt that argues for something else."""
    said = probe.ask(_ARGUES, 96, schema=_SCHEMA)
    if said.reply is None:
        told = "the schema is put into the prompt; answers are checked here and asked for again"
        return Capability("json_schema", "no", said.answer.why(), told)
    told = "answers are checked here, and asked for again with what was wrong"
    try:
        found = json_object(said.reply)
    except Unusable as error:
        if _begun(said):
            return Capability("json_schema", "unknown", "JSON was begun and cut off: of which shape?", told)
        return Capability("json_schema", "no", f"accepted, not enforced: {_quote(said.text) or error}", told)
    if (
        set(found) == {"colour", "sure"}
        and found["colour"] in ("red", "green")
        and isinstance(found["sure"], bool)
    ):
        return Capability("json_schema", "ok", "enforced against a prompt that argues")
    return Capability("json_schema", "no", f"JSON, not of the schema: {_quote(said.text)}", told)


def json_mode(probe: ChatProbe) -> Capability:
    """The weaker promise: some JSON object."""
    said = probe.ask(_ARGUES, 96, response_format={"type": "json_object"})
    meaning = "only asked for where json_schema is refused"
    if said.reply is None:
        return Capability("json_object", "no", said.answer.why(), meaning)
    if _begun(said):
        return Capability("json_object", "ok", "begun against a prompt that argues, and cut off")
    try:
        json_object(said.reply)
    except Unusable:
        return Capability("json_object", "no", f"accepted, not enforced: {_quote(said.text)}", meaning)
    return Capability("json_object", "ok", "enforced against a prompt that argues")


def _begun(said: Said) -> bool:
    """Whether an object was begun and not ended: small models may write spaces for ever."""
    cut_off = said.reply is not None and said.reply.finish_reason == "length"
    return cut_off and said.text.lstrip().startswith("{")


def images(probe: ChatProbe) -> Capability:
    """Whether a red square is seen."""
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": _red_square()}},
        {"type": "text", "text": "Which colour is this image? Answer with one word."},
    ]
    said = probe.ask([{"role": "user", "content": parts}], 48)
    meaning = "not for pool.vqa (vision)"
    if said.reply is None:
        return Capability("images", "no", said.answer.why(), meaning)
    if re.search(r"\bred\b", said.text, re.IGNORECASE):  # not "no image was shared"
        return Capability("images", "ok", "a red square is seen")
    return Capability(
        "images", "unknown", f"accepted, but a red square is called {_quote(said.text)}", meaning
    )


def system_messages(probe: ChatProbe) -> Capability:
    """Whether the role is taken, as the first question found."""
    if probe.form.system:
        return Capability("system messages", "ok", "taken")
    return Capability("system messages", "no", "refused", "their text goes before the user's first message")


def waiting(probe: ChatProbe) -> Capability:
    """Only seen where the server turned a request away."""
    if not probe.turned_away:
        return Capability("Retry-After", "unknown", "no request was turned away")
    said, times = any(probe.turned_away), len(probe.turned_away)
    if said:
        return Capability("Retry-After", "ok", f"429 {times} times, with how long to wait")
    told = "waits double from one second on; `concurrency` and `requests_per_minute` hold requests back"
    return Capability("Retry-After", "no", f"429 {times} times, without how long to wait", told)


Check = Callable[[ChatProbe, Said, Said], Capability]
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
"""In the order in which they are told; each takes the probe, its first question and a greedy answer to count."""


def greedy_answer(probe: ChatProbe) -> Said:
    """What the model writes without being disturbed."""
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
