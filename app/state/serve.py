"""The steered server, folded from its events: what it offers, who is being answered, and who was."""

from __future__ import annotations

from typing import NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.run.event_log import LogPlace


class RequestRow(NamedTuple):
    """A request that has ended; its answer stands in the log."""

    request: str
    kind: str
    question: str
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
    place: LogPlace


class ServeState(MethodState):
    """What the server's screen knows. `flying`: requests under way; `ended`: the others, in the order of their ends."""

    title = "Server"
    stages_shown = ("serve",)
    page = "app.methods.serve.page:PAGE"
    screen = "screens.serve.screen:ServeScreen"

    def __init__(self) -> None:
        self.opened: ev.ServeOpened | None = None
        self.load: ev.ServeLoad | None = None
        self.flying: dict[str, ev.RequestTaken] = {}
        self.ended: AppendOnlyList[RequestRow] = AppendOnlyList()


ServeState.keeps(ev.ServeLoad, "load")


@ServeState.on(ev.ServeOpened)
def _opened(state: ServeState, event: ev.ServeOpened, place: LogPlace) -> None:
    state.opened, state.load = event, None
    state.flying = {}  # requests that an earlier worker was answering ended with it


@ServeState.on(ev.RequestTaken)
def _taken(state: ServeState, event: ev.RequestTaken, place: LogPlace) -> None:
    state.flying[event.request] = event


_NOT_LOGGED = {"kind": "", "question": "", "prompt_tokens": 0, "waited": 0.0}
"""What a row has of the request, where the log does not have its beginning."""


@ServeState.on(ev.RequestAnswered)
def _answered(state: ServeState, event: ev.RequestAnswered, place: LogPlace) -> None:
    taken = state.flying.pop(event.request, None)
    asked = _NOT_LOGGED if taken is None else {name: getattr(taken, name) for name in _NOT_LOGGED}
    state.ended.append(row_of(RequestRow, event, place, **asked), key=event.request)
