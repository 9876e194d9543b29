"""What a server with levers reports: what it offers, each request, and its load."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class LeverFit(msgspec.Struct, kw_only=True, frozen=True):
    """Whether what `run` (a folder) has of `lever` acts on the model; `why`: what there is, or why it does not fit."""

    lever: str
    run: str
    fits: bool
    why: str


class LeverActed(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a lever did to one answer, as a sentence. `acted`: the answer may differ for it; `tokens`: what it cost
    beside the answer's own."""

    lever: str
    acted: bool
    what: str
    tokens: int = 0


class ServeOpened(Event, tag=True, kw_only=True, frozen=True):
    """The server takes requests. `url` ends with /v1; `key`: where the key is to be found, in words, never the key."""

    url: str
    model: str
    key: str
    levers: list[LeverFit]
    usual: list[str] = []


class QuestionAsked(Event, tag=True, kw_only=True, frozen=True):
    """The question of a request whose decisions follow under the name `example`."""

    example: str
    question: str


class RequestTaken(Event, tag=True, kw_only=True, frozen=True):
    """A request has got its place. `kind`: chat or completion; `waited`: seconds for the place."""

    request: str
    kind: str
    levers: list[str]
    question: str = ""
    prompt_tokens: int = 0
    stream: bool = False
    waited: float = 0.0


class RequestAnswered(Event, tag=True, kw_only=True, frozen=True):
    """A request has ended. `outcome`: answered, vanished (its client), failed; `first`: seconds from its place to the
    first text; `seconds`: to the end; `steered`: segments with a vector, of `segments`."""

    request: str
    outcome: str
    why: str = ""
    finish: str = ""
    tokens: int = 0
    probe_tokens: int = 0
    first: float | None = None
    seconds: float = 0.0
    segments: int = 0
    steered: int = 0
    did: list[LeverActed] = []
    text: str = ""


class ServeLoad(Event, tag=True, kw_only=True, frozen=True):
    """How busy the server is: since it opened, and `tokens_per_second` of the last seconds."""

    in_flight: int
    waiting: int
    answered: int = 0
    vanished: int = 0
    failed: int = 0
    refused: int = 0
    tokens: int = 0
    tokens_per_second: float = 0.0
