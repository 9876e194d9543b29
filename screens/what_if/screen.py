"""The screen of a what-if: fields for another choice above, the answers below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from app.commands import WHAT_IF, bindings
from app.runs.what_if import WhatIfProcess
from engine.errors import SteerError
from engine.events import Event
from screens.console_screen import ConsoleScreen
from screens.what_if.fields import Field
from screens.widgets.detail_pane import DetailPane
from screens.widgets.key_line import KeyLine

Palette = dict[str, Style]
Tried = TypeVar("Tried", bound=Event)


class WhatIfScreen(ConsoleScreen[None], Generic[Tried]):
    """A subclass says what it is about, which fields it has, what they ask for, and how the answer is drawn. The
    process that answers belongs to who opened the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(WHAT_IF)
    SYSTEM: ClassVar[str] = ""
    """As `python -m engine what-if` names the method."""
    SWEEPS: ClassVar[bool] = False
    """Whether a strength can be swept."""
    DEFAULT_CSS = """
    WhatIfScreen {
        & > #what-title { height: auto; max-height: 4; padding: 0 1; background: $panel; }
        & > Horizontal { height: 1; padding: 0 1; }
        & Label { width: auto; padding: 0 1 0 0; color: $text-muted; }
        & Input { height: 1; width: 14; border: none; padding: 0 1; background: $panel; margin-right: 2; }
        & Input:focus { border: none; background-tint: $foreground 8%; }
        & > TextArea { height: 6; margin: 0 1; border: none; padding: 0 1; background: $panel; }
        & > TextArea:focus { border: none; background-tint: $foreground 8%; }
        & > DetailPane { height: 1fr; }
    }
    """

    page = query_one(DetailPane)

    def __init__(self, process: WhatIfProcess) -> None:
        super().__init__()
        self._process = process
        self._tried: Tried | None = None
        self.asked: dict[str, Any] = {}
        """What the answers that are shown were asked for with."""
        self._waiting = ""
        self._error = ""

    # ------------------------------------------------------------ what a subclass says

    def heading(self) -> Text:
        """What was recorded: two or three lines."""
        raise NotImplementedError

    def rows(self) -> Sequence[Sequence[Field]]:
        """The fields, line by line."""
        raise NotImplementedError

    def more_fields(self) -> ComposeResult:
        """Widgets below the fields."""
        yield from ()

    def wanted(self, sweep: bool) -> dict[str, Any]:
        """The request for what the fields say. Raises ValueError, in the user's words."""
        raise NotImplementedError

    def draw_tried(self, tried: Tried, palette: Palette, width: int) -> RenderableType:
        """The answers."""
        raise NotImplementedError

    def draw_choices(self, palette: Palette, width: int) -> RenderableType:
        """What can be chosen."""
        return Text()

    def taken(self, tried: Tried) -> None:
        """An answer has come."""

    # ------------------------------------------------------------ the frame

    def compose_content(self) -> ComposeResult:
        yield Static(self.heading(), id="what-title", markup=False)
        for row in self.rows():
            with Horizontal():
                for field in row:
                    yield Label(field.label)
                    entry = Input(field.value, placeholder=field.hint, id=f"what-{field.name}")
                    entry.styles.width = field.width or "1fr"
                    yield entry
        yield from self.more_fields()
        yield DetailPane()
        yield KeyLine()

    def on_mount(self) -> None:
        self.first_field().focus()
        self._show()

    def first_field(self) -> Widget:
        """Where typing begins."""
        return self.query(Input).first()

    def value(self, name: str) -> str:
        """What stands in a field."""
        return self.query_one(f"#what-{name}", Input).value.strip()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "scroll":
            return self.page.max_scroll_y > 0
        return self.SWEEPS if action == "sweep" else True

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

    def _try(self, sweep: bool) -> None:
        if self._waiting:
            return
        try:
            wanted = self.wanted(sweep)
        except ValueError as error:
            self._error = str(error)
            self._show()
            return
        self._error = ""
        self._waiting = "The model answers …" if self._tried else "loading the model and the run's files …"
        self._show()
        self._ask(wanted)

    @work(group="what-if")
    async def _ask(self, wanted: dict[str, Any]) -> None:
        try:
            self._tried = await self._process.ask(self.SYSTEM, wanted)  # type: ignore[assignment]
            self.asked = wanted
        except SteerError as error:
            self._error = str(error)
        self._waiting = ""
        if self.is_attached and self._tried is not None and not self._error:
            self.taken(self._tried)
        self._show()

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
            parts += [self.draw_tried(self._tried, palette, width), Text()]
        return Group(*parts, self.draw_choices(palette, width))
