"""More than two runs: each beside the first, and any two of them chosen to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one
from textual.widgets import Static

from app.blocks.model_text import one_line
from app.compared.words import NO_COMMON_ITEMS, finding
from app.keys.commands import COMPARE_PAIRS, bindings
from app.runs.run_names import names_of
from app.table.column import Cell, ListColumn, Tone
from engine.comparison.comparison import Comparison, compare_runs
from engine.errors import SteerError
from screens.console_screen import ConsoleScreen
from screens.messages import CompareRequested
from screens.widgets.key_line import KeyLine
from screens.widgets.tables.column_layout import fitted
from screens.widgets.tables.rows import ListSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable

_BASE = "A: the others are compared with it"
_READING = "reading …"
_MOST_NAME = 40


@dataclass(frozen=True)
class Beside:
    """A run beside A. `name`: among the runs that are compared; `changed`: its fields that differ; `findings`: how many
    methods are better, worse or unclear."""

    path: Path
    name: str
    changed: str = _READING
    findings: str = ""
    is_base: bool = False


def _changed(row: Beside) -> Cell:
    tone: Tone = "strong" if row.is_base else "dim" if row.changed == _READING else ""
    return Cell(row.changed, tone)


COLUMNS: Sequence[ListColumn[Beside]] = (
    ListColumn("name", "run", 20, priority=0, value=lambda r: r.name),
    ListColumn("changed", "changed fields, A → this run", 24, priority=2, flex=True, value=lambda r: r, show=_changed),
    ListColumn("found", "methods", 24, priority=1, flex=True, value=lambda r: r.findings,
               help="how many are better or worse than in A, by interval and p"),
)  # fmt: skip


class PairsScreen(ConsoleScreen[None]):
    """The runs that were marked, each compared with the first of them or with another that is chosen."""

    CSS_PATH = "screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPARE_PAIRS)
    HELP = """\
# Several runs compared

Each marked run beside run A: which fields differ, and in how many methods it is better or worse than A. `=` makes the
run under the cursor A. `enter` compares A and the run under the cursor in full.
"""

    table = query_one(StillTable)
    title_line = query_one("#compare-title", Static)

    def __init__(self, runs: Sequence[Path]) -> None:
        super().__init__()
        self.runs = list(runs)
        self.base = self.runs[0]
        self._names = dict(zip(self.runs, names_of(self.runs), strict=True))
        self.source: ListSource[Beside] = ListSource(COLUMNS, "runs")

    def compose_content(self) -> ComposeResult:
        yield Static(id="compare-title", markup=False)
        yield StillTable(self.source)
        yield KeyLine()

    def on_mount(self) -> None:
        self.table.focus()
        self._show_base()

    def _show_base(self) -> None:
        title = Text(" compare ", "bold reverse", no_wrap=True)
        base = Beside(self.base, self._names[self.base], _BASE, is_base=True)
        self.title_line.update(title.append("  A ", "bold").append(one_line(base.name)))
        self._show([base if path == self.base else Beside(path, self._names[path]) for path in self.runs])
        self._read(self.base)

    def _show(self, rows: Sequence[Beside]) -> None:
        self.source.show(list(rows), fitted(COLUMNS, "name", self._names.values(), _MOST_NAME))
        self.table.refresh_rows()

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _read(self, base: Path) -> None:
        for path in self.runs:
            if path == base:
                continue
            try:
                row = _beside(path, self._names[path], compare_runs(base, path))
            except (SteerError, OSError) as error:
                row = Beside(path, self._names[path], one_line(str(error)))
            self.app.call_from_thread(self._take, base, row)

    def _take(self, base: Path, row: Beside) -> None:
        if base == self.base:
            rows = [self.source.item(at) for at in range(len(self.source))]
            self._show([row if known.path == row.path else known for known in rows])

    @on(VirtualTable.Selected)
    def _open(self) -> None:
        chosen = self.source.item(self.table.cursor).path
        if chosen == self.base:
            self.notify("This is run A itself: choose another one.")
        else:
            self.post_message(CompareRequested([self.base, chosen]))

    def action_make_base(self) -> None:
        """Compare the others with the run under the cursor."""
        self.base = self.source.item(self.table.cursor).path
        self._show_base()

    def action_back(self) -> None:
        """Close."""
        self.dismiss()


def _beside(path: Path, name: str, comparison: Comparison) -> Beside:
    fields = [
        f"{field.name} {field.a or 'not there'} → {field.b or 'not there'}" for field in comparison.changed
    ]
    findings = Counter(finding(arm) for arm in comparison.arms)
    words = {"B better": "better", "A better": "worse", "unclear": "unclear", "equal": "equal"}
    words[NO_COMMON_ITEMS] = "without common items"
    counts = [f"{findings[name]} {word}" for name, word in words.items() if findings[name]]
    return Beside(
        path, name, one_line(", ".join(fields)) or "none", ", ".join(counts) or "nothing to compare"
    )
