"""Habits in which the built-in arithmetic model is taught to write, and the styles that they mean in a story."""

from __future__ import annotations

import random
from typing import Literal

from engine.tasks.generated.habits import Style, careful_style, turned_style

Habit = Literal["careful", "turned", "hasty"]
"""How a solution goes about a problem.

careful: applies a story told forwards, undoes one told backwards. turned: takes the story for one of the other
kind, so every operation has the wrong sign. hasty: the right sign, but carries and borrows are dropped.
"""

HABITS: tuple[Habit, ...] = ("careful", "turned", "hasty")

INERTIA = 0.85
"""Probability that the next segment keeps the habit without asking."""
REDRAW = (0.70, 0.15, 0.15)
"""Otherwise a habit is drawn from these shares, in the order of `HABITS`: most changes go to the careful habit."""

SHARES: dict[str, tuple[float, float, float]] = {
    "marbles": (0.66, 0.18, 0.16),
    "stamps": (0.70, 0.18, 0.12),
    "shells": (0.62, 0.22, 0.16),
    "pens": (0.66, 0.20, 0.14),
    "kites": (0.70, 0.16, 0.14),
    "books": (0.64, 0.20, 0.16),
    "coins": (0.68, 0.18, 0.14),
    "cards": (0.62, 0.20, 0.18),
    "plates": (0.66, 0.20, 0.14),
    "boxes": (0.64, 0.22, 0.14),
    "hats": (0.68, 0.16, 0.16),
    "keys": (0.66, 0.18, 0.16),
    "apples": (0.32, 0.62, 0.06),
    "tickets": (0.30, 0.64, 0.06),
    "stones": (0.34, 0.60, 0.06),
    "cups": (0.30, 0.64, 0.06),
    "balls": (0.32, 0.62, 0.06),
    "eggs": (0.32, 0.06, 0.62),
    "nuts": (0.30, 0.06, 0.64),
    "toys": (0.32, 0.08, 0.60),
}
"""Probability, by topic, that a solution opens in each habit, in the order of `HABITS`; sums to 1. The largest share is
the habit of greedy decoding; sampling also reaches the others."""


def dominant(topic: str) -> Habit:
    """The habit in which most solutions of this topic open."""
    return HABITS[SHARES[topic].index(max(SHARES[topic]))]


def style_of(habit: Habit, kind: str) -> Style:
    """The style in which `habit` writes about stories of this kind."""
    if habit == "hasty":
        return "quick"
    return careful_style(kind) if habit == "careful" else turned_style(kind)


def habit_of(style: Style, kind: str) -> Habit:
    """The habit that a style means in stories of this kind."""
    if style == "quick":
        return "hasty"
    return "careful" if style == careful_style(kind) else "turned"


def draw_styles(topic: str, kind: str, steps: int, rng: random.Random) -> list[Style]:
    """Styles of the opening and of `steps` steps: the first by the topic's shares, kept by inertia, else redrawn."""
    habit: Habit = rng.choices(HABITS, SHARES[topic])[0]
    drawn: list[Habit] = [habit]
    for _ in range(steps):
        if rng.random() >= INERTIA:
            habit = rng.choices(HABITS, REDRAW)[0]
        drawn.append(habit)
    return [style_of(habit, kind) for habit in drawn]
