"""What a request may ask for, in OpenAI's words, and `steer`, which chooses levers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.config.esm import OnlineSection
from engine.levers.lever import DELTAS, ESM, EVIDENCE, NOTES, Message
from engine.levers.levers import Chosen, Levers, Limits
from engine.levers.notes_lever import NotesMode

Kind = Literal["chat", "completion"]
Number = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
_WITHOUT_EFFECT = frozenset(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
)
"""Fields that change no answer: taken and left alone."""
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,), "best_of": (1,), "top_p": (1,), "top_k": (-1, 0), "presence_penalty": (0,), "frequency_penalty": (0,),
    "repetition_penalty": (1,), "logit_bias": ({},), "logprobs": (False, 0), "top_logprobs": (0,), "echo": (False,),
    "suffix": ("",), "tools": ([],), "functions": ([],), "tool_choice": ("none", "auto"), "min_p": (0,),
    "parallel_tool_calls": (True, False), "response_format": ({"type": "text"},), "modalities": (["text"],),
}  # fmt: skip
"""Fields that this server cannot follow, with the values that ask for nothing."""


_LONGEST_NAME = 100
"""Characters of a field's name that an error repeats."""


class BadRequest(Exception):
    """A request that cannot be answered: what is wrong with it, and with which field."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Steer(_Strict):
    """Which levers, and how. None: as the server does where nothing is said."""

    esm: bool | None = None
    deltas: bool | Number | None = None
    notes: bool | NotesMode | None = None
    evidence: bool | None = None
    k_scale: Number | None = None
    beta: Number | None = None
    rho: Number | None = None
    tau_null: Number | None = None
    min_sim: Annotated[float, Field(ge=-1, le=1)] | None = None
    L: Annotated[int, Field(ge=1, le=16)] | None = None
    probe_tokens: Annotated[int, Field(ge=0, le=64)] | None = None
    k_retrieve: Annotated[int, Field(ge=1, le=1024)] | None = None
    min_tool_m: Annotated[int, Field(ge=1, le=1024)] | None = None
    max_tool_m: Annotated[int, Field(ge=1, le=1024)] | None = None

    def chosen(self, defaults: list[str]) -> Chosen:
        """With `defaults` where nothing is said."""
        switches = {lever: getattr(self, lever) for lever in (ESM, DELTAS, NOTES, EVIDENCE)}
        levers = [
            name for name, on in switches.items() if (name in defaults if on is None else on is not False)
        ]
        online = self.model_dump(exclude=set(switches), exclude_none=True)
        scale = 1.0 if isinstance(self.deltas, bool) or self.deltas is None else float(self.deltas)
        return Chosen(levers, online, scale, self.notes if isinstance(self.notes, str) else None)


class _Part(_Strict):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

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
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=5)] | None = None
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

    @model_validator(mode="after")
    def _ends_with_the_user(self) -> _Chat:
        if self.messages[-1].role != "user":
            raise ValueError("the last message has to be the user's")
        return self


class _Completion(_Common):
    prompt: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class ParsedRequest:
    """A request that can be answered. One of `messages` and `prompt` is there."""

    kind: Kind
    messages: list[Message]
    prompt: str
    chosen: Chosen
    limits: Limits
    stream: bool
    report_usage: bool

    @property
    def question(self) -> str:
        """What is asked, for people."""
        return self.messages[-1]["content"] if self.messages else self.prompt


def parse_request(
    kind: Kind, body: object, levers: Levers, defaults: list[str], longest: int
) -> ParsedRequest:
    """A request's body, read. `longest`: most tokens it may ask for. Raises BadRequest."""
    if not isinstance(body, dict):
        raise BadRequest("the request has to be a JSON object")
    known = _supported(body)
    try:
        asked = (_Chat if kind == "chat" else _Completion).model_validate(known)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])[:_LONGEST_NAME] or None
        raise BadRequest(f"{field + ': ' if field else ''}{first['msg']}", field) from error
    chosen = (asked.steer or Steer()).chosen(defaults)
    _check(asked, chosen, levers, longest)
    return ParsedRequest(
        kind,
        [message.plain() for message in asked.messages] if isinstance(asked, _Chat) else [],
        asked.prompt if isinstance(asked, _Completion) else "",
        chosen,
        Limits(_most(asked), asked.temperature, asked.seed, asked.stops),
        bool(asked.stream),
        bool(asked.stream_options and asked.stream_options.include_usage),
    )


def _supported(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without what asks for nothing. Raises BadRequest for what cannot be followed."""
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name in _WITHOUT_EFFECT or value is None:
            continue
        if name not in _NEUTRAL:
            kept[name] = value
        elif value not in _NEUTRAL[name]:
            raise BadRequest(f"this server cannot follow `{name}`: leave it out", name)
    return kept


def _check(asked: _Common, chosen: Chosen, levers: Levers, longest: int) -> None:
    name = levers.model_name
    if asked.model is not None and asked.model != name:
        raise BadRequest(f"there is no model {asked.model[:200]!r}: this server has {name}", "model")
    if (_most(asked) or 0) > longest:
        raise BadRequest(f"at most {longest} tokens can be asked for", "max_tokens")
    for lever in chosen.levers:
        if lever not in levers.names:
            fits = next((fit.why for fit in levers.fits if fit.lever == lever), "no run has it")
            raise BadRequest(f"the lever {lever} is not there: {fits}", f"steer.{lever}")
    if chosen.online and levers.esm is not None:
        online = levers.esm.config.online.model_dump()
        try:
            OnlineSection.model_validate({**online, **chosen.online})
        except ValidationError as error:
            raise BadRequest(f"steer: {error.errors()[0]['msg']}", "steer") from error


def _most(asked: _Common) -> int | None:
    return asked.max_completion_tokens or asked.max_tokens
