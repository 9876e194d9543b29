"""The line in which a filter is typed: checked at every letter, with completion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.getters import query_one
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from app.table.filter import Expression, Field
from app.table.filter_parser import FilterError, complete, parse
from screens.widgets.lazy_static import LazyStatic

NO_ROW = "No {} matches the filter.\n\nPress / to change the filter, escape to remove it."
"""With what the rows are."""
_EXAMPLES = "correct and alpha>0.5   chosen:null   method:esm m>=3   apples"


class _FieldSuggester(Suggester):
    """Completes field names."""

    def __init__(self, known: Mapping[str, Field]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._known = known

    async def get_suggestion(self, value: str) -> str | None:
        names = complete(value, self._known)
        if not names:
            return None
        typed = next(
            n for n in range(len(value), -1, -1) if names[0].startswith(value[len(value) - n :].lower())
        )
        return value + names[0][typed:]


class FilterBar(Vertical):
    """Hidden until `open`. While it is open, each valid expression is applied at once; enter keeps it."""

    DEFAULT_CSS = """
    FilterBar {
        display: none;
        height: 2;
        background: $panel;
        & > Input { height: 1; border: none; padding: 0 1; background: $panel; }
        & > Input:focus { border: none; background-tint: $foreground 4%; }
        & > Static { height: 1; padding: 0 1; color: $text-muted; }
        & > Static.-error { color: $text-error; }
        &.-open { display: block; }
    }
    """
    BINDINGS = [
        # With priority, since the field has a hidden enter of its own.
        Binding("enter", "apply", "Apply", tooltip="Keep this filter.", priority=True),
        Binding("escape", "cancel", "Cancel", tooltip="Back to the filter before."),
    ]

    input = query_one(Input)
    hint = query_one("#filter-hint", LazyStatic)

    @dataclass
    class Changed(Message):
        """An expression to show now; None: none."""

        expression: Expression | None
        text: str

    @dataclass
    class Closed(Message):
        """The line was closed; the last expression stays."""

    def __init__(self, known: Mapping[str, Field], examples: str = _EXAMPLES) -> None:
        super().__init__()
        self._known = known
        self._examples = examples
        self._before = ""
        self._count = ""

    def compose(self) -> ComposeResult:
        yield Input(placeholder=self._examples, suggester=_FieldSuggester(self._known))
        yield LazyStatic(id="filter-hint")

    def open(self) -> None:
        """Show the line with what was typed last, ready to be replaced."""
        self._before = self.input.value
        self.add_class("-open")
        self.input.focus()
        self.input.action_select_all()
        self._report()

    def set(self, text: str) -> None:
        """Apply a filter as if it had been typed."""
        self.input.value = text
        self._close()

    def clear(self) -> None:
        """Forget the filter."""
        self.input.value = ""
        self._report()

    def show_count(self, count: str) -> None:
        """Show the number of matches in the hint."""
        if count != self._count:
            self._count = count
            if not self.hint.has_class("-error"):
                self._hint()

    def action_cancel(self) -> None:
        """Leave, with the filter of before."""
        self.input.value = self._before
        self._close()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._report()

    def action_apply(self) -> None:
        """Keep the filter, if it is right."""
        if not self.hint.has_class("-error"):
            self._close()

    def _close(self) -> None:
        self.remove_class("-open")
        self._report()
        self.post_message(self.Closed())

    def _report(self) -> None:
        try:
            expression = parse(self.input.value, self._known)
        except FilterError as error:
            self.hint.add_class("-error")
            self.hint.update(" " * min(error.position, 40) + f"↑ {error.message}")
            return
        self.hint.remove_class("-error")
        self._hint()
        if self.has_class("-open") and complete(self.input.value, self._known):
            return  # `corr` is probably the start of `correct`, not a word to search
        self.post_message(self.Changed(expression, self.input.value.strip()))

    def _hint(self) -> None:
        count = f"{self._count} · " if self._count else ""
        self.hint.update(f"filter: {count}⏎ apply · → complete")
