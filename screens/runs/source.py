"""The rows of the list of runs: filtered, ordered, under the headings of sweeps, and which of them are marked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

from app.runs.run_list import RunRow, named
from app.runs.run_names import field_name
from app.table.column import Cell, cell_of
from app.table.filter import Expression, Value, words
from engine.sweep.sweep import is_folder_name
from screens.runs.columns import COLUMNS, RunColumn
from screens.runs.groups import Group
from screens.runs.run_filter import kept
from screens.widgets.tables.column_layout import Column, fitted
from screens.widgets.tables.rows import RowSource, sort_key

_MOST_NAME = 40
"""Columns for names."""


class RunSource(RowSource):
    """Runs as rows; the key of a row is the run's folder, of a heading its sweep."""

    noun = "runs"

    def __init__(self) -> None:
        self._mark_column = RunColumn("mark", "", 1, help="marked with m", show=self._mark)
        self.rows: list[RunRow] = []
        self.marked: list[Path] = []
        """In the order in which they were marked."""
        self.expression: Expression | None = None
        self.unfolded: set[Path] = set()
        """Sweeps whose runs are listed."""
        self._order: Callable[[RunRow], Value] | None = None
        self._reverse = False
        self._shown: list[RunRow | Group] = []
        self._columns = self._fitting()
        self.columns: Sequence[Column] = self._columns

    def show_runs(self, rows: list[RunRow]) -> None:
        """Show these from now on; a run that was removed is no longer marked."""
        self.rows = rows
        there = {row.path for row in rows}
        self.marked = [path for path in self.marked if path in there]
        self.arrange()

    def arrange(self) -> None:
        """Make the rows anew, after the filter or the order have changed. Each heading stands where the first of its
        runs stood; runs without one are named together, too."""
        matches = kept(self.rows, self.expression)
        by_heading = _gathered(matches, self._heading_of)
        names = {row.path: row for runs in by_heading.values() for row in named(runs)}
        matches = [names[row.path] for row in matches]
        if (order := self._order) is not None:
            matches.sort(key=lambda row: sort_key(order(row)), reverse=self._reverse)
        by_place = _gathered(matches, lambda row: self._heading_of(row) or row.path)
        self._shown = [item for runs in by_place.values() for item in self._with_heading(runs)]
        self.columns = self._columns = self._fitting()

    def _heading_of(self, row: RunRow) -> Path | None:
        """What it stands under: the folder of its sweep, which has no heading in another order."""
        return None if self._order is not None else sweep_of(row)

    def _with_heading(self, runs: list[RunRow]) -> list[RunRow | Group]:
        """A heading and its runs, or a run without one. While a filter is on, all of a sweep's runs that match are
        listed."""
        if (sweep := self._heading_of(runs[0])) is None:
            return [*runs]
        folded = sweep not in self.unfolded and self.expression is None
        group = Group(_sweep_name(runs[0]), tuple(runs), sweep, folded)
        runs.sort(key=lambda run: run.record.run_id)
        return [group] if folded else [group, *runs]

    def _fitting(self) -> list[RunColumn]:
        """The columns; that of the names is as wide as these names are."""
        names = [item.title for item in self._shown]
        return [self._mark_column, *fitted(COLUMNS, "name", names, _MOST_NAME)]

    @property
    def runs(self) -> list[RunRow]:
        """The runs that are listed, in their order."""
        return [row for row in self._shown if isinstance(row, RunRow)]

    def run(self, row: int) -> RunRow | None:
        """The run on a row; None on a heading."""
        item = self._shown[row] if 0 <= row < len(self._shown) else None
        return item if isinstance(item, RunRow) else None

    def group(self, row: int) -> Group | None:
        """The heading on a row; None on a run."""
        item = self._shown[row] if 0 <= row < len(self._shown) else None
        return item if isinstance(item, Group) else None

    def sweep(self, row: int) -> Path | None:
        """The folder of the sweep whose heading stands on a row."""
        group = self.group(row)
        return None if group is None else group.sweep

    def toggle_fold(self, sweep: Path) -> None:
        """List the runs of a sweep, or hide them again."""
        self.unfolded ^= {sweep}
        self.arrange()

    def toggle_mark(self, path: Path) -> None:
        """Mark a run, or take its mark away."""
        if path in self.marked:
            self.marked.remove(path)
        else:
            self.marked.append(path)

    # ------------------------------------------------------------ what the table asks

    def __len__(self) -> int:
        return len(self._shown)

    def cells(self, row: int) -> tuple[Cell, ...]:
        item = self._shown[row]
        if isinstance(item, Group):
            return tuple(item.cell(column.key) for column in self._columns)
        return tuple(cell_of(column.show(item)) for column in self._columns)

    def _mark(self, row: RunRow) -> Cell:
        if row.path not in self.marked:
            return Cell("")
        place = self.marked.index(row.path) + 1
        return Cell(str(place) if place < 10 else "+", "accent")

    def key(self, row: int) -> Hashable:
        item = self._shown[row]
        return item.path if isinstance(item, RunRow) else f"group {item.sweep}"

    def sort(self, column: str | None, reverse: bool) -> None:
        self._order = next((known.order for known in COLUMNS if known.key == column), None)
        self._reverse = reverse
        self.arrange()

    @property
    def words(self) -> list[str]:
        return words(self.expression)


def _gathered(
    rows: Iterable[RunRow], key: Callable[[RunRow], Path | None]
) -> dict[Path | None, list[RunRow]]:
    """The rows that have a key in common, in their order."""
    gathered: dict[Path | None, list[RunRow]] = {}
    for row in rows:
        gathered.setdefault(key(row), []).append(row)
    return gathered


def sweep_of(row: RunRow) -> Path | None:
    """The folder of the sweep that a run belongs to."""
    point = row.record.sweep
    if point is None or not is_folder_name(point.folder):  # a record may come from elsewhere
        return None
    return row.path.parent / point.folder


def _sweep_name(row: RunRow) -> str:
    point = row.record.sweep
    return f"sweep {' '.join(map(field_name, point.setting))}" if point is not None else "sweep"
