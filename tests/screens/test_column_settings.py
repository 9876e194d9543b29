"""The settings of the columns that no method's page has: label, width, side, priority, and the words of its header.
After a change that is meant: `pytest tests/screens/test_column_settings.py --snapshot-update`, and read the
difference."""

from __future__ import annotations

from collections.abc import Iterator

from syrupy.assertion import SnapshotAssertion

from app.compared.columns import ITEMS, METHODS
from app.swept.columns import COLUMNS as SETTINGS
from app.table.decision_fields import DECISION_FIELDS
from screens.notes.screen import _COLUMNS as NOTES
from screens.notes.screen import _RUN as RUN_OF_A_NOTE
from screens.panels.search import COLUMNS as FOUND
from screens.runs.columns import COLUMNS as RUNS
from screens.start_form import FormSource
from tests.page_text import TextFile, column_line


def lines() -> Iterator[str]:
    for name, columns in (
        ("methods compared", METHODS), ("items compared", ITEMS), ("settings of a sweep", SETTINGS), ("runs", RUNS),
        ("notes", [RUN_OF_A_NOTE, *NOTES]), ("found", FOUND), ("all fields", FormSource.columns),
    ):  # fmt: skip
        yield f"=== {name}"
        yield from map(column_line, columns)
    yield "=== fields of decisions"
    for field in DECISION_FIELDS.values():
        yield f"{field.name} {field.kind}{' late' if field.late else ''}: {field.help}"
        if field.column is not None:
            yield f"  {column_line(field.column)}"


def test_the_settings_of_columns(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(lines()) + "\n" == snapshot(extension_class=TextFile)
