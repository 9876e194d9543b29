"""The steered server, folded from its events: what it offers, who is being answered, and who was."""

from __future__ import annotations

from typing import NamedTuple

from app.state.columns import Grow
from app.state.method import MethodState, Place
from engine import events as ev


class RequestRow(NamedTuple):
    """A request that has ended; its answer stands in the log."""

    request: str
    kind: str
    question: str
    levers: tuple[str, ...]
    prompt_tokens: int
    waited: float
    outcome: str
    why: str
    finish: str
    tokens: int
    probe_tokens: int
    first: float | None
    seconds: float
    segments: int
    steered: int
    place: Place


class ServeState(MethodState):
    """What the server's screen knows. `flying`: requests under way; `ended`: the others, in the order of their ends."""

    title = "Server"
    stages_shown = ("serve",)
    page = "app.methods.serve.page:ServePage"
    screen = "screens.serve.screen:ServeScreen"

    def __init__(self) -> None:
        self.opened: ev.ServeOpened | None = None
        self.load: ev.ServeLoad | None = None
        self.flying: dict[str, ev.RequestTaken] = {}
        self.ended: Grow[RequestRow] = Grow()


@ServeState.on(ev.ServeOpened)
def _opened(state: ServeState, event: ev.ServeOpened, place: Place) -> None:
    state.opened, state.load = event, None
    state.flying = {}  # whoever was being answered by an earlier worker has gone with it


@ServeState.on(ev.ServeLoad)
def _load(state: ServeState, event: ev.ServeLoad, place: Place) -> None:
    state.load = event


@ServeState.on(ev.RequestTaken)
def _taken(state: ServeState, event: ev.RequestTaken, place: Place) -> None:
    state.flying[event.request] = event


@ServeState.on(ev.RequestAnswered)
def _answered(state: ServeState, event: ev.RequestAnswered, place: Place) -> None:
    taken = state.flying.pop(event.request, None)
    row = RequestRow(
        event.request,
        taken.kind if taken else "",
        taken.question if taken else "",
        tuple(taken.levers) if taken else (),
        taken.prompt_tokens if taken else 0,
        taken.waited if taken else 0.0,
        event.outcome,
        event.why,
        event.finish,
        event.tokens,
        event.probe_tokens,
        event.first,
        event.seconds,
        event.segments,
        event.steered,
        place,
    )
    state.ended.append(row, key=event.request)
