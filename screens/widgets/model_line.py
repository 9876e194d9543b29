"""What is under way just now: what is loaded, or how many texts the model writes, how fast, and the newest's end."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from app.wording.text import loading, model_pace
from engine.events import ModelWorking
from screens.run_session import Session, shown_stages
from screens.widgets.tones import tone


class ModelLine(Widget):
    """One line while something is loaded or a call to a model takes longer than some seconds; hidden otherwise. Call
    `update` when the session changed."""

    DEFAULT_CSS = """
    ModelLine {
        height: 1;
        padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
        background: $panel;
        &.-idle { display: none; }
    }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(classes="-idle")
        self._session = session

    def update(self) -> None:
        """The session changed."""
        # A class, and not `display`: that would show it in a terminal that is too narrow for the screen.
        self.set_class(not self._loading and self._working is None, "-idle")
        self.refresh()

    @property
    def _loading(self) -> str:
        """What must be there before the work goes on."""
        state, status = self._session.state, self._session.status
        vanished = status is not None and status.state == "interrupted" and self._session.cursor is None
        if vanished or state.status != "running":
            return ""
        if state.loading is not None:
            return loading(state.loading)
        return "" if any(stage.active for stage in state.stages.values()) else state.preparing

    @property
    def _working(self) -> ModelWorking | None:
        active = (stage for stage in shown_stages(self._session) if stage.active)
        return next((stage.working for stage in active), None)

    def render(self) -> Text:
        if self._loading:
            return Text(f"{self._loading} …")
        working = self._working
        if working is None:
            return Text()
        text = Text(model_pace(working))
        room = self.content_size.width - text.cell_len - 4
        written = " ".join(working.text.split())[-max(room, 0) :]
        while cell_len(written) > room:  # letters of Chinese take two cells
            written = written[1:]
        if room > 10 and written:
            text.append("  \u2026" + written, tone(self, "dim") + Style(italic=True))
        return text
