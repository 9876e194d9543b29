"""`ctl decisions`: ESM's decisions that a filter names, in the filter language of the console, of one or more runs."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.ctl.events import poll_all
from app.ctl.output import DONE, write_form
from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS
from app.table.decision_rows import DecisionRows
from app.table.filter import Expression, predicate
from app.table.filter_parser import FilterError, parse
from app.wording.text import without_controls
from engine.errors import RunError
from engine.events import DecisionTaken, EntryPicked, ExampleEvaluated, PairMined, StageBegunAgain
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from engine.spreadsheet import cell

_NAMES = tuple(DECISION_FIELDS)
COLUMNS = (*_NAMES, "run", "stale")
"""`run` is the run's name and id; `stale`: the decision is of an earlier attempt, as the stage is to be done again."""
_NEEDED = DecisionTaken | ExampleEvaluated | StageBegunAgain | PairMined | EntryPicked
"""What a decision's fields come from; the last two name entries in logs of older versions."""


def decisions(runs: Sequence[RunDirectory], filter_text: str, as_json: bool) -> int:
    """Write the decisions of the runs, one after the other, as CSV or JSON lines. Raises RunError for a filter that is
    wrong."""
    expression = _parsed(filter_text)
    if not as_json:
        sys.stdout.write(_csv(COLUMNS))
    for values in _rows(runs, expression):
        if as_json:
            write_form("decision", dict(zip(COLUMNS, values, strict=True)))
        else:
            sys.stdout.write(_csv(["" if value is None else value for value in values]))
    sys.stdout.flush()
    return DONE


def _parsed(filter_text: str) -> Expression | None:
    try:
        return parse(filter_text, DECISION_FIELDS)
    except FilterError as error:
        raise RunError(
            what=str(error),
            where=f"--filter {filter_text}",
            hint="press ? on the ESM screen: it lists the fields",
        ) from error


def _rows(runs: Iterable[RunDirectory], expression: Expression | None) -> Iterator[list[Any]]:
    """The fields' values of each decision; None for a figure that it does not have."""
    for run in runs:
        rows, numbers = _matching(run, expression)
        getters = [rows.getter(name) for name in _NAMES]
        name, stale = "/".join(run.path.absolute().parts[-2:]), _stale(run)
        for row in numbers:
            values = [get(row) for get in getters]
            yield [*(None if value != value else value for value in values), name, stale]


def _stale(run: RunDirectory) -> bool:
    stage = run.read().stages.get("eval")
    return stage is not None and stage.stale


def _matching(run: RunDirectory, expression: Expression | None) -> tuple[DecisionRows, Iterator[int]]:
    state = _folded(run)
    rows = DecisionRows(state.esm)
    test = predicate(expression, rows) if expression is not None else lambda row: True
    return rows, (row for row in range(len(state.esm.decisions)) if test(row))


def _folded(directory: RunDirectory) -> RunState:
    """The state after what is needed of the log."""
    state = RunState()
    for entry in poll_all(LogReader(directory.events)):
        if isinstance(entry.event, _NEEDED):
            state.apply(*entry)
    return state


def _csv(values: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(map(cell, values))
    return " ".join(without_controls(line.getvalue()).splitlines()) + "\n"
