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


def careful_solution(topic: str, kind: str, start: int, operations: Sequence[int]) -> str:
    """The right solution: its opening, a segment a step, the answer."""
    style, value = careful_style(kind), start
    segments = [opening(style, topic, kind, start)]
    for operation in operations:
        step = apply_operation(style, kind, value, operation)
        segments.append(segment(style, topic, kind, operation, step))
        value = step.result
    return DELIMITER.join([*segments, f"#### {value}"])


def opening(style: Style, topic: str, kind: str, start: int) -> str:
    """The first segment, without arithmetic."""
    return f"{FIRST_WORD[style]}: there are {start} {topic} and the rest is {TIME_WORD[kind]}"


def segment(style: Style, topic: str, kind: str, operation: int, step: Step) -> str:
    """The segment of one step."""
    operation_text = f"{TOPIC_OF[topic].verb(operation, kind)} {abs(operation)}"
    sum_ = f"{step.left} {step.sign} {step.size} = {step.result} {TIME_WORD[kind]}"
    return f"{FIRST_WORD[style]}: {operation_text}, {sum_}"
