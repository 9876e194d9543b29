"""Watching a run: a thread follows its log and folds it; the screens draw finished states.

The state that is shown never changes: the thread folds a state of its own and hands out copies (which share their
memory), and only `update`, which the drawing thread calls, exchanges what is shown. So a screen that draws never
sees half an event, nor two states in one drawing. Scrubbing back folds on from the nearest copy that was kept on
the way. The same code serves a live run, one attached to, and one that ended last year.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.runs.orders import UserMessage, send_command
from app.state.event_index import EventIndex
from app.state.run import LOG_IS_CUT, RunState
from engine.errors import RunError, SteerError
from engine.events import Event, StagePaused, StageResumed, WorkerStarted, WorkerStopped
from engine.run.directory import STARTING, RunDirectory, RunStatus, inspect
from engine.run.event_log import LogReader, read_event

_OF_THE_WORKER = (WorkerStarted, WorkerStopped, StagePaused, StageResumed)
_CHUNK = 400
"""Events folded at a time: some milliseconds, so that drawing never waits long for the interpreter."""

_POLL_SECONDS = 0.05
_MUCH = 2_000_000
"""Unread bytes from which on reading takes long enough to say how far it is."""
_HEALTH_EVERY = 1.0


@dataclass(frozen=True)
class KeptState:
    """A state on the way, and the place in the log behind its last event. It is to be shared before it is folded on."""

    seq: int
    offset: int
    state: RunState


class RunSession:
    """Follows the run in `run_dir` until `close`. One thread looks: it calls `update` before it draws.

    `cursor`: number of the event looked at, None at the live end. While `frozen`, or with a cursor, what is shown
    stays as it is and `behind` counts what happened since. `revision` is another number whenever something shown may be
    another. `status`: of the worker, `STARTING` while one that `has_started_worker` knows has not yet taken the run.
    `stop_requested`: here, and the worker has not stopped yet. `index`: marks and stops of the log;
    `unread_bytes`: of the log, not folded yet. `log_is_cut`: its end is shown, and the run went on behind it.
    """

    log_is_cut = False

    def __init__(
        self,
        run_dir: Path,
        *,
        keep_every: int = 2_000,
        has_started_worker: Callable[[Path], bool] = lambda run: False,
    ) -> None:
        self.run_dir = run_dir
        self.index = EventIndex()
        self.status: RunStatus | None = None
        self._status: RunStatus | None = None
        self.unread_bytes = 0
        self._directory = RunDirectory(run_dir)
        self._keep_every = keep_every
        self._has_started_worker = has_started_worker
        self._reader = LogReader(self._directory.events)
        self._live = RunState()
        self._folded = 0
        self._is_cut = False
        self._latest = self._shown = RunState()
        self._kept: list[KeptState] = [KeptState(-1, 0, RunState())]
        self._at_cursor: KeptState | None = None
        self.cursor: int | None = None
        self.frozen = False
        self.stop_requested = False
        self.revision = 0
        self._seen: object = None
        self._messages: deque[UserMessage] = deque()
        self._problems: list[str] = []
        self._damage_noted = False
        self._wake = threading.Event()
        self._closing = False
        self._looked_at = 0.0
        self._thread = threading.Thread(target=self._work, name=f"tail {run_dir.name}", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ what the screens draw

    @property
    def state(self) -> RunState:
        """The state of the run at the moment looked at; it never changes."""
        return self._shown

    @property
    def total_events(self) -> int:
        """Events in the log, as far as it was read."""
        return self._latest.seq + 1

    @property
    def behind(self) -> int:
        """Events in the log that are not in what is shown."""
        return max(0, self._latest.seq - self._shown.seq)

    @property
    def reading(self) -> float | None:
        """Share of a long log that is read, 0 to 1; None when little is left."""
        unread, folded = self.unread_bytes, self._folded
        return folded / (folded + unread) if unread > _MUCH else None

    # ------------------------------------------------------------ what the screens ask for

    def update(self) -> bool:
        """Show the newest state that may be shown; whether it differs from before."""
        shown, status, point = self._shown, self._status, self._at_cursor
        if self.cursor is not None:
            if point is not None and point.seq == self.cursor:
                shown = point.state
        elif not self.frozen:
            shown = self._latest
        if status is not None and not status.alive:
            self.stop_requested = False
        # While a view is frozen, the number of events it is behind still changes.
        state = status.state if status is not None else ""
        now = (shown, state, self._latest, self.stop_requested, self._is_cut)
        changed = now != self._seen
        self._seen, self._shown, self.status = now, shown, status
        self.log_is_cut = self._is_cut and shown is self._latest
        self.revision += changed
        return changed

    def seek(self, seq: int | None) -> None:
        """Look at the state as of event `seq`; None: go with the log. The state follows in some milliseconds."""
        self.frozen = False
        self.revision += 1
        if seq is None:
            self.cursor, self._shown = None, self._latest
        else:
            self.cursor = max(0, min(seq, self._latest.seq))
        self._wake.set()

    def freeze(self) -> None:
        """Keep the view as it is now; the log is still followed."""
        self.update()
        self.frozen = True
        self.revision += 1

    def send(self, command: str) -> None:
        """Give the worker a command; its answer becomes a message."""
        self.stop_requested |= command == "stop"
        threading.Thread(target=self._send, args=(command,), name=command, daemon=True).start()

    def read(self, offset: int, length: int) -> Event:
        """An event, whole, from its place in the log. Raises DataError if it is not there."""
        return read_event(self._directory.events, offset, length)

    def take_messages(self) -> list[UserMessage]:
        """The messages for the user since the last call."""
        messages: list[UserMessage] = []
        while self._messages:
            messages.append(self._messages.popleft())
        return messages

    def poll_now(self) -> None:
        """Look at the log and the worker without waiting for the next turn."""
        self._looked_at = 0.0
        self._wake.set()

    @property
    def caught_up(self) -> bool:
        """Whether all of the log is folded, ready to be shown."""
        try:
            return self._folded >= self._directory.events.stat().st_size
        except OSError:
            return True

    @property
    def failed(self) -> bool:
        """Whether the log ends with a failure, shown already or not."""
        return self._latest.failure is not None

    def close(self) -> None:
        """Stop following; the run itself continues."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=2.0)

    # ------------------------------------------------------------ the thread

    def _work(self) -> None:
        try:
            self._follow()
        except Exception as error:
            self._messages.append(
                UserMessage(f"the console stopped reading the log: {type(error).__name__}: {error}", "error")
            )
            raise

    def _follow(self) -> None:
        while not self._closing:
            self._look_at_worker()
            self._follow_cursor()
            if self._fold_some():
                time.sleep(0.0005)  # the drawing thread gets the interpreter in between
            else:
                self._wake.wait(_POLL_SECONDS)
                self._wake.clear()

    def _fold_some(self) -> bool:
        """Fold a portion of what is new; whether there was anything."""
        try:
            entries = self._reader.poll(_CHUNK)
        except (SteerError, OSError) as error:
            self._note(error)
            return False
        if not entries:
            self._folded = self._reader.offset
            self._look_at_end()
            if self.unread_bytes:
                self.unread_bytes = self._reader.behind()
            return False
        for event, offset, length in entries:
            self._live.apply(event, offset, length)
            self.index.add(event)
            if isinstance(event, _OF_THE_WORKER):
                self._looked_at = 0.0
        self._live.unknown = self._reader.unknown.total()
        self._keep()
        self._latest = self._live.share()
        self._folded = self._reader.offset
        self.unread_bytes = self._reader.behind()
        return True

    def _look_at_end(self) -> None:
        """Say what is wrong with the log, once all of it is read."""
        status = self._status
        self._is_cut = status is not None and not status.alive and self._live.is_cut(status.record)
        if self._reader.damage and not self._damage_noted:  # of a log that grows the count grows
            self._damage_noted = True
            self._note(self._reader.damage)
        if self._is_cut:
            self._note(LOG_IS_CUT)

    def _keep(self) -> None:
        seq = self._live.seq
        if seq - self._kept[-1].seq >= self._keep_every:
            self._kept.append(KeptState(seq, self._reader.offset, self._live.share()))

    def _follow_cursor(self) -> None:
        cursor, point = self.cursor, self._at_cursor
        if cursor is not None and (point is None or point.seq != cursor):
            self._at_cursor = self._fold_to(cursor)

    def _fold_to(self, seq: int) -> KeptState:
        """The state as of event `seq`, folded on from the nearest state that was kept."""
        near = self._kept[bisect_right(self._kept, seq, key=lambda point: point.seq) - 1]
        here = self._at_cursor
        if here is not None and near.seq < here.seq <= seq:
            near = here
        state, reader = near.state.share(), LogReader(self._directory.events, near.offset)
        offset = near.offset
        while state.seq < seq:
            try:
                entries = reader.poll(min(_CHUNK, seq - state.seq))
            except (SteerError, OSError) as error:
                self._note(error)
                break
            if not entries:
                break
            for event, start, length in entries:
                if event.seq > seq:
                    return KeptState(seq, offset, state)
                state.apply(event, start, length)
                offset = start + length + 1
        return KeptState(seq, offset, state)

    def _look_at_worker(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < _HEALTH_EVERY:
            return
        self._looked_at = now
        try:
            status = inspect(self.run_dir)
        except RunError as error:
            self._note(error)
            return
        starts = not status.alive and self._has_started_worker(self.run_dir)
        self._status = replace(status, state=STARTING) if starts else status

    def _note(self, error: SteerError | OSError | str) -> None:
        """Report a problem to the user, once."""
        text = str(error)
        if text not in self._problems:
            self._problems.append(text)
            self._messages.append(UserMessage(text, "error"))

    def _send(self, command: str) -> None:
        answer = send_command(self._directory, command)
        if answer.severity == "error":
            self.stop_requested &= command != "stop"
        self._messages.append(answer)
        self.poll_now()
