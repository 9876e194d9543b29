"""The event of an answer under a mode: which answer counts, its note and its cost."""

from __future__ import annotations

from engine.events import ConversationAnswered
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer
from engine.slsm.controllers.controller import Detection
from engine.slsm.policy import NOTHING, Decision
from engine.slsm.turns import Conversation


def reason_of(detected: Detection, note: str) -> str:
    """Why there is a second answer with `note`, or none."""
    if detected.conflicts:
        missing = "" if note else f", but {NOTHING}"
        return f"the first answer goes against the memory{missing}"
    return "the detector gave no reply" if detected.failure else "no conflict"


def answer_event(
    conversation: Conversation,
    variant: tuple[str, str],
    attempt: int,
    decision: Decision,
    note: str,
    note_tokens: int,
    first: ChatAnswer,
    controller: Spent,
    detected: Detection | None = None,
    second: ChatAnswer | None = None,
) -> ConversationAnswered:
    """The event of an answer, without a verdict. `note`: the note in the prompt of the answer that counts; `detected`:
    only for on_detection; the cost table counts a detection that asks the controller as one call, whatever the number
    of requests."""
    last = second or first
    asked = Spent() if detected is None else detected.spent
    detector = Spent(min(1, asked.calls), asked.tokens, asked.cost)
    model = first.spent if second is None else first.spent + second.spent
    if detected is not None:
        decision = Decision(bool(note), reason_of(detected, note))
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
        conflicts=[] if detected is None else list(detected.conflicts),
        detector_failure="" if detected is None else detected.failure,
        controller_calls=controller.calls,
        controller_tokens=controller.tokens,
        model_calls=model.calls,
        model_tokens=model.tokens,
        detector_calls=detector.calls,
        detector_tokens=detector.tokens,
        cost=round(controller.cost + model.cost + detector.cost, 9),
    )
