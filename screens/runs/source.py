"""The rows of the list of runs: filtered, ordered, in groups, and which of them are marked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from app.runs.run_list import RunRow
from app.table.column import Cell, ListColumn
from app.table.filter import Expression, words
from app.text import counted
from engine.sweep.sweep import is_folder_name
from screens.runs.columns import COLUMNS, difference_cell
from screens.runs.fields import ORDERS, gain, headline, short_value
from screens.runs.run_filter import kept
from screens.widgets.column_layout import Column
from screens.widgets.rows import RowSource, sort_key

Grouping: TypeAlias = Literal["", "name", "tag"]
GROUPINGS: tuple[Grouping, ...] = ("", "name", "tag")


@dataclass(frozen=True)
class Group:
    """The heading over the runs of one name, tag or sweep. `sweep`: that one's folder; `folded`: its runs are not
    listed."""

    name: str
    runs: tuple[RunRow, ...]
    sweep: Path | None = None
    folded: bool = False

    @property
    def best(self) -> RunRow | None:
        """The run with the greatest gain, if any has a result."""
        return max(
            (run for run in self.runs if gain(run) is not None), key=lambda r: gain(r) or 0.0, default=None
        )


class RunSource(RowSource):
    """Runs as rows; the key of a row is the run's folder, of a heading its name."""

    noun = "runs"

    def __init__(self) -> None:
        mark = ListColumn("mark", "", 1, priority=0, value=lambda r: r, show=self._mark, help="marked with m")
        self._columns: list[ListColumn[RunRow]] = [mark, *COLUMNS]
        self.columns: Sequence[Column] = list(self._columns)
        self.rows: list[RunRow] = []
        self.marked: list[Path] = []
        self.expression: Expression | None = None
        self.archived = False
        self.grouping: Grouping = ""
        self.unfolded: set[Path] = set()
        """Sweeps whose runs are listed."""
        self._sort: tuple[str | None, bool] = (None, False)
        self._shown: list[RunRow | Group] = []

    def show_runs(self, rows: list[RunRow]) -> None:
        """Show these from now on; a run that is gone is marked no more."""
        self.rows = rows
        there = {row.path for row in rows}
        self.marked = [path for path in self.marked if path in there]
        self.arrange()

    def arrange(self) -> None:
        """Make the rows anew, after the filter, the order or the groups have changed."""
        listed = [row for row in self.rows if self.archived or not row.label.archived]
        found = kept(listed, self.expression)
        column, reverse = self._sort
        order = ORDERS.get(column or "")
        if order is not None:
            found.sort(key=lambda row: sort_key(order(row)), reverse=reverse)
        if self.grouping:
            self._shown = self._grouped(found)
        else:
            self._shown = list(found) if order is not None else self._with_sweeps(found)

    def _with_sweeps(self, found: Sequence[RunRow]) -> list[RunRow | Group]:
        """The runs of a sweep under its heading, where the newest of them stood. While a filter is on, all that match
        are listed."""
        of_sweep: dict[Path, list[RunRow]] = {}
        for row in found:
            if (folder := sweep_of(row)) is not None:
                of_sweep.setdefault(folder, []).append(row)
        shown: list[RunRow | Group] = []
        for row in found:
            folder = sweep_of(row)
            runs = of_sweep.pop(folder, []) if folder is not None else [row]
            if folder is not None and runs:
                folded = folder not in self.unfolded and self.expression is None
                shown.append(Group(_sweep_name(runs[0]), tuple(runs), folder, folded))
                runs = [] if folded else sorted(runs, key=lambda run: run.record.run_id)
            shown += runs
        return shown

    def _grouped(self, found: list[RunRow]) -> list[RunRow | Group]:
        groups: dict[str, list[RunRow]] = {}
        for row in found:
            names = (row.record.name,) if self.grouping == "name" else (row.label.tags or ("no tag",))
            groups.setdefault(names[0], []).append(row)
        shown: list[RunRow | Group] = []
        for name, rows in groups.items():
            shown += [Group(name, tuple(rows)), *rows]
        return shown

    @property
    def hidden(self) -> int:
        """How many runs are archived and not listed."""
        return 0 if self.archived else sum(row.label.archived for row in self.rows)

    @property
    def runs(self) -> list[RunRow]:
        """The runs that are listed, in their order."""
        return [row for row in self._shown if isinstance(row, RunRow)]

    def run(self, row: int) -> RunRow | None:
        """The run on a row; None on a heading."""
        item = self._shown[row] if 0 <= row < len(self._shown) else None
        return item if isinstance(item, RunRow) else None

    def sweep(self, row: int) -> Path | None:
        """The folder of the sweep whose heading stands on a row."""
        item = self._shown[row] if 0 <= row < len(self._shown) else None
        return item.sweep if isinstance(item, Group) else None

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
            return tuple(self._heading(item, column.key) for column in self._columns)
        return tuple(_cell(column.show(column.value(item))) for column in self._columns)

    def _heading(self, group: Group, column: str) -> Cell:
        best = group.best
        verdict = None if best is None else headline(best)
        match column:
            case "name":
                sign = "" if group.sweep is None else "▸ " if group.folded else "▾ "
                return Cell(f"{sign}{group.name}", "strong")
            case "state":
                working = sum(run.working for run in group.runs)
                count = counted(len(group.runs), "runs")
                return Cell(f"▶ {count}", "good") if working else Cell(f"— {count}", "dim")
            case "result" if verdict is not None:
                return Cell(short_value(verdict), "strong")
            case "difference" if verdict is not None:
                return difference_cell(verdict)
            case "changes" if group.sweep is not None:
                return Cell("enter shows the sweep", "dim")
            case "id" if best is not None:
                return Cell("best result of these", "dim")
            case _:
                return Cell("")

    def _mark(self, row: RunRow) -> Cell:
        if row.path not in self.marked:
            return Cell("")
        place = self.marked.index(row.path) + 1
        return Cell(str(place) if place < 10 else "+", "accent")

    def key(self, row: int) -> Hashable:
        item = self._shown[row]
        return item.path if isinstance(item, RunRow) else f"group {item.sweep or item.name}"

    def find(self, key: Hashable) -> int | None:
        return next((row for row in range(len(self)) if self.key(row) == key), None)

    def sort(self, column: str | None, reverse: bool) -> None:
        self._sort = (column, reverse)
        self.arrange()

    @property
    def words(self) -> list[str]:
        return words(self.expression)


def _cell(shown: str | Cell) -> Cell:
    return shown if isinstance(shown, Cell) else Cell(shown)


def sweep_of(row: RunRow) -> Path | None:
    """The folder of the sweep that a run belongs to."""
    point = row.record.sweep
    if point is None or not is_folder_name(point.folder):  # a record may come from elsewhere
        return None
    return row.path.parent / point.folder


def _sweep_name(row: RunRow) -> str:
    point = row.record.sweep
    fields = " ".join(point.setting) if point is not None else ""
    return f"sweep {fields}"
