"""What batch shows during a run: progress bars on a terminal, timestamped lines anywhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from app.wording.stage_words import choices_sentence, texts_under_way
from app.wording.text import counted, duration, how_many, loading, model_pace
from app.wording.verdict_text import verdict_sentence
from app.wording.words import figures_words, method_name
from engine import events as ev
from engine.run.stage_state import Stages, StageState


class Display(Protocol):
    """Where batch prints."""

    def show(self, event: ev.Event, stages: Stages) -> None:
        """Show an event, and the stages after it."""
        ...

    def print(self, text: str, style: str = "") -> None:
        """Print one line."""
        ...

    def close(self) -> None:
        """Restore the terminal."""
        ...


def pace(stage: StageState) -> str:
    """`50 of 100 items, 120 tokens/s, 0:25 left`; during a long call to a model how far that is."""
    words = [how_many(stage.done, stage.total, stage.unit)]
    if stage.working is not None:
        words.append(model_pace(stage.working))
    elif stage.tokens_per_second is not None:
        words.append(f"{stage.tokens_per_second:,.0f} tokens/s")
    if stage.eta is not None:
        words.append(f"{duration(stage.eta)} left")
    return ", ".join(words)


def sentence(event: ev.Event) -> str | None:
    """An event in words; None for an event that is not shown by itself."""
    match event:
        case ev.StageFinishedBefore():
            return "finished by an earlier attempt"
        case ev.StagesChosen():
            return choices_sentence(event)
        case ev.StageBegunAgain():
            return f"begun again; what it left before is kept in {event.kept}"
        case ev.StagePaused():
            return "paused"
        case ev.StageResumed():
            return "continues"
        case ev.StageStopped():
            return f"stopped; {event.done:,} finished are kept{texts_under_way(event)}"
        case ev.StageFinished():
            figures = figures_words(event.summary)
            text = f"finished in {duration(event.seconds)}" + (f" ({figures})" if figures else "")
            return text if event.verdict is None else f"{text}. {verdict_sentence(event.verdict)}"
        case ev.ModelLoading():
            return loading(event)
        case ev.Preparing():
            return event.doing
        case ev.ModelLoaded():
            size = f", {event.parameters / 1e6:,.1f} M parameters" if event.parameters else ""
            why = f": {event.dtype_reason}" if event.dtype_reason else ""
            return f"model {event.name} on {event.device} ({event.backend}{size}, {event.dtype}{why})"
        case ev.MethodEvaluated() if event.final:
            return f"{method_name(event.method)}: accuracy {event.accuracy:.3f} on {counted(event.n, 'examples')}"
        case ev.ServeOpened():
            return f"takes requests at {event.url}; {event.key}"
        case ev.Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"
        case _:
            return None


class PlainDisplay:
    """Lines that begin with the time of day; progress at most every `every` seconds."""

    def __init__(
        self, console: Console, every: float = 5.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._every = every
        self._clock = clock
        self._reported = 0.0

    def show(self, event: ev.Event, stages: Stages) -> None:
        if isinstance(event, ev.StageStarted):
            self._reported = self._clock()
            self._line(event.stage, f"started, {pace(stages[event.stage])}")
        elif isinstance(event, ev.StageProgress | ev.ModelWorking):
            if self._due():
                self._line(event.stage, pace(stages[event.stage]))
        elif isinstance(event, ev.ModelLoading) and event.doing and not self._due():
            pass
        elif text := sentence(event):
            self._line(event.stage, text)

    def print(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)

    def close(self) -> None:
        pass

    def _due(self) -> bool:
        """Whether progress is to be shown again; it then counts as shown."""
        now = self._clock()
        due = now - self._reported >= self._every
        if due:
            self._reported = now
        return due

    def _line(self, stage: str, text: str) -> None:
        self.print(f"{time.strftime('%H:%M:%S')} {stage + ': ' if stage else ''}{text}")


class BarDisplay:
    """A progress bar for each stage; other events as lines above the bars."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: dict[str, TaskID] = {}
        self._load: TaskID | None = None
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            _PaceColumn(),
            console=console,
            refresh_per_second=8,
        )
        self._progress.start()

    def show(self, event: ev.Event, stages: Stages) -> None:
        if isinstance(event, ev.StageStarted | ev.StageProgress | ev.ModelWorking):
            self._bar(stages[event.stage])
        elif isinstance(event, ev.ModelLoading) and event.doing:
            self._load_bar(event)
        elif text := sentence(event):
            if isinstance(event, ev.ModelLoaded) and self._load is not None:
                self._progress.remove_task(self._load)
                self._load = None
            self.print(f"{event.stage}: {text}" if event.stage else text, _style(event))

    def print(self, text: str, style: str = "") -> None:
        self._progress.console.print(Text(text, style=style), soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()

    def _bar(self, stage: StageState) -> None:
        if stage.name not in self._bars:
            self._bars[stage.name] = self._progress.add_task(stage.name, total=stage.total or None, pace="")
        bar = self._bars[stage.name]
        self._progress.update(bar, completed=stage.done, total=stage.total or None, pace=pace(stage))

    def _load_bar(self, event: ev.ModelLoading) -> None:
        if self._load is None:
            self._load = self._progress.add_task("loading", total=1.0, pace="")
        doing = f"{event.name}: {event.doing} {event.share:.0%}"
        self._progress.update(self._load, completed=event.share, pace=doing)


class _PaceColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(task.fields["pace"], no_wrap=True)


def _style(event: ev.Event) -> str:
    return "yellow" if isinstance(event, ev.Notice) and event.level == "warning" else ""


def make_display(console: Console) -> Display:
    """Bars on a terminal that wants colour, lines elsewhere."""
    plain = not console.is_terminal or console.is_dumb_terminal or bool(os.environ.get("NO_COLOR"))
    return PlainDisplay(console) if plain else BarDisplay(console)
