"""When a memory note is injected, and what it says (spec SLSM, the four modes)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from engine.config.slsm import Mode
from engine.slsm.note import flat_note, structured_note
from engine.slsm.state import PlanMode, SemanticState, State

MODES: tuple[Mode, ...] = get_args(Mode)
DETECTING: frozenset[Mode] = frozenset(("on_detection", "remind_on_detection"))
"""Modes that answer a second time where the first answer goes against the memory."""
REMINDER = (
    "Remember what I have told you earlier in this conversation, and keep to every instruction that I gave."
)
"""The note of `reminder` and `remind_on_detection`: what can be said without a memory, always the same."""
NOTHING = "the memory has nothing for a note"
"""Why no mode gives a note: there are no constraints, facts or versions, or the text is empty."""


@dataclass(frozen=True)
class Decision:
    """Whether the first prompt holds the note, and why."""

    inject: bool
    reason: str


def decide(mode: Mode, state: State, note: str, risk_modes: Collection[PlanMode]) -> Decision:
    """Whether to inject the note before the first answer."""
    plan = state.plan
    if mode == "baseline":
        return Decision(False, "no controller")
    if mode == "reminder":
        return Decision(True, "the same note in every conversation")
    if mode == "never":
        return Decision(False, "the controller only watches")
    if mode in DETECTING:
        return Decision(False, "the first answer comes without a note")
    if not note:
        return Decision(False, NOTHING)
    if mode == "always":
        return Decision(True, "always")
    because = f": {'; '.join(plan.reasons)}" if plan.reasons else ""
    if plan.mode in risk_modes:
        return Decision(True, f"the plan is to {plan.mode}{because}")
    return Decision(
        False, f"the plan is to {plan.mode}, which is no risk ({', '.join(sorted(risk_modes))} are)"
    )


def first_note(mode: Mode, decision: Decision, note: str) -> str:
    """What the first prompt holds beside the conversation."""
    if not decision.inject:
        return ""
    return REMINDER if mode == "reminder" else note


def second_note(mode: Mode, note: str) -> str:
    """What the prompt holds after a conflict."""
    return REMINDER if mode == "remind_on_detection" else note


def note_of(state: State, max_items: int) -> str:
    """The note of a state: at most `max_items` lines, broken constraints first, then the other constraints, edits,
    facts; newer items first. Lines keep the state's order."""
    if not isinstance(state, SemanticState):
        return flat_note(state.memory_text)
    broken = [item for item in state.constraints if item.status == "violated"]
    others = [item for item in state.constraints if item.status != "violated"]
    ranked = [item for group in (broken, others, state.edits, state.facts) for item in reversed(group)]
    kept = {item.id for item in ranked[:max_items]}
    return structured_note(
        [(item.status, item.text) for item in state.constraints if item.id in kept],
        [item.text for item in state.facts if item.id in kept],
        [item.text for item in state.edits if item.id in kept],
    )
