"""The dialog for sampling a question again: temperature, prior and draw."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from app.commands import SAMPLE_AGAIN, bindings
from app.runs.path_sampler import SampleAgain
from engine.events import QuestionSampled
from screens.widgets.key_line import KeyLine
from screens.widgets.model_text import clean

_FIELDS = (
    ("temperature", "temperature", "above 0; 1 is the trained sampler"),
    ("prior_alpha", "prior α", "weight of the retriever's log score; 0: none"),
    ("samples", "samples", "1 to 1000"),
    ("distinct", "distinct", "1: no path comes twice; 0: independent samples of P_F"),
    ("draw", "draw", "0: the run's own samples; other numbers: new samples"),
)


class SampleAgainScreen(ModalScreen[SampleAgain | None]):
    """The result is the settings, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(SAMPLE_AGAIN)
    DEFAULT_CSS = """
    SampleAgainScreen {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 76; height: auto; padding: 1 2;
            border: round $border; border-title-style: bold; background: $surface;
        }
        & Horizontal { height: 1; }
        & Label { width: 14; color: $text-muted; }
        & Input { height: 1; width: 12; border: none; padding: 0 1; background: $panel; }
        & Input:focus { border: none; background-tint: $foreground 8%; }
        & .hint { width: 1fr; padding: 0 1; color: $text-muted; }
        & #sample-message { height: auto; margin-top: 1; }
    }
    """

    def __init__(self, shown: QuestionSampled) -> None:
        super().__init__()
        self._shown = shown

    def compose(self) -> ComposeResult:
        shown = self._shown
        values = (
            f"{shown.temperature:g}",
            f"{shown.prior_alpha:.3g}",
            str(shown.samples),
            str(int(shown.distinct)),
            "1",
        )
        with Vertical() as box:
            box.border_title = "Sample again"
            for (name, label, hint), value in zip(_FIELDS, values, strict=True):
                with Horizontal():
                    yield Label(label)
                    yield Input(value, id=f"again-{name}")
                    yield Static(hint, classes="hint", markup=False)
            yield Static(clean(shown.question), id="sample-message", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#again-temperature", Input).focus()

    @on(Input.Submitted)
    def action_start(self) -> None:
        """Sample with these settings."""
        try:
            wanted = SampleAgain(
                self._shown.sample_id,
                temperature=_number(self._value("temperature"), "temperature", low=1e-6),
                prior_alpha=_number(self._value("prior_alpha"), "prior α"),
                samples=int(_number(self._value("samples"), "samples", low=1, high=1000)),
                distinct=bool(_number(self._value("distinct"), "distinct", high=1)),
                draw=int(_number(self._value("draw"), "draw", high=1_000_000)),
            )
        except ValueError as error:
            self.query_one("#sample-message", Static).update(f"✗ {error}")
            return
        self.dismiss(wanted)

    def action_close(self) -> None:
        """Close without sampling."""
        self.dismiss(None)

    def _value(self, name: str) -> str:
        return self.query_one(f"#again-{name}", Input).value


def _number(text: str, name: str, low: float = 0.0, high: float = 100.0) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}: expected a number, found {text!r}") from None
    if not low <= value <= high:
        raise ValueError(f"{name}: expected {low:g} to {high:g}, found {text}")
    return value
