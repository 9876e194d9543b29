"""The screen of a what-if: fields for another choice above, the answers below."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.getters import query_one
from textual.widgets import Input, Label, Static, TextArea

from app.blocks import terminal
from app.blocks.block import Palette
from app.keys.commands import WHAT_IF, bindings
from app.methods.what_if import HELP_OF_ALL, Choice, Field, WhatIf
from app.runs.queries.what_if import WhatIfProcess
from engine.errors import SteerError
from engine.events import Event
from screens.console_screen import ConsoleScreen
from screens.what_if.drawing import draw_answers, draw_exact
from screens.widgets.detail_pane import DetailPane
from screens.widgets.key_line import KeyLine

SWEEP = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Strengths of a sweep, as multiples of the one in the field."""


class LongField(TextArea):
    """A field of several lines; `enter` belongs to the screen."""

    BINDINGS = [
        Binding("ctrl+j", "new_line", "New line", key_display="^j", tooltip="Begin a new line of the text.")
    ]

    def action_new_line(self) -> None:
        """Break the line here."""
        self.insert("\n")


class WhatIfScreen(ConsoleScreen[None]):
    """Asks for what the fields of a choice say. The process that answers belongs to who opened the screen."""

    BINDINGS = bindings(WHAT_IF)
    DEFAULT_CSS = """
    WhatIfScreen {
        & > #what-title { height: auto; max-height: 4; padding: 0 1; background: $panel; }
        & > Horizontal { height: auto; padding: 0 1; }
        & Label { width: auto; padding: 0 1 0 0; color: $text-muted; }
        & Input { height: 1; width: 14; border: none; padding: 0 1; background: $panel; margin-right: 2; }
        & Input:focus { border: none; background-tint: $foreground 8%; }
        & TextArea { border: none; padding: 0 1; background: $panel; }
        & TextArea:focus { border: none; background-tint: $foreground 8%; }
        & > DetailPane { height: 1fr; }
    }
    """

    page = query_one(DetailPane)

    def __init__(self, process: WhatIfProcess, what_if: WhatIf, choice: Choice) -> None:
        super().__init__()
        text = what_if.help + (HELP_OF_ALL if what_if.of else "")
        self.HELP = text  # pyright: ignore[reportAttributeAccessIssue]
        self._process, self._system, self.choice = process, what_if.system, choice
        self._fields = [field for row in choice.fields for field in row]
        self._swept = next((field for field in self._fields if field.is_swept), None)
        self._tried: Event | None = None
        self._asked: dict[str, Any] = {}
        """What the answers that are shown were asked for with."""
        self._waiting = ""
        self._error = ""

    def compose_content(self) -> ComposeResult:
        yield Static(f"What if · {self.choice.about}", id="what-title", markup=False)
        for row in self.choice.fields:
            with Horizontal():
                for field in row:
                    yield from _widgets(field)
        yield DetailPane()
        yield KeyLine()

    def on_mount(self) -> None:
        first = self.query("Input, LongField").first()
        first.focus()
        if isinstance(first, LongField):
            first.select_all()
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "scroll":
            return self.page.max_scroll_y > 0
        return self._swept is not None if action == "sweep" else True

    def action_start(self) -> None:
        """Try what the fields say."""
        self._try(sweep=False)

    def action_sweep(self) -> None:
        """Try several strengths."""
        self._try(sweep=True)

    def action_close(self) -> None:
        """Back to what was recorded."""
        self.dismiss(None)

    def action_scroll(self, by: int) -> None:
        """Scroll the answers while a field has the focus."""
        self.page.scroll_relative(y=by * max(1, self.page.size.height - 2), animate=False)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_start()

    # ------------------------------------------------------------ asking

    def _text(self, field: Field) -> str:
        if field.lines > 1:
            return self.query_one(f"#what-{field.name}", LongField).text.strip()
        return self.query_one(f"#what-{field.name}", Input).value.strip()

    def _read(self, field: Field, sweep: bool) -> Any:
        try:
            value = field.read(self._text(field))
        except ValueError as error:
            raise ValueError(f"{field.label}: {error}") from error
        return [value[0] * factor for factor in SWEEP] if sweep and field.is_swept else value

    def _try(self, sweep: bool) -> None:
        if self._waiting:
            self.notify(f"The last try still has no answer: {self._waiting}", markup=False)
            return
        try:
            request = self.choice.request({field.name: self._read(field, sweep) for field in self._fields})
        except ValueError as error:
            self._error = str(error)
            self._show()
            return
        self._error = ""
        self._waiting = "The model answers …" if self._tried else "loading the model and the run's files …"
        self._show()
        self._ask(request)

    @work(group="what-if", exit_on_error=False)
    async def _ask(self, request: dict[str, Any]) -> None:
        try:
            self._tried = await self._process.ask(self._system, request)
            self._asked = request
            if self.is_attached:
                self._fill(self._tried)
        except SteerError as error:
            self._error = str(error)
        finally:
            self._waiting = ""
            self._show()

    def _fill(self, tried: Event) -> None:
        for field in self._fields:
            text = self._text(field)
            if field.lines > 1 and (filled := field.filled(tried, text)) != text:
                self.query_one(f"#what-{field.name}", LongField).text = filled

    # ------------------------------------------------------------ drawing

    def _show(self) -> None:
        if self.is_attached:
            self.page.show(self._draw)
            self.call_after_refresh(self.refresh_bindings)

    def _draw(self, palette: Palette, width: int) -> RenderableType:
        parts: list[RenderableType] = []
        if self._error:
            parts += [Text(f"✗ {self._error}", palette["bad"]), Text()]
        if self._waiting:
            parts += [Text(self._waiting, palette["dim"]), Text()]
        if self._tried is not None:
            swept = self._swept
            strengths = (swept.label, self._asked[swept.name]) if swept else ("try", range(1, 1000))
            parts += [
                *draw_exact(self._tried, palette),
                draw_answers(self.choice.answers(self._tried), strengths, palette, width),
                Text(),
            ]
        return Group(*parts, terminal.draw(self.choice.choices(self._tried), palette, width))


def _widgets(field: Field) -> ComposeResult:
    yield Label(field.label)
    if field.lines > 1:
        entry: Input | LongField = LongField(field.value, id=f"what-{field.name}", soft_wrap=True)
        entry.styles.height = field.lines
    else:
        entry = Input(field.value, placeholder=field.hint, id=f"what-{field.name}")
        entry.styles.width = field.width or "1fr"
    yield entry
