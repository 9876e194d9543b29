"""What batch shows while a run goes on: progress bars on a terminal, timestamped lines anywhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from app.text import duration
from engine.events import (
    Event,
    MethodEvaluated,
    ModelLoaded,
    Notice,
    StageFinished,
    StagePaused,
    StageProgress,
    StageResumed,
    StageSkipped,
    StageStarted,
    StageStopped,
)


class Display(Protocol):
    """Where batch's words go."""

    def show(self, event: Event) -> None:
        """Show an event as it comes."""
        ...

    def say(self, text: str, style: str = "") -> None:
        """Print one line."""
        ...

    def close(self) -> None:
        """Give the terminal back as it was."""
        ...


@dataclass
class Pace:
    """How fast a stage goes, from its own events."""

    begun_at: int = 0
    done: int = 0
    total: int = 0
    unit: str = "items"
    tokens: int = 0
    elapsed: float = 0.0

    @classmethod
    def begin(cls, event: StageStarted) -> Pace:
        """Nothing done by this attempt yet."""
        return cls(begun_at=event.done, done=event.done, total=event.total, unit=event.unit)

    def update(self, event: StageProgress) -> None:
        """Take a report in."""
        self.done, self.total, self.tokens, self.elapsed = (
            event.done,
            event.total,
            event.tokens,
            event.elapsed,
        )

    @property
    def tokens_per_second(self) -> float | None:
        """None before anything was generated."""
        return self.tokens / self.elapsed if self.tokens and self.elapsed > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds to go at the pace so far; None before the first item of this attempt."""
        new = self.done - self.begun_at
        return self.elapsed * (self.total - self.done) / new if new > 0 else None

    def __str__(self) -> str:
        parts = [f"{self.done} of {self.total} {self.unit}"]
        if self.tokens_per_second is not None:
            parts.append(f"{self.tokens_per_second:,.0f} tokens/s")
        if self.left is not None and self.done < self.total:
            parts.append(f"{duration(self.left)} left")
        return ", ".join(parts)


def sentence(event: Event) -> str | None:
    """An event in words; None for those that are no news by themselves."""
    match event:
        case StageSkipped():
            return "finished before, skipped"
        case StagePaused():
            return "paused"
        case StageResumed():
            return "goes on"
        case StageStopped():
            return f"stopped, {event.done} done are kept"
        case StageFinished():
            figures = ", ".join(f"{name} {_figure(value)}" for name, value in event.summary.items())
            return f"finished in {duration(event.seconds)}" + (f" ({figures})" if figures else "")
        case ModelLoaded():
            size = f", {event.parameters / 1e6:,.1f} M parameters" if event.parameters else ""
            return f"model {event.name} on {event.device} ({event.backend}, {event.dtype}{size})"
        case MethodEvaluated() if event.final:
            return f"{event.method}: accuracy {event.accuracy:.3f} of {event.n}"
        case Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"
        case _:
            return None


def _figure(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class PlainDisplay:
    """Lines that begin with the time of day; progress at most every `every` seconds."""

    def __init__(
        self, console: Console, every: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._every = every
        self._clock = clock
        self._pace = Pace()
        self._reported = 0.0

    def show(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._pace = Pace.begin(event)
            self._reported = self._clock()
            self._line(event.stage, f"started, {self._pace}")
        elif isinstance(event, StageProgress):
            self._pace.update(event)
            if self._clock() - self._reported >= self._every:
                self._reported = self._clock()
                self._line(event.stage, str(self._pace))
        elif text := sentence(event):
            self._line(event.stage, text)

    def say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)

    def close(self) -> None:
        pass

    def _line(self, stage: str, text: str) -> None:
        self.say(f"{time.strftime('%H:%M:%S')} {stage + ': ' if stage else ''}{text}")


class BarDisplay:
    """A progress bar for each stage, news above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._paces: dict[str, Pace] = {}
        self._bars: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            _PaceColumn(),
            console=console,
            refresh_per_second=8,
        )
        self._progress.start()

    def show(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._paces[event.stage] = Pace.begin(event)
            self._bar(event.stage)
        elif isinstance(event, StageProgress):
            self._paces.setdefault(event.stage, Pace()).update(event)
            self._bar(event.stage)
        elif text := sentence(event):
            self.say(f"{event.stage}: {text}" if event.stage else text, _style(event))

    def say(self, text: str, style: str = "") -> None:
        self._progress.console.print(Text(text, style=style), soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()

    def _bar(self, stage: str) -> None:
        pace = self._paces[stage]
        if stage not in self._bars:
            self._bars[stage] = self._progress.add_task(stage, total=pace.total, pace="")
        self._progress.update(self._bars[stage], completed=pace.done, total=pace.total, pace=str(pace))


class _PaceColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(task.fields["pace"], no_wrap=True)


def _style(event: Event) -> str:
    return "yellow" if isinstance(event, Notice) and event.level == "warning" else ""


def make_display(console: Console) -> Display:
    """Bars on a terminal that wants colour, lines elsewhere."""
    plain = not console.is_terminal or console.is_dumb_terminal or bool(os.environ.get("NO_COLOR"))
    return PlainDisplay(console) if plain else BarDisplay(console)
