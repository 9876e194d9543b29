"""`/` on the overview: words or ids, looked for in the rows of every method; enter goes to one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from textual import on, work
from textual.app import ComposeResult
from textual.getters import query_one
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from app.keys.commands import SEARCH, bindings
from app.report.item_words import item_words
from app.runs.item_search import ItemMatch, find_items
from app.wording.text import counted
from screens.event_places import kinds_with_place, place_of
from screens.messages import SystemRequested
from screens.panels.dialog import Dialog
from screens.run_session import Session
from screens.widgets.tables.rows import ListColumn, ListSource
from screens.widgets.tables.still_table import StillTable

MOST = 200
"""Rows of a method that are listed; all are counted."""
_SHOW_EVERY = 0.2
_NOTHING = "There is nothing to find: no method has written a row yet."
_NO_MATCH = "No row of a method has all these words."
COLUMNS: Sequence[ListColumn[ItemMatch]] = (
    ListColumn("method", "method", 10, value=lambda item: kinds_with_place()[type(item.event)]),
    ListColumn("row", "row", 24, flex=True, value=lambda item: item_words(item.event)),
    ListColumn("text", "text", 30, flex=True, value=lambda item: item.excerpt),
)


class SearchScreen(Dialog[None]):
    """Goes to the place of the chosen row. While the log is read, what was found so far is listed."""

    BINDINGS = bindings(SEARCH)
    DEFAULT_CSS = """
    SearchScreen {
        & > Vertical { height: 90%; max-width: 100%; }
        & > Vertical > VerticalScroll { height: 1fr; padding: 0; }
        & Static { height: 1; padding: 0 1; color: $text-muted; }
        & StillTable { height: 1fr; }
    }
    """

    input = query_one(Input)
    line = query_one(Static)
    table = query_one(StillTable)

    def __init__(self, session: Session) -> None:
        super().__init__("Search in all methods")
        self._session = session
        self.source: ListSource[ItemMatch] = ListSource(COLUMNS, "rows")
        self._listed: list[str] = []
        """The words whose rows are listed."""
        self._go_to: list[str] | None = None
        """The words whose first row is to be opened when there is one."""

    def contents(self) -> ComposeResult:
        yield Input(placeholder="words or ids")
        yield Static(markup=False)
        yield StillTable(self.source)

    def on_mount(self) -> None:
        self.input.focus()
        self.table.can_focus = False
        self._search([])

    @on(Input.Changed)
    def _typed(self) -> None:
        words = self.input.value.split()
        self._go_to = words if self._go_to == words else None
        self._search(words)

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _search(self, words: list[str]) -> None:
        """Without words: count what there is."""
        try:
            self._find(words)
        except OSError as error:
            self.app.call_from_thread(self.line.update, f"the log cannot be read: {error}")

    def _find(self, words: list[str]) -> None:
        worker, counts, matches = get_current_worker(), Counter[str](), list[ItemMatch]()
        kinds, shown = kinds_with_place(), time.monotonic()
        for item in find_items(self._session.run_dir / "events.jsonl", kinds, words, self._session.state.seq):
            if worker.is_cancelled:
                return
            if item is not None:
                method = kinds[type(item.event)]
                counts[method] += 1
                matches += [item] if words and counts[method] <= MOST else []
            if time.monotonic() - shown > _SHOW_EVERY:
                shown = time.monotonic()
                self.app.call_from_thread(self._show, words, list(matches), counts, False)
        self.app.call_from_thread(self._show, words, matches, counts, True)

    def _show(self, words: list[str], matches: list[ItemMatch], counts: Counter[str], whole: bool) -> None:
        if words != self.input.value.split():
            return
        self.source.show(matches)
        self.table.empty = _NO_MATCH if words and whole else ""
        self.table.look_for(words)
        self.table.refresh_rows()
        self.line.update(count_words(counts, bool(words), whole))
        self._listed = words if matches or whole else self._listed
        self.refresh_bindings()
        if matches and self._go_to == words:
            self.action_accept()

    @property
    def _is_waiting(self) -> bool:
        """Whether what is typed has no rows yet."""
        return self._listed != self.input.value.split()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "accept" and self.is_mounted and self._is_waiting:
            return True
        return len(self.source) > 0 if action in ("accept", "move") else True

    def action_move(self, by: int) -> None:
        """To another row."""
        self.table.action_move(by)

    def action_accept(self) -> None:
        """Go to the row, as soon as it is listed."""
        if self._is_waiting:
            self._go_to = self.input.value.split()
            return
        match = self.source.item(self.table.cursor)
        if (place := place_of(match.event, match.offset)) is not None:
            self.dismiss()
            self.app.post_message(SystemRequested(*place))


def count_words(counts: Counter[str], searched: bool, whole: bool) -> str:
    """`3 rows: ESM 2, Pool 1`; before words are typed, in how many rows they will be looked for."""
    total = counts.total()
    if not searched and not total:
        return _NOTHING if whole else ""
    by_method = ", ".join(f"{method} {count:,}" for method, count in counts.items())
    words = f"{counted(total, 'rows')}{'' if whole else ' so far'}" + (f": {by_method}" if total else "")
    if searched and max(counts.values(), default=0) > MOST:
        words += f"; the first {MOST} of a method are listed"
    return words
