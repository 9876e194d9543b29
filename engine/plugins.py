"""Methods of other packages: what an installed package registers as entry points, beside the built-in methods.

Five groups, one for each table of built-in methods: `steer_tui.sections` (a `MethodSections`, with its stages),
`steer_tui.events` (a module of events), `steer_tui.states` (a `MethodState`, with its page), `steer_tui.comparisons` (a
`MethodReader`) and `steer_tui.what_ifs` (what answers its what-ifs). See engine/README.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from engine.errors import SteerError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def plugins(group: str) -> dict[str, Any]:
    """What installed packages register in the group `steer_tui.<group>`, by name. Raises SteerError."""
    from importlib.metadata import entry_points  # takes a while, and not before the first paint

    points = sorted(entry_points(group=f"steer_tui.{group}"), key=lambda point: point.name)
    return {point.name: _load(point) for point in points}


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise SteerError(
            what=f"the method `{point.name}` of another package cannot be loaded: {type(error).__name__}: {error}",
            where=f"entry point {point.group}: {point.value}",
            hint="fix or uninstall that package",
        ) from error
