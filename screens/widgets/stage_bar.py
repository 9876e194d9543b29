"""The progress and pace of the run's stages, and whether a worker is running."""

from __future__ import annotations

import time

from rich.style import Style
from rich.text import Text
from textual import events
from textual.widget import Widget

from app.blocks.bars import bar
from app.wording.stage_words import stage_sign
from app.wording.text import duration, how_far
from engine.run import stage_state as stages
from engine.run.directory import STARTING
from engine.run.stage_state import StageState
from screens.messages import SystemRequested
from screens.run_session import Session, run_time_left, shown_stages
from screens.systems import system_of
from screens.widgets.stretch import visible
from screens.widgets.tones import tone

_SHORTEST_BAR = 6
_LEAST_CHIPS = 12
"""Cells beside its name for the sign of the stage at work, and for its neighbours."""
_QUIET = 5.0  # seconds; the worker's heart beats every second


class StageBar(Widget):
    """One line for all stages; a click on a stage opens its method. Call `refresh` when the session changed."""

    DEFAULT_CSS = """
    StageBar {
        height: 1;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        background: $panel;
    }
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def on_mount(self) -> None:
        self.set_interval(1.0, self._beat)

    def _beat(self) -> None:
        """The age of the last heartbeat grows without events."""
        if self._session.status is not None and self._session.status.alive:
            self.refresh()

    def render(self) -> Text:
        shown = shown_stages(self._session)
        if not shown:
            return Text("no stage has started yet", tone(self, "dim")).append_text(
                Text("  ") + self._worker()
            )
        return self._compact(shown)

    def on_click(self, event: events.Click) -> None:
        """Open the method of the stage that was clicked."""
        if (system := system_of(event.style.meta.get("stage", ""))) is not None:
            self.post_message(SystemRequested(system.title))

    def _compact(self, shown: list[StageState]) -> Text:
        """`✓ mine ▶ select ━━━━╸─── 45/100 1,203 tok/s ETA 0:42, all stages 12:30      ● worker 42`"""
        width = self.content_size.width
        worker = self._worker()
        current = next((stage for stage in shown if stage.active), None) or _last_started(shown)
        figures = self._figures(current)
        if current.active and figures.cell_len > width // 2:
            figures = self._figures(current, pace=False)
        if figures.cell_len > width - len(current.name) - _LEAST_CHIPS:
            figures = Text(how_far(current.done, current.total))
        text = self._chips(shown, current, width - figures.cell_len - 2)
        room = width - text.cell_len - figures.cell_len - 2
        if self._worker_is_well and room - worker.cell_len < _SHORTEST_BAR:
            worker = Text()
        room -= worker.cell_len + 1
        if current.active and room >= _SHORTEST_BAR:
            drawn = bar(current.fraction, min(24, room), tone(self, "done"), tone(self, "rest"))
            text.append_text(drawn).append(" ")
        return self._with_right(text.append_text(figures), worker)

    def _chips(self, shown: list[StageState], current: StageState, room: int) -> Text:
        """The stages' names, as many around the current one as there is room for; `…` stands for the others."""
        chips = [f"{stage_sign(stage)} {stage.name} " for stage in shown]
        first, last = visible(list(map(len, chips)), shown.index(current), room)
        text = Text("… " if first else "", tone(self, "dim"))
        for stage, chip in zip(shown[first:last], chips[first:last], strict=True):
            text.append(chip, self._tone(stage) + Style(meta={"stage": stage.name}))
        return text.append("… " if last < len(shown) else "", tone(self, "dim"))

    def _figures(self, stage: StageState, pace: bool = True) -> Text:
        """Pace and what is left."""
        parts: list[tuple[str, Style | str]] = []
        if (stage.total or stage.done) and stage.active:
            parts.append((how_far(stage.done, stage.total), ""))
        if stage.status == stages.PAUSED:
            parts.append(("PAUSED", tone(self, "alert")))
        elif stage.active:
            speed = stage.tokens_per_second if pace else None
            parts.append((f"{speed:,.0f} tok/s" if speed is not None else "", ""))
            parts.append((self._left(stage), tone(self, "strong")))
        elif stage.status == stages.STOPPED and stage.total:
            parts.append((f"{stage.done:,}/{stage.total:,} kept", tone(self, "dim")))
        elif stage.status == stages.FAILED and stage.error is not None:
            parts.append((stage.error.what, tone(self, "bad")))
        text = Text()
        for part, style in parts:
            if part:
                text.append("  " if text else "").append(part, style)
        return text

    def _left(self, stage: StageState) -> str:
        """`ETA 0:42, all stages 12:30`; nothing while the log is read, whose stages may be long over."""
        if self._session.reading is not None:
            return ""
        words = [f"ETA {duration(stage.eta)}"] if stage.eta is not None else []
        left = run_time_left(self._session)
        if left is not None and (left.whole is None or left.whole != stage.eta):
            whole = ": not known yet" if left.whole is None else f" {duration(left.whole)}"
            words.append(f"all stages{whole}")
        return ", ".join(words)

    # ------------------------------------------------------------ the worker

    @property
    def _worker_is_well(self) -> bool:
        status = self._session.status
        return status is not None and status.state in ("running", "paused", "prepared", STARTING)

    def _worker(self) -> Text:
        """Whether a worker is running, by its lock and heartbeat."""
        status = self._session.status
        if status is None:
            return Text()
        age = status.heartbeat_age
        if status.state == "hung":
            return Text(f"? no sign of life for {duration(age or 0)}", tone(self, "bad"))
        if status.alive and age is not None and age > _QUIET:
            return Text(f"● worker {status.pid}, silent for {age:.0f} s", tone(self, "alert"))
        if status.alive:
            beat = "●" if int(time.time()) % 2 else "◉"
            return Text(f"{beat} worker {status.pid}", tone(self, "good"))
        return Text("" if status.state == "finished" else f"○ {status.state}", tone(self, "dim"))

    # ------------------------------------------------------------ drawing

    def _with_right(self, text: Text, right: Text) -> Text:
        room = self.content_size.width - right.cell_len - 1
        text.truncate(max(0, room), overflow="ellipsis")
        return text.append(" " * max(1, room - text.cell_len + 1)).append_text(right)

    def _tone(self, stage: StageState) -> Style:
        if stage.status == stages.FAILED:
            return tone(self, "bad")
        if stage.status == stages.PAUSED:
            return tone(self, "alert")
        if stage.active:
            return tone(self, "strong")
        return tone(self, "good" if stage.status == stages.FINISHED else "dim")


def _last_started(shown: list[StageState]) -> StageState:
    started = [stage for stage in shown if stage.status != stages.WAITING]
    return started[-1] if started else shown[0]
