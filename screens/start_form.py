"""All fields of a new run in their sections, with value, range and help; changed by keys, searched by words."""

from __future__ import annotations

from collections.abc import Hashable

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.getters import query_one
from textual.widgets import Input, Static

from app.keys.commands import START_FORM, bindings
from app.runs.start_form import Heading, StageBox, StartForm
from app.table.column import Cell, Column, Tone
from app.wording.text import counted
from app.wording.words import STAGE_WORDS
from screens.console_screen import ConsoleScreen
from screens.panels.ask import AskScreen
from screens.widgets.key_line import KeyLine
from screens.widgets.tables.rows import RowSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

_SIGNS: dict[str, tuple[str, Tone]] = {
    "changed": ("≠", "accent"),
    "file": ("", "strong"),
    "default": ("", ""),
}


class FormSource(RowSource):
    """Headings, stages with checkboxes, and fields."""

    noun = "fields"
    columns = (
        Column("changed", "≠", 1),
        Column("field", "field", 26, flex=True),
        Column("value", "value", 16, flex=True),
        Column("takes", "takes", 20, priority=1, flex=True),
    )

    def __init__(self, form: StartForm) -> None:
        self.form = form
        self.rows = form.rows()

    def __len__(self) -> int:
        return len(self.rows)

    def cells(self, row: int) -> tuple[Cell, ...]:
        match self.rows[row]:
            case Heading(name, used):
                note = "" if used else "no stage of this run uses it"
                return Cell(""), Cell(name, "strong" if used else "dim"), Cell(""), Cell(note, "dim")
            case StageBox(name):
                box = "[x]" if name in self.form.stages else "[ ]"
                return Cell(""), Cell(f"  {box} {name}"), Cell(""), Cell(STAGE_WORDS.get(name, ""), "dim")
            case field:
                text, origin = self.form.value(field)
                sign, tone = _SIGNS[origin]
                name = field.path.rpartition(".")[2]
                return Cell(sign, "accent"), Cell(f"  {name}"), Cell(text, tone), Cell(field.allowed, "dim")

    def key(self, row: int) -> Hashable:
        item = self.rows[row]
        return item if isinstance(item, Heading | StageBox) else item.path


class FormTable(StillTable):
    """The fields. Their order is that of the configuration; there is no newest one."""

    BINDINGS = [Binding("enter", "select", "Change", tooltip="Tick the stage, or type a value of the field.")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "sort" else super().check_action(action, parameters)


class StartFormScreen(ConsoleScreen[list[str]]):
    """The result: the changes against the file, `field=value` each."""

    BINDINGS = bindings(START_FORM)
    DEFAULT_CSS = """
    StartFormScreen {
        & > #form-head { height: 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        & > Input { height: 1; border: none; padding: 0 1; background: $panel; }
        & > Input:focus { border: none; background-tint: $foreground 8%; }
        & > FormTable { height: 1fr; }
        & > #form-about { height: 6; padding: 0 1; background: $surface; border-top: solid $panel; }
    }
    """
    HELP = """\
# All fields

Every field of the configuration, section by section: its value, and which values it takes. ≠ marks what differs from
the file; values in bold are the file's, the others are defaults. Below the table stands what the field does.

`enter` changes a value: it is checked while you type. `esc` goes back to the dialog; there `enter` starts the run.
"""

    table = query_one(FormTable)
    search = query_one(Input)
    about = query_one("#form-about", Static)
    head = query_one("#form-head", Static)

    def __init__(self, form: StartForm) -> None:
        super().__init__()
        self.form = form
        self.source = FormSource(form)

    def compose_content(self) -> ComposeResult:
        yield Static(id="form-head", markup=False)
        yield Input(placeholder="/ search by words of name or help", id="form-search")
        yield FormTable(self.source, "No field has these words.")
        yield Static(id="form-about", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.table.focus()
        self._show()

    # ------------------------------------------------------------ drawing

    def _show(self) -> None:
        self.source.rows = self.form.rows(self.search.value)
        self.table.refresh_rows()
        head = Text().append(" All fields ", "bold reverse")
        head.append(f"  {self.form.path}   ").append(counted(len(self.form.changes), "changes"), "bold")
        if wrong := self.form.problem():
            head.append(f"   ✗ {wrong}", "bold")
        self.head.update(head)
        self._show_about()

    @on(VirtualTable.Highlighted)
    def _show_about(self) -> None:
        self.about.update(self._about())
        self.refresh_bindings()

    def _about(self) -> Text:
        row = self.source.rows[self.table.cursor] if self.source.rows else None
        if row is None or isinstance(row, Heading):
            return Text(" ".join(self.form.changes) or "Nothing differs from the file.")
        if isinstance(row, StageBox):
            order = ", ".join(self.form.stages) or "none"
            does = f"{row.name} {STAGE_WORDS[row.name]}. " if row.name in STAGE_WORDS else ""
            return Text(
                f"{does}space ticks a stage, or takes its tick away. They run in this order: {order}."
            )
        text = Text(f"{row.path}", "bold").append(f"   {row.help}\n", "")
        text.append(f"takes {row.allowed}\n")
        text.append(f"default {row.default}   in the file {self.form.in_file(row)}", "dim")
        value, origin = self.form.value(row)
        return text.append(f"   now {value}", "bold") if origin == "changed" else text

    # ------------------------------------------------------------ keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key does something with the row under the cursor."""
        row = self.source.rows[self.table.cursor] if self.source.rows else None
        if action == "next_choice":
            return isinstance(row, StageBox) or bool(getattr(row, "choices", ()))
        if action == "reset":
            return hasattr(row, "path") and self.form.value(row)[1] == "changed"  # type: ignore[arg-type]
        return True

    def action_search(self) -> None:
        """Type words."""
        self.search.focus()

    @on(Input.Changed, "#form-search")
    def _searched(self) -> None:
        self._show()
        self.table.action_first()

    @on(Input.Submitted, "#form-search")
    def _submitted(self) -> None:
        self.table.focus()

    def action_next_choice(self) -> None:
        """Tick, or take the next choice."""
        row = self.source.rows[self.table.cursor]
        if isinstance(row, StageBox):
            self.form.toggle_stage(row.name)
        elif not isinstance(row, Heading) and row.choices:
            value, _ = self.form.value(row)
            at = row.choices.index(value) if value in row.choices else -1
            self.form.put(row.path, row.choices[(at + 1) % len(row.choices)], self.form.in_file(row))
        self._show()

    def action_reset(self) -> None:
        """The file's value."""
        row = self.source.rows[self.table.cursor]
        if not isinstance(row, Heading | StageBox):
            self.form.put(row.path, self.form.in_file(row), self.form.in_file(row))
            self._show()

    @on(VirtualTable.Selected)
    def _change(self) -> None:
        """Tick a stage, or ask for a value."""
        row = self.source.rows[self.table.cursor]
        if isinstance(row, Heading):
            return
        if isinstance(row, StageBox):
            self.action_next_choice()
            return

        def describe(text: str) -> str:
            if problem := self.form.problem_of(row, text):
                raise ValueError(problem)
            return f"{row.help}\nTakes {row.allowed}. Default {row.default}; in the file {self.form.in_file(row)}."

        def take(text: str | None) -> None:
            if text is not None:
                self.form.put(row.path, text, self.form.in_file(row))
                self._show()

        self.app.push_screen(AskScreen(row.path, describe, self.form.value(row)[0]), take)

    def action_close(self) -> None:
        """Leave the search, else go back with the changes."""
        if self.search.has_focus:
            self.search.value = ""
            self.table.focus()
            return
        self.dismiss(self.form.changes)
