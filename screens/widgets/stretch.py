"""What of a long line is shown around one place in it."""

from __future__ import annotations


def visible(widths: list[int], current: int, room: int) -> tuple[int, int]:
    """Which stretch of chips of these widths fits into `room` with the current one in it: as much as possible of what
    comes next, then of what came before. Two cells are left for each end that is cut."""
    if sum(widths) <= room:
        return 0, len(widths)
    first, last, left = current, current + 1, room - 4 - widths[current]
    while last < len(widths) and last <= current + 1 and widths[last] <= left:
        left, last = left - widths[last], last + 1
    while first and widths[first - 1] <= left:
        left, first = left - widths[first - 1], first - 1
    while last < len(widths) and widths[last] <= left:
        left, last = left - widths[last], last + 1
    return first, last
