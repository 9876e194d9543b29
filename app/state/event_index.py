"""Marks, stops and times of a log by event number, for the time line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal

from engine import events as ev

Kind = Literal["stage", "worker", "notice", "warning", "failure", "pause"]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something worth a sign on a time line. `text` says what it was."""

    seq: int
    kind: Kind
    text: str


class EventIndex:
    """Grows with the log, one `add` an event; reading it from another thread while it grows is safe.

    Stops are the events that larger steps go to: decisions, answers, mined examples, picks, and the beginnings
    and ends of stages.
    """

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._seqs = array("q")
        self._times = array("d")
        self._stops = array("q")

    def add(self, event: ev.Event) -> None:
        """Take in the next event."""
        self._times.append(event.time)
        self._seqs.append(event.seq)
        kind = type(event)
        if kind in _MARKED and (mark := _mark(event)) is not None:
            self.marks.append(mark)
        if kind in _STOPS:
            self._stops.append(event.seq)

    def __len__(self) -> int:
        return len(self._seqs)

    def time_of(self, seq: int) -> float:
        """When event `seq` happened; 0.0 where the log is empty."""
        at = bisect_right(self._seqs, seq) - 1
        return self._times[max(0, at)] if len(self._seqs) else 0.0

    def began(self) -> float:
        """When the first event happened."""
        return self._times[0] if len(self._times) else 0.0

    def step(self, seq: int, by: int) -> int | None:
        """Number of the event `by` events on from `seq` (numbers of skipped events are passed over)."""
        at = bisect_left(self._seqs, seq) if by < 0 else bisect_right(self._seqs, seq) - 1
        target = at + by
        return self._seqs[target] if 0 <= target < len(self._seqs) else None

    def stop(self, seq: int, by: int) -> int | None:
        """The next (`by` 1) or previous (-1) stop from `seq`."""
        at = bisect_right(self._stops, seq) if by > 0 else bisect_left(self._stops, seq) - 1
        return self._stops[at] if 0 <= at < len(self._stops) else None

    def at_time(self, time: float) -> int:
        """Number of the last event at or before `time`; the first event where there is none."""
        at = bisect_right(self._times, time, 0, len(self._seqs)) - 1
        return self._seqs[max(0, at)] if len(self._seqs) else 0

    def next_time(self, seq: int) -> float | None:
        """When the event after `seq` happened; None at the end."""
        following = self.step(seq, 1)
        return None if following is None else self.time_of(following)


_STOPS = {
    ev.StageStarted,
    ev.StageFinished,
    ev.RolloutsMined,
    ev.EntryPicked,
    ev.DecisionTaken,
    ev.ExampleEvaluated,
    ev.IterationBegan,
    ev.AnswersScored,
    ev.ReflectorReplied,
}

_MARKED = {ev.StageStarted, ev.WorkerStarted, ev.StagePaused, ev.Notice, ev.StageFailed}


def _mark(event: ev.Event) -> Mark | None:
    match event:
        case ev.StageStarted():
            return Mark(event.seq, "stage", event.stage)
        case ev.WorkerStarted() if event.attempt > 1:
            return Mark(event.seq, "worker", f"resumed (attempt {event.attempt})")
        case ev.StagePaused():
            return Mark(event.seq, "pause", f"{event.stage} paused")
        case ev.Notice():
            return Mark(event.seq, "notice" if event.level == "info" else "warning", event.text)
        case ev.StageFailed():
            return Mark(event.seq, "failure", event.what)
        case _:
            return None
