"""Checks of a server's chat completions. Each tests the effect of a field: a server may accept a field and ignore it.

The result of a check is ok, no or unknown, with its meaning for steer-tui.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.doctor.chat_probe import ChatProbe, ProbeReply
from engine.servers.completion import Reply, Unusable, json_object

State = Literal["ok", "no", "unknown"]

_COUNT = "Count from 1 to 30 in digits, separated by spaces. Write nothing else."
_VARIED = "Write ten random English words, separated by spaces."
_ARGUES = "Reply with the single word hello. Do not write JSON, braces or quotes: only the word hello."
RED_SQUARE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAb0lEQVR4nO3PAQkAAAyEwO9feoshgnABdLep8QUNyPEFDcjxBQ3I"
    "8QUNyPEFDcjxBQ3I8QUNyPEFDcjxBQ3I8QUNyPEFDcjxBQ3I8QUNyPEFDcjxBQ3I8QUNyPEFDcjxBQ3I8QUNyPEFDcjxBQ3IPanc"
    "8OLDQitxAAAAAElFTkSuQmCC"
)
"""A picture of 64 by 64 pixels: vision models want some."""
_LIMIT = 6
_HOT = 2.0
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


@dataclass(frozen=True)
class Seen:
    """What a check saw. `meaning`: its consequence; None: that of the check where it saw `no`, else none."""

    state: State
    text: str
    meaning: str | None = None


class NoCompletion(Exception):
    """The server gave no completion where a check needs one; the text says why."""


@dataclass(frozen=True)
class Check:
    """`look` takes the probe and the reply to its first question; `meaning`: the consequence of no."""

    name: str
    look: Callable[[ChatProbe, ProbeReply], Seen]
    meaning: str

    def __call__(self, probe: ChatProbe, first: ProbeReply) -> Capability:
        try:
            seen = self.look(probe, first)
        except NoCompletion as error:
            seen = Seen("no", str(error))
        except (AttributeError, LookupError, TypeError) as error:  # fields of unexpected types
            seen = Seen("unknown", f"the answer has an unexpected shape ({error})")
        default = self.meaning if seen.state == "no" else ""
        return Capability(self.name, seen.state, seen.text, default if seen.meaning is None else seen.meaning)


def _completion(reply: ProbeReply) -> Reply:
    if reply.completion is None:
        raise NoCompletion(reply.answer.why())
    return reply.completion


def token_limits(probe: ChatProbe) -> Seen:
    """The names of the token limit that the server obeys."""
    obeyed: dict[str, State] = {}
    for name in ("max_tokens", "max_completion_tokens"):
        reply = probe.ask(_COUNT, _LIMIT, limit=name)
        obeyed[name] = "no" if reply.completion is None else _limited(reply.completion)
    text = ", ".join(f"{name} {_WORDS[state]}" for name, state in obeyed.items())
    if "ok" in obeyed.values():
        return Seen("ok", text)
    return Seen("unknown" if "unknown" in obeyed.values() else "no", text, _LONGER)


_LONGER = "answers may be longer than configured"
_WORDS: dict[State, str] = {"ok": "is obeyed", "no": "is not", "unknown": "is uncertain"}


def _limited(completion: Reply) -> State:
    if completion.finish_reason == "length":
        return "ok"
    if completion.completion_tokens is None:
        return "unknown"
    return "ok" if completion.completion_tokens <= _LIMIT else "no"


def usage(first: ProbeReply) -> Seen:
    """Whether answers report their token counts."""
    completion = first.completion
    if completion is None or completion.prompt_tokens is None:
        return Seen("no", "no token counts")
    return Seen("ok", f"{completion.prompt_tokens} + {completion.completion_tokens} tokens reported")


def seeds(probe: ChatProbe) -> Seen:
    """Whether a seed fixes sampling. At a high temperature, since a confident model repeats itself anyway."""
    texts = [_completion(probe.ask(_VARIED, 48, _HOT, seed=seed)).text for seed in (7, 7, 7, 7, 8, 9, 10)]
    same, others = set(texts[:4]), set(texts[4:])
    if len(same) > 1:
        return Seen("no", f"the same seed gave {len(same)} answers")
    if len(others) == 1:
        return Seen("unknown", f"all seeds gave the same answer at temperature {_HOT:g}")
    return Seen("ok", "the same seed gives the same answer, another seed another answer")


def json_schema(probe: ChatProbe) -> Seen:
    """Whether a schema is enforced against a prompt that argues for something else."""
    completion = _completion(probe.ask(_ARGUES, 96, schema=_SCHEMA))
    meaning = "answers are checked here, and asked for again with the error"
    try:
        answer = json_object(completion)
    except Unusable as error:
        if _is_cut_off_json(completion):
            return Seen("unknown", "the JSON was cut off: its shape is unknown", meaning)
        return Seen("no", f"accepted, but not enforced: {_quote(completion.text) or error}", meaning)
    fits = set(answer) == {"colour", "sure"} and answer["colour"] in ("red", "green")
    if fits and isinstance(answer["sure"], bool):
        return Seen("ok", "enforced against a prompt that asks for no JSON")
    return Seen("no", f"JSON, but not of the schema: {_quote(completion.text)}", meaning)


def json_mode(probe: ChatProbe) -> Seen:
    """Whether some JSON object is enforced, a weaker promise than a schema."""
    completion = _completion(probe.ask(_ARGUES, 96, response_format={"type": "json_object"}))
    if _is_cut_off_json(completion):
        return Seen("ok", "started against a prompt that asks for no JSON, and cut off")
    try:
        json_object(completion)
    except Unusable:
        return Seen("no", f"accepted, but not enforced: {_quote(completion.text)}")
    return Seen("ok", "enforced against a prompt that asks for no JSON")


def _is_cut_off_json(completion: Reply) -> bool:
    """Whether a JSON object was started and cut off: small models may write spaces for ever."""
    return completion.finish_reason == "length" and completion.text.lstrip().startswith("{")


def images(probe: ChatProbe) -> Seen:
    """Whether the model sees a red square."""
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": RED_SQUARE}},
        {"type": "text", "text": "Which colour is this image? Answer with one word."},
    ]
    text = _completion(probe.ask([{"role": "user", "content": content}], 48)).text
    if re.search(r"\bred\b", text, re.IGNORECASE):  # not "no image was shared"
        return Seen("ok", "a red square is seen")
    return Seen("unknown", f"accepted, but a red square is called {_quote(text)}", _BLIND)


_BLIND = "not for pool.vqa (vision)"


def system_messages(probe: ChatProbe) -> Seen:
    """Whether the server accepts the role `system`, as the first question showed."""
    return Seen("ok", "accepted") if probe.form.system else Seen("no", "refused")


_IN_PROMPT = "the schema goes into the prompt; answers are checked here and asked for again"
CHECKS = (
    Check("system messages", lambda probe, first: system_messages(probe),
          "their text goes before the user's first message"),
    Check("usage", lambda probe, first: usage(first),
          "cost is unknown; limits in tokens have no effect"),
    Check("token limit", lambda probe, first: token_limits(probe), _LONGER),
    Check("json_schema", lambda probe, first: json_schema(probe), _IN_PROMPT),
    Check("json_object", lambda probe, first: json_mode(probe), "only asked for where json_schema is refused"),
    Check("seed", lambda probe, first: seeds(probe),
          "sampled answers cannot be repeated; those at temperature 0 may (SGLang honours seeds where it is started "
          "with --enable-deterministic-inference)"),
    Check("images", lambda probe, first: images(probe), _BLIND),
)  # fmt: skip
"""In the order of the report."""


def _quote(text: str) -> str:
    return json.dumps(" ".join(text.split())[:60], ensure_ascii=False) if text.strip() else ""
