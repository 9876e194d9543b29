"""SLSM: conversations answered under each mode, with the memory turn by turn."""

from __future__ import annotations

from collections.abc import Iterable

from engine.comparison.methods.reader import Criterion, MethodReader, Outcome, as_score, verdict
from engine.comparison.trace import Step, Value
from engine.events import ConversationAnswered, ConversationOpened, Event, StateUpdated


class SLSMReader(MethodReader):
    """A conversation passes if one of its attempts passes, as in the stage's own scores; it costs what all its
    attempts did, controller and detector included, as in the stage's verdict."""

    system = "SLSM"
    kinds = (ConversationOpened, ConversationAnswered, StateUpdated)
    criteria = {"": Criterion("slsm", "an attempt passes the checks or the judge")}

    def __init__(self) -> None:
        super().__init__()
        self._turns: dict[str, list[list[str]]] = {}

    def outcomes(self, event: Event) -> Iterable[Outcome]:
        if isinstance(event, ConversationOpened):
            self._turns[event.conversation_id] = event.turns
        elif isinstance(event, ConversationAnswered):
            turns = self._turns.get(event.conversation_id, [])
            yield Outcome(
                _name(event.mode, event.memory_mode), event.conversation_id,
                turns[-1][0] if turns and turns[-1] else "", "\n".join(text for turn in turns for text in turn),
                as_score(event.passed), event.passed, event.tokens, event.attempt, trace=event.memory_mode,
            )  # fmt: skip

    def leads_to(self, event: Event) -> tuple[str, str, tuple[int, str]] | None:
        if isinstance(event, StateUpdated):
            return event.memory_mode, event.conversation_id, (event.turn, "")
        return None

    def steps_of(self, event: StateUpdated | ConversationAnswered, arm: str) -> Iterable[Step]:
        if isinstance(event, StateUpdated):
            yield _memory(event)
            return
        attempts = self.counting(arm)[event.conversation_id]
        suffix = f" {event.attempt + 1}" if len(attempts) > 1 else ""
        injected: dict[str, Value] = {"note": "given" if event.injected else "none", "why": event.reason}
        passed: dict[str, Value] = {"verdict": verdict(event.passed)}
        yield Step(f"note{suffix}", f"note{suffix}", injected, text=event.note)
        yield Step(f"answer{suffix}", f"answer{suffix}", passed, text=event.answer, note=event.verdict)


def _name(mode: str, memory_mode: str) -> str:
    return mode if memory_mode in ("", "none") else f"{mode} ({memory_mode})"


def _memory(event: StateUpdated) -> Step:
    lines = [f"{item.kind} {item.text}{f' ({item.status})' if item.status else ''}" for item in event.items]
    text = "\n".join(lines) if lines else event.memory_text
    failure: dict[str, Value] = {"failure": event.failure} if event.failure else {}
    return Step(f"turn {event.turn}", f"memory after turn {event.turn + 1}", failure, text=text)
