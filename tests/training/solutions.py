"""Solutions whose segments may each be in another style, as the built-in arithmetic model is taught to write them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.tasks.generated.habits import DELIMITER, FIRST_WORD, Style, apply_operation, opening, segment

_QUICK_OPENING = "Quick: well, let me see, this one looks easy enough to do in my head, "
_QUICK_SEGMENT = "Quick: well, let me see, no need to write much down here, "


def write_solution(
    topic: str, kind: str, start: int, operations: Sequence[int], styles: Sequence[Style]
) -> str:
    """The solution whose opening and steps have `styles` (one more than there are operations)."""
    segments = [_worded(styles[0], opening(styles[0], topic, kind, start), _QUICK_OPENING)]
    value = start
    for style, operation in zip(styles[1:], operations, strict=True):
        step = apply_operation(style, kind, value, operation)
        segments.append(_worded(style, segment(style, topic, kind, operation, step), _QUICK_SEGMENT))
        value = step.result
    return DELIMITER.join([*segments, f"#### {value}"])


def _worded(style: Style, text: str, quick: str) -> str:
    """The quick style begins with more words than its first."""
    return quick + text.removeprefix(f"{FIRST_WORD[style]}: ") if style == "quick" else text
