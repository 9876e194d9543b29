"""A table that stays where it is when rows come."""

from __future__ import annotations

from screens.widgets.rows import RowSource
from screens.widgets.virtual_table import VirtualTable


class StillTable(VirtualTable):
    """Its last row is not the newest: it never follows. Nothing in it is marked as found."""

    def __init__(self, source: RowSource, empty: str = "", *, id: str | None = None) -> None:
        super().__init__(source, empty, id=id, follow=False)

    def validate_follow(self, follow: bool) -> bool:
        """Also on its last row."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action in ("follow", "match") else super().check_action(action, parameters)
