"""SLSM: conversations answered under each mode, with the memory turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from engine.comparison.items import Arm, Item, Place
from engine.comparison.methods.reader import ReadEvent, verdict
from engine.comparison.trace import Step, Value
from engine.events import ConversationAnswered, ConversationOpened, Event, StateUpdated


class SLSMReader:
    """A conversation passes if one of its attempts passes, as in the stage's own scores; it costs what all its
    attempts did, controller and detector included, as in the stage's verdict."""

    kinds: ClassVar[tuple[type[Event], ...]] = (ConversationOpened, ConversationAnswered, StateUpdated)

    def __init__(self) -> None:
        self._turns: dict[str, list[list[str]]] = {}
        self._answers: dict[tuple[str, str], dict[str, dict[int, tuple[ConversationAnswered, Place]]]] = {}
        self._states: dict[tuple[str, str], dict[int, Place]] = {}

    def take(self, event: Event, place: Place) -> None:
        if isinstance(event, ConversationOpened):
            self._turns[event.conversation_id] = event.turns
        elif isinstance(event, StateUpdated):
            self._states.setdefault((event.conversation_id, event.memory_mode), {})[event.turn] = place
        elif isinstance(event, ConversationAnswered):
            arm = self._answers.setdefault((event.mode, event.memory_mode), {})
            arm.setdefault(event.conversation_id, {})[event.attempt] = (event, place)

    def arms(self) -> list[Arm]:
        return [
            Arm(
                "SLSM",
                _name(*key),
                "slsm",
                "an attempt passes the checks or the judge",
                {name: self._item(name, attempts) for name, attempts in conversations.items()},
            )
            for key, conversations in self._answers.items()
        ]

    def _item(self, name: str, attempts: dict[int, tuple[ConversationAnswered, Place]]) -> Item:
        verdicts = [event.passed for event, _ in attempts.values() if event.passed is not None]
        passed = any(verdicts) if verdicts else None
        turns = self._turns.get(name, [])
        return Item(
            name,
            turns[-1][0] if turns and turns[-1] else "",
            "\n".join(text for turn in turns for text in turn),
            None if passed is None else float(passed),
            passed,
            sum(event.tokens for event, _ in attempts.values()),
            tuple(attempts[number][1] for number in sorted(attempts)),
        )

    def steps(self, arm: str, item: Item, read: ReadEvent) -> Sequence[Step]:
        answers = [event for place in item.places if isinstance(event := read(place), ConversationAnswered)]
        memory = answers[0].memory_mode if answers else ""
        places = self._states.get((item.id, memory), {})
        states = [read(places[turn]) for turn in sorted(places)]
        steps = [_memory(event) for event in states if isinstance(event, StateUpdated)]
        for event in answers:
            suffix = f" {event.attempt + 1}" if len(answers) > 1 else ""
            injected: dict[str, Value] = {"note": "given" if event.injected else "none", "why": event.reason}
            steps.append(Step(f"note{suffix}", f"note{suffix}", injected, text=event.note))
            passed: dict[str, Value] = {"verdict": verdict(event.passed)}
            steps.append(
                Step(f"answer{suffix}", f"answer{suffix}", passed, text=event.answer, note=event.verdict)
            )
        return steps


def _name(mode: str, memory_mode: str) -> str:
    return mode if memory_mode in ("", "none") else f"{mode} ({memory_mode})"


def _memory(event: StateUpdated) -> Step:
    lines = [f"{item.kind} {item.text}{f' ({item.status})' if item.status else ''}" for item in event.items]
    text = "\n".join(lines) if lines else event.memory_text
    return Step(
        f"turn {event.turn}",
        f"memory after turn {event.turn + 1}",
        {"failure": event.failure} if event.failure else {},
        text=text,
    )
