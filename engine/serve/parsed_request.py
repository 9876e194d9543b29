"""What a request may ask for, in OpenAI's words, and `steer`, which chooses levers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.levers.lever import DELTAS, ESM, EVIDENCE, NOTES, Message
from engine.levers.levers import Chosen, Levers, Limits
from engine.levers.notes_lever import NotesMode
from engine.lm.protocol import ScoringModel
from engine.serve.refused import Refused

Kind = Literal["chat", "completion"]
Prompt = str | list[int] | list[Message]
"""A text, its tokens, or a conversation."""
Number = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
_WITHOUT_EFFECT = frozenset(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
)
"""Fields that change no answer: taken and left alone."""
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,), "top_k": (-1, 0), "presence_penalty": (0,), "frequency_penalty": (0,), "repetition_penalty": (1,),
    "logit_bias": ({},), "suffix": ("",), "tools": ([],), "functions": ([],), "tool_choice": ("none", "auto"),
    "min_p": (0,), "parallel_tool_calls": (True, False), "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}  # fmt: skip
"""Fields that this server cannot follow, with the values that ask for nothing."""


_LONGEST_NAME = 100
"""Characters of a field's name that an error repeats."""
_MOST_TOP, _MOST_TOP_OF_TEXT = 20, 5
"""Likeliest tokens that an answer names for each place: OpenAI's limits."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Steer(_Strict):
    """Which levers, and how. None: as the server does where nothing is said."""

    esm: bool | None = None
    deltas: bool | None = None
    notes: bool | NotesMode | None = None
    evidence: bool | None = None
    prompt: bool | None = None
    k_scale: Number | None = None
    beta: Number | None = None
    rho: Number | None = None
    tau_null: Number | None = None
    min_sim: Annotated[float, Field(ge=-1, le=1)] | None = None
    L: Annotated[int, Field(ge=1, le=16)] | None = None
    probe_tokens: Annotated[int, Field(ge=0, le=64)] | None = None
    k_retrieve: Annotated[int, Field(ge=1, le=1024)] | None = None
    min_tool_m: Annotated[int, Field(ge=2, le=1000)] | None = None
    max_tool_m: Annotated[int, Field(ge=2, le=1000)] | None = None

    def chosen(self, defaults: list[str]) -> Chosen:
        """With `defaults` where nothing is said."""
        switches = {lever: getattr(self, lever) for lever in (ESM, DELTAS, NOTES, EVIDENCE)}
        levers = [
            name for name, on in switches.items() if (name in defaults if on is None else on is not False)
        ]
        online = self.model_dump(exclude={*switches, "prompt"}, exclude_none=True)
        notes = self.notes if isinstance(self.notes, str) else None
        return Chosen(levers, online, notes, self.prompt is not False)


class _Part(_Strict):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[_Part], Field(fail_fast=True)]

    def plain(self) -> Message:
        content = (
            self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        )
        return {"role": "system" if self.role == "developer" else self.role, "content": content}


class _StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    include_usage: bool = False


class _Common(_Strict):
    model: str | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=0)] | None = None
    n: Annotated[int, Field(ge=1)] = 1
    temperature: Annotated[float, Field(ge=0, le=5)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    stop: str | Annotated[list[str], Field(max_length=16)] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    steer: Steer | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(text for text in stop if text)


class _Chat(_Common):
    messages: Annotated[list[_Message], Field(min_length=1, max_length=2000)]
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=_MOST_TOP)] = 0

    @property
    def prompts(self) -> list[Prompt]:
        return [[message.plain() for message in self.messages]]

    @property
    def top(self) -> int | None:
        return self.top_logprobs if self.logprobs else None


Tokens = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, fail_fast=True)]


class _Completion(_Common):
    prompt: (
        Annotated[str, Field(min_length=1)]
        | Tokens
        | Annotated[list[Annotated[str, Field(min_length=1)] | Tokens], Field(min_length=1, fail_fast=True)]
    )
    echo: bool = False
    logprobs: Annotated[int, Field(ge=0, le=_MOST_TOP_OF_TEXT)] | None = None

    @property
    def prompts(self) -> list[Prompt]:
        one = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        return cast("list[Prompt]", [self.prompt] if one else self.prompt)

    @property
    def top(self) -> int | None:
        return self.logprobs


_FORMS: Mapping[Kind, type[_Chat | _Completion]] = {"chat": _Chat, "completion": _Completion}
_TEXTS = "a text, a list of texts, a list of token ids, or a list of such lists; none of them empty"
_FORM_OF = {
    "prompt": _TEXTS,
    "stop": "a text or a list of at most 16 texts",
    "steer.notes": "true, false, on_risk, always, or on_detection",
    "content": 'a text, or a list of parts of the form {"type": "text", "text": "..."}',
}
"""Of fields with several forms; `content` of any message."""


@dataclass(frozen=True)
class ParsedRequest:
    """A request that can be answered: `n` answers to each of `prompts`."""

    kind: Kind
    prompts: list[Prompt]
    n: int
    chosen: Chosen
    limits: Limits
    stream: bool
    report_usage: bool


def question_in(prompt: Prompt) -> str:
    """What is asked, for people."""
    if isinstance(prompt, str):
        return prompt
    last = prompt[-1]
    return f"{len(prompt)} tokens" if isinstance(last, int) else last["content"]


def unknown_model(asked: str, served: str) -> Refused:
    """The refusal of a request for another model."""
    what = f"there is no model {asked[:200]!r}: this server has {served}"
    return Refused(404, what, "model", code="model_not_found")


def parse_request(
    kind: Kind, body: object, levers: Levers, defaults: list[str], longest: int
) -> ParsedRequest:
    """A request's body, read. `longest`: most tokens it may ask for. Raises Refused."""
    if not isinstance(body, dict):
        raise Refused(400, "the request has to be a JSON object")
    try:
        asked = _FORMS[kind].model_validate(_supported(body))
    except ValidationError as error:
        raise _bad_field(_FORMS[kind], error) from error
    chosen = (asked.steer or Steer()).chosen(defaults)
    _check(asked, levers, longest)
    _check_steer(asked.steer or Steer(), chosen, levers)
    echo = isinstance(asked, _Completion) and asked.echo
    limits = Limits(_most(asked), asked.temperature, asked.seed, asked.stops, asked.top_p, asked.top, echo)
    usage = bool(asked.stream_options and asked.stream_options.include_usage)
    return ParsedRequest(kind, asked.prompts, asked.n, chosen, limits, bool(asked.stream), usage)


def _supported(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without what asks for nothing. Raises Refused for what cannot be followed."""
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name in _WITHOUT_EFFECT or value is None:
            continue
        if name not in _NEUTRAL:
            kept[name] = value
        elif value not in _NEUTRAL[name]:
            raise Refused(400, f"this server cannot follow `{name}`: leave it out", name)
    return kept


def _bad_field(form: type[BaseModel], error: ValidationError) -> Refused:
    """The first thing that is wrong, with the field's name and what it may be."""
    first = error.errors(include_url=False, include_input=False)[0]
    places = [str(part) for part in first["loc"]]
    fields: Mapping[str, Any] = form.model_fields
    if places[:1] == ["steer"]:
        fields = Steer.model_fields
    depth = 2 if places[0] in ("steer", "stream_options") else 3 if places[0] == "messages" else 1
    name = ".".join(places[:depth])[:_LONGEST_NAME]
    what = _FORM_OF.get("content" if places[2:3] == ["content"] else name, first["msg"])
    if first["type"] == "extra_forbidden":
        what = f"there is no such field; allowed: {', '.join(fields)}"
    return Refused(400, f"{name}: {what}", name)


def _check(asked: _Chat | _Completion, levers: Levers, longest: int) -> None:
    name = levers.model_name
    if asked.model is not None and asked.model != name:
        raise unknown_model(asked.model, name)
    if isinstance(asked, _Chat) and asked.messages[-1].role != "user":
        raise Refused(400, "messages: the last message has to be the user's", "messages")
    most = _most(asked)
    limit = "max_tokens" if asked.max_completion_tokens is None else "max_completion_tokens"
    least = 0 if isinstance(asked, _Completion) and asked.echo else 1
    if most is not None and not least <= most <= longest:
        raise Refused(400, f"{limit}: from {least} to {longest} tokens can be asked for", limit)
    if isinstance(asked, _Chat) and asked.top_logprobs and not asked.logprobs:
        raise Refused(400, "top_logprobs: only with `logprobs: true`", "top_logprobs")
    if asked.stream_options is not None and not asked.stream:
        raise Refused(400, "stream_options: only with `stream: true`", "stream_options")
    if asked.top is not None and not isinstance(levers.model, ScoringModel):
        raise Refused(
            400, f"logprobs: the backend {levers.model.info.backend} does not give them", "logprobs"
        )


def _check_steer(steer: Steer, chosen: Chosen, levers: Levers) -> None:
    if not chosen.online:
        return
    first = f"steer.{next(iter(chosen.online))}"
    if ESM not in chosen.levers or levers.esm is None:
        raise Refused(400, f"{first}: it changes ESM's decisions, and ESM is off for this request", first)
    config = levers.esm.config
    online, points = config.online.model_copy(update=dict(chosen.online)), config.control_points.M
    last = min(points, online.max_tool_m or points)
    if online.min_tool_m > last and (steer.min_tool_m or steer.max_tool_m):
        field = "steer.max_tool_m" if steer.min_tool_m is None else "steer.min_tool_m"
        what = f"no segment from {online.min_tool_m} to {last} is left to steer; the run has {points}"
        raise Refused(400, f"{field}: {what}", field)


def _most(asked: _Common) -> int | None:
    return asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
