"""The event of an answer under a mode: which answer counts, its note and its cost."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import ConflictFound, ConversationAnswered
from engine.servers.spent import Spent
from engine.slsm.controllers.controller import Detection
from engine.slsm.policy import Decision
from engine.slsm.turns import Conversation


@dataclass(frozen=True)
class ModelAnswer:
    """A model's answer and its cost; `cut` at the limit of tokens; `failure`: why there is none."""

    text: str
    cost: Spent
    cut: bool = False
    failure: str = ""


@dataclass(frozen=True)
class DetectedConflicts:
    """Conflicts of the first answer with the state, as events hold them."""

    conflicts: list[ConflictFound]
    failure: str
    cost: Spent


def conflict_events(detection: Detection) -> list[ConflictFound]:
    """The conflicts as events hold them."""
    return [ConflictFound(item=found.item, why=found.why, exact=found.exact) for found in detection.conflicts]


def answer_event(
    conversation: Conversation,
    variant: tuple[str, str],
    attempt: int,
    decision: Decision,
    note: str,
    note_tokens: int,
    first: ModelAnswer,
    controller: Spent,
    detected: DetectedConflicts | None = None,
    second: ModelAnswer | None = None,
) -> ConversationAnswered:
    """The event of an answer, without a verdict. `note`: the note in the prompt of the answer that counts; `detected`:
    only for on_detection; the cost table counts a detection that asks the controller as one call, whatever the number
    of requests."""
    last = second or first
    asked = Spent() if detected is None else detected.cost
    detector = Spent(min(1, asked.calls), asked.tokens, asked.cost)
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
        cut=last.cut,
        failure=last.failure,
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
