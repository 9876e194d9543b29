"""A table that stays where it is when rows come."""

from __future__ import annotations

from screens.widgets.tables.rows import RowSource
from screens.widgets.tables.virtual_table import VirtualTable


class StillTable(VirtualTable):
    """Its last row is not the newest: it never follows. `n` and `N` are free until something is looked for."""

    def __init__(self, source: RowSource, empty: str = "", *, id: str | None = None) -> None:
        super().__init__(source, empty, id=id, follow=False)

    def validate_follow(self, follow: bool) -> bool:
        """Also on its last row."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "follow":
                return False
            case "match":
                return bool(self.search_words)
            case _:
                return super().check_action(action, parameters)
