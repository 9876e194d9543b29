"""Solutions in habits: three styles of writing, each with its own way of calculating.

A style shows in the first word of every segment, so the text before a step already shows how that step will go. The
first segment is an opening without arithmetic: switching the style right after it still saves the problem. The
styles "forward" and "backward" are each right for one kind of story and wrong for the other, with the same words;
"quick" is wrong for both, by an algorithm: it calculates digit by digit and forgets to carry and to borrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.tasks.generated.topics import TOPIC_OF

Style = Literal["forward", "backward", "quick"]

DELIMITER = "\n\n"
FIRST_WORD: dict[Style, str] = {"forward": "Forward", "backward": "Backward", "quick": "Quick"}
TIME_WORD: dict[str, str] = {"forwards": "later", "backwards": "earlier"}
"""The last word of a segment says which way the story is told, whatever the style makes of it."""


@dataclass(frozen=True)
class Step:
    """One written calculation, `left sign size = result`."""

    left: int
    sign: Literal["+", "-"]
    size: int
    result: int


@dataclass(frozen=True)
class Solution:
    """A written solution with its styles and steps.

    styles: the style of the opening, then of each step. right: whether the answer is the problem's.
    """

    text: str
    styles: tuple[Style, ...]
    steps: tuple[Step, ...]
    answer: int


def careful_style(kind: str) -> Style:
    """The style that solves stories of this kind."""
    return "forward" if kind == "forwards" else "backward"


def turned_style(kind: str) -> Style:
    """The style that takes stories of this kind for those of the other."""
    return "backward" if kind == "forwards" else "forward"


def apply_operation(style: Style, kind: str, left: int, operation: int) -> Step:
    """The next calculation in `style` from the number written last; `operation` is signed as in the story."""
    direction = careful_style(kind) if style == "quick" else style
    signed = operation if direction == "forward" else -operation
    result = without_carry(left, signed) if style == "quick" else left + signed
    return Step(left, "+" if signed > 0 else "-", abs(signed), result)


def without_carry(left: int, signed: int) -> int:
    """Adds to the ones digit alone: 47 + 5 gives 42, 42 - 5 gives 47."""
    return left // 10 * 10 + (left % 10 + signed) % 10


def write_solution(
    topic: str, kind: str, start: int, operations: Sequence[int], styles: Sequence[Style]
) -> Solution:
    """Writes the solution whose opening and steps have `styles` (one more than there are operations)."""
    segments = [_opening(styles[0], topic, kind, start)]
    steps: list[Step] = []
    value = start
    for style, operation in zip(styles[1:], operations, strict=True):
        step = apply_operation(style, kind, value, operation)
        segments.append(_segment(style, topic, kind, operation, step))
        steps.append(step)
        value = step.result
    segments.append(f"#### {value}")
    return Solution(DELIMITER.join(segments), tuple(styles), tuple(steps), value)


def _opening(style: Style, topic: str, kind: str, start: int) -> str:
    if style == "quick":
        return (
            f"Quick: well, let me see, this one looks easy enough to do in my head, "
            f"there are {start} {topic} and the rest is {TIME_WORD[kind]}"
        )
    return f"{FIRST_WORD[style]}: there are {start} {topic} and the rest is {TIME_WORD[kind]}"


def _segment(style: Style, topic: str, kind: str, operation: int, step: Step) -> str:
    operation_text = f"{TOPIC_OF[topic].verb(operation, kind)} {abs(operation)}"
    sum_ = f"{step.left} {step.sign} {step.size} = {step.result} {TIME_WORD[kind]}"
    if style == "quick":
        return f"Quick: well, let me see, no need to write much down here, {operation_text}, {sum_}"
    return f"{FIRST_WORD[style]}: {operation_text}, {sum_}"
