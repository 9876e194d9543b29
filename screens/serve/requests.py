"""The tab Requests: a row for each request that has ended, with its answer and what the levers did."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text

from app.blocks.model_text import clean, one_line
from app.figures import fixed
from app.state.columns import Grow
from app.state.run import RunState
from app.state.serve import RequestRow
from app.table.column import Cell, ListColumn, Tone
from engine.errors import SteerError
from engine.events import RequestAnswered
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.widgets.rows import ListSource

_EMPTY = """No request has been answered yet.

The tab Server says how to ask."""
_TONES: dict[str, Tone] = {"answered": "good", "vanished": "dim", "failed": "bad"}


def _seconds(value: float | None) -> Cell:
    return Cell("–", "dim") if value is None else Cell(fixed(value, 2))


COLUMNS: Sequence[ListColumn[RequestRow]] = (
    ListColumn("request", "request", 12, priority=5, name=True, value=lambda r: r.request),
    ListColumn("outcome", "outcome", 8, priority=0, help="vanished: its client left before the end",
               value=lambda r: r.outcome, show=lambda text: Cell(text, _TONES.get(text, ""))),
    ListColumn("steered", "steered", 7, "right", 1, help="segments with a vector, of all",
               value=lambda r: (r.steered, r.segments),
               show=lambda n: Cell(f"{n[0]}/{n[1]}", "accent" if n[0] else "dim")),
    ListColumn("tokens", "tokens", 6, "right", 2, help="of the answer", value=lambda r: r.tokens),
    ListColumn("probe", "probes", 6, "right", 6, help="tokens of probes, and of a first answer that was given up",
               value=lambda r: r.probe_tokens),
    ListColumn("first", "first s", 7, "right", 4, help="seconds to the first text", value=lambda r: r.first,
               show=_seconds),
    ListColumn("seconds", "seconds", 7, "right", 3, help="seconds to the end", value=lambda r: r.seconds,
               show=_seconds),
    ListColumn("question", "question", 16, flex=True, priority=1, value=lambda r: r.question, show=one_line),
)  # fmt: skip


class RequestsPane(ListPane):
    """Requests, and the one under the cursor in full."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "requests"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[RequestRow]:
        return state.serve.ended

    def draw(self, item: RequestRow, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
            assert isinstance(event, RequestAnswered)
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        return draw_request(item, event, palette)


def draw_request(row: RequestRow, event: RequestAnswered, palette: dict[str, Style]) -> Text:
    """Question, answer, and a sentence for each lever."""
    text = Text.assemble(("question\n", palette["heading"]), clean(row.question) or "(not logged)")
    text.append("\n\nanswer\n", palette["heading"]).append(clean(event.text) or "(not logged)")
    why = f": {event.why}" if event.why else f", {event.finish}" if event.finish else ""
    text.append(f"\n\n{event.outcome}{why}", palette[_TONES.get(event.outcome, "dim")])
    text.append(f"   {row.kind}, {row.prompt_tokens:,} + {event.tokens:,} tokens", palette["dim"])
    if row.waited >= 0.1:
        text.append(f", waited {row.waited:.1f} s for a place", palette["dim"])
    if event.did:
        text.append("\n\nwhat the levers did", palette["heading"])
    for did in event.did:
        cost = f"   {did.tokens:,} tokens" if did.tokens else ""
        text.append(f"\n{did.lever}  ", palette["strong"]).append(
            clean(did.what), "" if did.acted else palette["dim"]
        )
        text.append(cost, palette["dim"])
    return text
