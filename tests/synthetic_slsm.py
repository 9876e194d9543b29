"""A comparison of modes as events, the same on every machine: the rule controller's states, made-up answers."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from engine import events as ev
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.controllers.state_tracking import state_event
from engine.slsm.policy import note_of
from engine.slsm.state import empty_state
from engine.slsm.turns import Conversation, Turn

BEGIN = 1_760_000_000.0
CONVERSATIONS = (
    Conversation(
        "retention-1",
        (
            Turn("Please end every answer with the word maple.", "Understood. maple"),
            Turn("Name one fruit.", "One fruit is plum. maple"),
            Turn("You can stop ending answers with maple. Never use the word pear.", "All right."),
            Turn("Tell me one tool.", "One tool is saw."),
            Turn("Suggest one fruit."),
        ),
        "INSTRUCTION_RETENTION",
    ),
    Conversation(
        "editing-1",
        (
            Turn("My list is milk, rice, eggs.", "Noted."),
            Turn("Replace rice with corn.", "Okay."),
            Turn("Show my list."),
        ),
        "RELIABLE_VERSION_EDITING",
    ),
)
FORGOTTEN = {"retention-1": "One fruit is pear.", "editing-1": "Your list is milk, rice, eggs."}
MEMORY_MODES = ("never", "on_risk", "always", "on_detection")
KEPT = {"retention-1": "One fruit is plum.", "editing-1": "Your list is milk, corn, eggs."}


def slsm_events(finish: bool = True, failure: str = "") -> Iterator[ev.Event]:
    """The run's events in order, stamped. `failure`: what the controller failed with at the first turn of all."""
    for seq, event in enumerate(_events(finish, failure)):
        yield msgspec.structs.replace(event, seq=seq, time=BEGIN + 0.2 * seq, stage=event.stage or "slsm")


def _events(finish: bool, failure: str) -> Iterator[ev.Event]:
    yield ev.Header(
        schema_version=1, name="demo", run_id="2025-10-09T08-53-20", seed=0, stages=["slsm"], versions={}
    )
    yield ev.WorkerStarted(pid=4711, attempt=1, stages=["slsm"])
    variants = [["baseline", "none"]] + [
        [mode, memory] for mode in MEMORY_MODES for memory in ("structured", "flat")
    ]
    yield ev.SLSMBegan(
        conversations=2, variants=variants, controller="rules (offline)", model="dialogues", judge="exact (offline)",
        dataset="generated", dataset_hash="5be37d962160" * 5, axes=[talk.axis for talk in CONVERSATIONS],
    )  # fmt: skip
    yield ev.StageStarted(total=2, unit="conversations")
    for conversation in CONVERSATIONS:
        yield ev.ConversationOpened(
            conversation_id=conversation.id,
            axis=conversation.axis,
            turns=[
                [part for part in (turn.user, turn.assistant) if part is not None]
                for turn in conversation.turns
            ],
        )
        for memory in ("structured", "flat"):
            yield from _states(conversation, memory, failure)
    for mode, memory in variants:
        for conversation in CONVERSATIONS:
            yield _answered(conversation, mode, memory)
    if finish:
        yield from (_scored(mode, memory) for mode, memory in variants)
        yield ev.StageFinished(seconds=3.0, summary={"score_always_structured": 1.0})
        yield ev.WorkerStopped(status="finished")


def _states(conversation: Conversation, memory: str, failure: str) -> Iterator[ev.StateUpdated]:
    controller = RuleController()
    state = empty_state("flat" if memory == "flat" else "structured")
    for number in range(len(conversation.turns)):
        update = controller.update(state, conversation.turns[: number + 1])
        event = state_event(conversation.id, memory, number, state, update)
        yield msgspec.structs.replace(event, failure=failure if number == 0 else "")
        state = update.state


def _answered(conversation: Conversation, mode: str, memory: str) -> ev.ConversationAnswered:
    controller, state = RuleController(), empty_state("flat" if memory == "flat" else "structured")
    for number in range(len(conversation.turns)):
        state = controller.update(state, conversation.turns[: number + 1]).state
    noted = mode in ("on_risk", "always", "on_detection")
    second = mode == "on_detection"
    answer = (KEPT if noted else FORGOTTEN)[conversation.id]
    return ev.ConversationAnswered(
        conversation_id=conversation.id, axis=conversation.axis, mode=mode, memory_mode=memory, attempt=0,
        answer=answer, injected=noted, reason=f"{mode}: as the mode says", note=note_of(state, 6) if noted else "",
        note_tokens=21 if noted else 0, first_answer=FORGOTTEN[conversation.id] if second else "",
        conflicts=[ev.AnswerConflict(item="C2", why="says “pear”", exact=True)] if second else [],
        controller_calls=0 if memory == "none" else len(conversation.turns), model_calls=2 if second else 1,
        model_tokens=140, detector_calls=int(second), passed=noted, verdict="NO to: does it forget?",
    )  # fmt: skip


def _scored(mode: str, memory: str) -> ev.ModeScored:
    noted = mode in ("on_risk", "always", "on_detection")
    score = 1.0 if noted else 0.0
    return ev.ModeScored(
        mode=mode, memory_mode=memory, n=2, judged=2, score=score, low=score, high=score,
        by_axis=[[talk.axis, score, 0.2, 1.0, 1] for talk in CONVERSATIONS],
        difference=None if mode == "baseline" else score, difference_low=0.0, difference_high=1.0,
        injections=2 * noted, injected_tokens=21.0 * noted, controller_calls=4.0 * (memory != "none"), model_calls=1.5,
        fixed=2 * noted,
    )  # fmt: skip
