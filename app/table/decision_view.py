"""Which decisions are shown, and in what order: filtered and sorted, kept up as the log grows.

A long log is read in steps of some milliseconds, so a filter over a million rows never blocks a
screen; the rows of before stay until the new ones are known. Without filter and sorting there is no list.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable

from app.state.esm import ESMState
from app.table.decision_fields import DECISION_FIELDS
from app.table.decision_rows import DecisionRows
from app.table.filter import Expression, Field, Predicate, Word, fields, parts, predicate

_CHUNK = 2_000


class DecisionView:
    """Positions (what the table counts) over decisions (what the state counts).

    `total`: decisions in the state; `complete`: whether all of them were looked at.
    """

    def __init__(self, state: ESMState) -> None:
        self.rows = DecisionRows(state)
        self.expression: Expression | None = None
        self.sort_field: str | None = None
        self.sort_reverse = False
        self.total = len(state.decisions)
        self._matches: array[int] = array("q")
        self._shown: array[int] | None = None
        self._scanned = 0
        self._test: Predicate | None = None
        self._known = -1
        self._sorted_at = 0.0
        self._sort_took = 0.0

    @property
    def complete(self) -> bool:
        """Whether every decision was looked at."""
        return self._test is None or self._scanned >= self.total

    @property
    def plain(self) -> bool:
        """Whether everything is shown in the order of the log."""
        return self._test is None and self.sort_field is None

    def filter(self, expression: Expression | None) -> None:
        """Show the rows that match; the next `update` looks for them."""
        self.expression = expression
        self._restart()

    def sort(self, field: str | None, reverse: bool) -> None:
        """Order by a field; None for the order of the log."""
        self.sort_field, self.sort_reverse = field, reverse
        self._arrange(force=True)

    def update(self, state: ESMState, budget_ms: float = 30.0) -> bool:
        """Take in what is new in `state`, for at most about `budget_ms`. Whether the rows changed."""
        before = (len(self), self.total, self._known)
        same_log = state.decisions.shares(self.rows.state.decisions)
        known = len(state.outcomes)
        if state is not self.rows.state:
            self.rows = DecisionRows(state)
        self.total = len(state.decisions)
        if not same_log or (known != self._known and self._late):
            self._restart(keep=same_log)
        elif self._test is not None:
            self._test = self._predicate()
        self._known = known
        self._cut()
        self._scan(budget_ms)
        self._arrange()
        return not same_log or before != (len(self), self.total, self._known)

    def __len__(self) -> int:
        return self.total if self._shown is None else len(self._shown)

    def decision(self, position: int) -> int:
        """The decision at a position."""
        return position if self._shown is None else self._shown[position]

    def find(self, decision: int) -> int | None:
        """Where a decision stands, if it is shown."""
        if self._shown is None:
            return decision if 0 <= decision < self.total else None
        if self.sort_field is None:
            at = bisect_left(self._shown, decision)
            return at if at < len(self._shown) and self._shown[at] == decision else None
        try:
            return self._shown.index(decision)
        except ValueError:
            return None

    # ------------------------------------------------------------ finding

    @property
    def _late(self) -> bool:
        """Whether what is shown depends on outcomes, which come after the rows."""
        used: dict[str, Field] = dict(fields(self.expression))
        if self.sort_field is not None:
            used[self.sort_field] = DECISION_FIELDS[self.sort_field]
        words = any(isinstance(part, Word) for part in parts(self.expression))
        return words or any(field.late for field in used.values())

    def _predicate(self) -> Predicate | None:
        return None if self.expression is None else predicate(self.expression, self.rows)

    def _restart(self, keep: bool = False) -> None:
        self._test = self._predicate()
        self._matches = array("q")
        self._scanned = 0
        if not keep:
            self._shown = None if self.plain else array("q")

    def _cut(self) -> None:
        """A state of an earlier moment has fewer decisions."""
        if self._shown and not self.complete:
            self._shown = array("q", (row for row in self._shown if row < self.total))
        if self._scanned > self.total:
            self._scanned = self.total
            del self._matches[bisect_left(self._matches, self.total) :]

    def _scan(self, budget_ms: float) -> None:
        test = self._test
        if test is None:
            self._scanned = self.total
            return
        deadline = time.perf_counter() + budget_ms / 1000
        while self._scanned < self.total:
            end = min(self._scanned + _CHUNK, self.total)
            self._matches.extend(row for row in range(self._scanned, end) if test(row))
            self._scanned = end
            if time.perf_counter() > deadline:
                break

    def _arrange(self, force: bool = False) -> None:
        """Order the matching rows. A long list is sorted again at most for a tenth of the time."""
        if self.plain:
            self._shown = None
            return
        if not self.complete and self._shown:
            return
        matches = range(self.total) if self._test is None else self._matches
        if self.sort_field is None:
            self._shown = array("q", matches)
            return
        now = time.perf_counter()
        shrunk = self._shown is not None and len(self._shown) > self.total
        if not force and self._shown and not shrunk and now - self._sorted_at < 10 * self._sort_took:
            return
        self._shown = self._ordered(matches)
        self._sorted_at = time.perf_counter()
        self._sort_took = self._sorted_at - now

    def _ordered(self, matches: Iterable[int]) -> array[int]:
        get = self.rows.getter(self.sort_field or "seq")

        def key(row: int) -> tuple[bool, object]:
            value = get(row)
            missing = value is None or value != value
            return (not missing, 0 if missing else value)

        return array("q", sorted(matches, key=key, reverse=self.sort_reverse))
