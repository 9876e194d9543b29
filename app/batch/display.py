"""What batch shows during a run: timestamped lines."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from app.wording.figures import fixed
from app.wording.stage_words import choices_sentence, texts_under_way
from app.wording.text import counted, duration, how_many, loading, model_pace
from app.wording.verdict_text import verdict_sentence
from app.wording.words import figures_words, method_name
from engine import events as ev
from engine.run.stage_state import Stages, StageState

_EVERY = 5.0


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
            return f"{method_name(event.method)}: accuracy {fixed(event.accuracy)} on {counted(event.n, 'examples')}"
        case ev.ServeOpened():
            return f"takes requests at {event.url}; {event.key}"
        case ev.Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"
        case _:
            return None


class Display:
    """Lines that begin with the time of day; progress at most every 5 seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._reported = 0.0

    def show(self, event: ev.Event, stages: Stages) -> None:
        """Show an event, and the stages after it."""
        if isinstance(event, ev.StageStarted):
            self._reported = self._clock()
            self._line(event.stage, f"started, {pace(stages[event.stage])}")
        elif isinstance(event, ev.StageProgress | ev.ModelWorking):
            if self._due():
                self._line(event.stage, pace(stages[event.stage]))
        elif isinstance(event, ev.ModelLoading) and event.doing and not self._due():
            pass
        elif text := sentence(event):
            is_warning = isinstance(event, ev.Notice) and event.level == "warning"
            self._line(event.stage, text, "yellow" if is_warning else "")

    def print(self, text: str, style: str = "") -> None:
        """Print one line."""
        self._console.print(Text(text, style=style), soft_wrap=True)

    def _due(self) -> bool:
        """Whether progress is to be shown again; it then counts as shown."""
        now = self._clock()
        due = now - self._reported >= _EVERY
        if due:
            self._reported = now
        return due

    def _line(self, stage: str, text: str, style: str = "") -> None:
        self.print(f"{time.strftime('%H:%M:%S')} {stage + ': ' if stage else ''}{text}", style)
