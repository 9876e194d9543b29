"""What an answer under a mode amounts to: which answer stands, with or without a note, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import ConflictFound, ConversationAnswered
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import Detection
from engine.slsm.policy import Decision
from engine.slsm.turns import Conversation


@dataclass(frozen=True)
class Given:
    """An answer of the model."""

    text: str
    cost: Spent


@dataclass(frozen=True)
class Detected:
    """What the first answer was found to go against."""

    conflicts: list[ConflictFound]
    failure: str
    cost: Spent


def conflicts_of(found: Detection) -> list[ConflictFound]:
    """The conflicts as they are told."""
    return [ConflictFound(item=one.item, why=one.why, exact=one.exact) for one in found.conflicts]


def answered(
    conversation: Conversation,
    variant: tuple[str, str],
    attempt: int,
    decision: Decision,
    note: str,
    note_tokens: int,
    first: Given,
    controller: Spent,
    detected: Detected | None = None,
    second: Given | None = None,
) -> ConversationAnswered:
    """Not judged yet. `note`: what stood behind the question of the answer that counts; `detected`: of on_detection,
    whose call is one in the cost table (spec SLSM) however often a server was asked."""
    last = second or first
    detector = Spent() if detected is None else Spent(1, detected.cost.tokens, detected.cost.cost)
    model = first.cost if second is None else first.cost + second.cost
    if detected is not None:
        reason = "the first answer goes against the memory" if detected.conflicts else "no conflict"
        decision = Decision(bool(note), reason)
    return ConversationAnswered(
        conversation_id=conversation.id,
        axis=conversation.axis,
        mode=variant[0],
        memory_mode=variant[1],
        attempt=attempt,
        answer=last.text,
        injected=bool(note),
        reason=decision.reason,
        note=note,
        note_tokens=note_tokens,
        first_answer="" if second is None else first.text,
        conflicts=[] if detected is None else detected.conflicts,
        detector_failure="" if detected is None else detected.failure,
        controller_calls=controller.calls,
        controller_tokens=controller.tokens,
        model_calls=model.calls,
        model_tokens=model.tokens,
        detector_calls=detector.calls,
        detector_tokens=detector.tokens,
        cost=round(controller.cost + model.cost + detector.cost, 9),
    )
