"""The span of a run's log, and the moment of it that all screens show.

Scrubbing back in a live run and replaying a finished one are the same: the session is asked to look at another
event. Events are spaced evenly, whatever time passed between them, so that busy stages have room.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from rich.style import Style
from rich.text import Text
from textual import events
from textual.timer import Timer
from textual.widget import Widget

from app.wording.text import duration
from screens.run_session import Session, at_rest, engine_state
from screens.widgets.tones import tone

SPEEDS = (1, 4, 16, 64)
TICK = 0.1
LONGEST_WAIT = 1.0
"""Longest time in seconds that a replay waits for the next event."""

_SIGNS = {"failure": "✗", "warning": "!", "worker": "↻", "pause": "‖", "notice": "·"}
_RANK = {sign: rank for rank, sign in enumerate(_SIGNS.values())}
_CAPTION_FROM = 30
_KEYS = "[ ] event   { } decision   , replay   . speed   0 start   L live"


class Timeline(Widget):
    """Track, marks and readings; a click or a drag looks at another moment."""

    DEFAULT_CSS = """
    Timeline {
        height: auto;
        padding: 0 1;
        background: $panel;
    }
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._index = session.index
        self._speed = 0
        self._replay: Timer | None = None
        self._clock = 0.0
        self._track_width = 1

    # ------------------------------------------------------------ moving

    @property
    def replaying(self) -> bool:
        """Whether the log is being played."""
        return self._replay is not None

    @property
    def position(self) -> int:
        """Number of the event looked at."""
        cursor = self._session.cursor
        return self._session.state.seq if cursor is None else cursor

    def step(self, by: int) -> None:
        """One event on or back."""
        self._go(self._index.step(self.position, by))

    def stop_at(self, by: int) -> None:
        """One decision, example or stage on or back."""
        self._go(self._index.stop(self.position, by))

    def toggle_replay(self) -> None:
        """Play from the moment looked at (from the start, at the end of the log), or halt."""
        if self._replay is not None:
            self.halt()
            return
        if self._session.total_events < 2:
            return
        at_end = self.position >= self._session.total_events - 1
        self._session.seek(0 if at_end else self.position)
        self._clock = self._index.time_of(self.position)
        self._replay = self.set_interval(TICK, self.play)
        self.refresh()

    def halt(self) -> None:
        """Stay at the moment looked at."""
        if self._replay is not None:
            self._replay.stop()
            self._replay = None
            self.refresh()

    def next_speed(self) -> None:
        """Play faster, or at the first speed again."""
        self._speed = (self._speed + 1) % len(SPEEDS)
        self.refresh()

    def play(self) -> None:
        """Let the time of one tick pass in the log."""
        here = self.position
        following = self._index.next_time(here)
        if following is None:
            self.halt()
            self._session.seek(None)
            return
        self._clock += TICK * SPEEDS[self._speed]
        if following - self._clock > LONGEST_WAIT * SPEEDS[self._speed]:
            self._clock = following - LONGEST_WAIT * SPEEDS[self._speed]
        seq = self._index.at_time(self._clock)
        if seq > here:
            self._session.seek(seq)
        elif following <= self._clock:  # a clock that was set back between two events
            self._clock = following
            self._session.seek(self._index.step(here, 1))

    def _go(self, seq: int | None) -> None:
        self.halt()
        if seq is not None:
            self._session.seek(seq)
            self.refresh()

    # ------------------------------------------------------------ mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.y == 0 and 1 <= event.x <= self._track_width:
            self.capture_mouse()
            self._go(self._seq_at(event.x - 1))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self._go(self._seq_at(event.x - 1))

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def _seq_at(self, x: int) -> int:
        last = self._session.total_events - 1
        x = max(0, min(x, self._track_width - 1))
        return round(x / max(1, self._track_width - 1) * last)

    def _x_of(self, seq: int) -> int:
        last = max(1, self._session.total_events - 1)
        return min(self._track_width - 1, round(seq / last * (self._track_width - 1)))

    # ------------------------------------------------------------ drawing

    def get_content_height(self, container, viewport, width: int) -> int:  # type: ignore[no-untyped-def]
        return 2 if self.app.size.height >= _CAPTION_FROM else 1

    def render(self) -> Text:
        readings = self._readings()
        width = self.content_size.width
        self._track_width = max(10, width - readings.cell_len - 2)
        text = self._track().append("  ").append_text(readings)
        if self.content_size.height > 1:
            text.append("\n").append_text(self._caption(width))
        return text

    def _track(self) -> Text:
        """`mine━━━━━━│select━━│eval━━━━━━◆─────`"""
        width, here = self._track_width, self._x_of(max(0, self.position))
        if not self._session.total_events:
            return Text("─" * width, tone(self, "rest"))
        signs: list[str | None] = [None] * width
        tones = ["done" if x <= here else "rest" for x in range(width)]
        self._place_stages(signs, tones)
        self._place_marks(signs, tones)
        signs[here], tones[here] = "◆", "accent"
        track = [sign or ("━" if x <= here else "─") for x, sign in enumerate(signs)]
        text = Text()
        for name, cells in groupby(range(width), tones.__getitem__):
            text.append("".join(track[x] for x in cells), tone(self, name))
        return text

    def _place_stages(self, signs: list[str | None], tones: list[str]) -> None:
        """A stage's name begins where it does, if there is room before the next."""
        starts = [(self._x_of(mark.seq), mark.text) for mark in self._index.marks if mark.kind == "stage"]
        for (x, name), following in zip(starts, [*starts[1:], (len(signs), "")], strict=False):
            signs[x], tones[x] = "│", "strong"
            room = following[0] - x - 1
            for i, letter in enumerate(name if len(name) <= room else ""):
                signs[x + 1 + i], tones[x + 1 + i] = letter, "strong"

    def _place_marks(self, signs: list[str | None], tones: list[str]) -> None:
        for mark in self._index.marks:
            sign = _SIGNS.get(mark.kind)
            if sign is None:
                continue
            x = self._x_of(mark.seq)
            before = signs[x]
            if before is None or _RANK.get(before, len(_RANK)) > _RANK[sign]:
                signs[x] = sign
                tones[x] = "bad" if sign == "✗" else "alert" if sign in "!‖" else tones[x]

    def _readings(self) -> Text:
        """Where the cursor is: number, time since the start, and whether it follows the log."""
        session, last = self._session, self._session.total_events - 1
        seq, digits = max(0, self.position), len(f"{max(0, last):,}")
        passed = duration(max(0.0, self._index.time_of(seq) - self._index.began()))
        text = Text()
        if last >= 0:
            text.append(f"{seq:>{digits},}/{last:,} ", tone(self, "strong"))
            text.append(f"+{passed} ", tone(self, "dim"))
        speed = f"×{SPEEDS[self._speed]}"
        if self.replaying:
            text.append(f" ▶ REPLAY {speed} ", tone(self, "badge"))
        elif session.frozen:
            text.append(" FROZEN ", tone(self, "badge"))
        elif session.cursor is not None:
            text.append(f" PAST {speed} ", tone(self, "badge"))
        elif session.reading is not None:
            text.append(f" READING {session.reading:.0%} ", tone(self, "badge"))
        else:
            text.append(*self._end())
        return text

    def _end(self) -> tuple[str, Style]:
        """What the end of the log is: of a run at work, of one that is over, of one that no worker has begun."""
        if engine_state(self._session) in ("new", "prepared"):
            return "○ NOT STARTED", tone(self, "dim")
        return ("■ END", tone(self, "dim")) if at_rest(self._session) else ("● LIVE", tone(self, "good"))

    def _caption(self, width: int) -> Text:
        """The last mark before the cursor; the keys on the right."""
        seq = max(0, self.position)
        mark = next((m for m in reversed(self._index.marks) if m.seq <= seq and m.kind in _SIGNS), None)
        clock = self._index.time_of(seq)
        text = Text()
        if clock:
            text.append(f"{datetime.fromtimestamp(clock):%Y-%m-%d %H:%M:%S}  ", tone(self, "dim"))
        if mark is not None:
            words = f"{_SIGNS[mark.kind]} {' '.join(mark.text.split())} (event {mark.seq:,})"
            text.append(words, tone(self, {"failure": "bad", "warning": "alert"}.get(mark.kind, "dim")))
        text.truncate(max(0, width - len(_KEYS) - 2), overflow="ellipsis")
        text.append(" " * max(2, width - text.cell_len - len(_KEYS)))
        return text.append(_KEYS, tone(self, "dim"))
