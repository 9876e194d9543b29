"""One line that says which run this is, what it does now, and what moment of it is being looked at."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.reactive import Reactive
from textual.widget import Widget

from app.wording.text import counted
from screens.method_progress import progress_of
from screens.run_session import Session, engine_state, shown_stages
from screens.systems import system_of, systems
from screens.widgets.tones import tone

OVERVIEW = "Overview"
_ROOMY = 100
_LEAST_NAME = 10
"""Cells of a run's name below which it is left out."""
_TONES = {"finished": "good", "running": "good", "failed": "alert", "paused": "alert"}
_SIGNS = {"running": "●", "finished": "✓", "failed": "✗", "stopped": "■", "interrupted": "✗", "hung": "?"}


class RunHeader(Widget):
    """Run and stage on the left; on the right FROZEN, AS OF EVENT or LIVE, and PAUSED when the engine is. A click goes
    to the method, or to what went wrong."""

    DEFAULT_CSS = """
    RunHeader {
        height: 1;
        padding: 0 1;
        background: $panel;
    }
    """

    auto_links: Reactive[bool] = Reactive(False)

    def __init__(self, session: Session, title: str) -> None:
        super().__init__()
        self._session = session
        self._title = title

    def render(self) -> Text:
        width = self.content_size.width
        right = self._moment()
        left, methods, room = self._run(), self._methods(), max(0, width - right.cell_len - 2)
        if left.cell_len > room >= methods.cell_len > room - _LEAST_NAME:
            left = methods
        left.truncate(room, overflow="ellipsis")
        left.append(" " * max(1, width - left.cell_len - right.cell_len))
        if engine_state(self._session) == "failed":
            right.stylize(_leads_to("show_error"))
        return left.append_text(right)

    def _run(self) -> Text:
        state = self._session.state
        text = self._methods()
        if state.header is None:
            waits = self._session.reading is None
            words = "waiting for the first event of the run" if waits else "reading the log"
            words = "the log has no events" if self._session.log_is_cut else words
            return text.append(words, tone(self, "dim"))
        text.append(f"{state.header.name}/{state.header.run_id}")
        if (model := state.model_of(self._stages())) is not None:
            chosen = f", {model.dtype}" if model.dtype_reason else ""
            text.append(f"  {model.name} on {model.device}{chosen}", tone(self, "dim"))
        if state.cluster is not None:
            text.append(f"  {counted(state.cluster.replicas, 'replicas')}", tone(self, "strong"))
        if state.unknown:
            text.append(f"  {counted(state.unknown, 'unknown events')} ignored", tone(self, "dim"))
        return text

    def _stages(self) -> tuple[str, ...]:
        """Whose model is named: the shown method's; on the overview that of the method at work."""
        active = self._session.state.active_stage
        worker = None if active is None else system_of(active.name)
        shown = next((system for system in systems() if system.title == self._title), worker)
        return () if shown is None else shown.stages_shown

    def _methods(self) -> Text:
        """`Overview  1 ESM ✓  2 Evolution ▶ 1/2 40%`: where one can go; a click goes there."""
        text = Text()
        if self._following:
            text.append("F→ ", tone(self, "good"))
        stages = shown_stages(self._session)
        methods = progress_of(stages) if stages else []
        gap = "  " if self.content_size.width >= _ROOMY else " "
        text.append(OVERVIEW, self._of_title(OVERVIEW) + _leads_to("overview")).append(gap)
        for number, each in enumerate(methods, 1):
            place = _leads_to(f"method({number})")
            text.append(f"{number} {each.name}", self._of_title(each.name) + place)
            text.append(f" {each.short}", tone(self, _TONES.get(each.state, "dim")) + place).append(gap)
        if not methods and self._title != OVERVIEW:
            text.append(self._title, tone(self, "strong")).append(gap)
        return text

    def _of_title(self, name: str) -> Style:
        return tone(self, "strong" if name == self._title else "dim")

    @property
    def _following(self) -> bool:
        return bool(getattr(self.screen, "following", False)) if self.is_mounted else False

    def _status(self) -> str:
        """What the run does at the moment looked at; at the live end, a vanished worker counts too."""
        status, logged = self._session.status, self._session.state.status
        at_end = self._session.cursor is None and not self._session.frozen
        unended = logged in ("running", "paused") or self._session.log_is_cut
        return status.state if at_end and status is not None and unended else logged

    def _moment(self) -> Text:
        session, text = self._session, Text()
        status = self._status()
        if session.frozen:
            text.append(f" FROZEN {counted(session.behind, 'events')} behind ", tone(self, "badge"))
        elif session.cursor is not None:
            text.append(
                f" AS OF EVENT {session.cursor:,} of {max(0, session.total_events - 1):,} ",
                tone(self, "badge"),
            )
        if session.stop_requested:
            text.append(" " * bool(text)).append(" STOPPING ", tone(self, "badge"))
        elif status == "paused":
            text.append(" ").append(" ENGINE PAUSED ", tone(self, "badge"))
        elif not text:
            sign = _SIGNS.get(status, "○")
            style = tone(self, "good" if status in ("running", "finished") else "dim")
            text.append(f"{sign} {status}", style)
        return text


def _leads_to(action: str) -> Style:
    """Of words on which a click does what the screen's action does."""
    return Style(meta={"@click": f"screen.{action}"})
