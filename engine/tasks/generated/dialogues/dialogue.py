"""A dialogue: something to remember, small talk, and the question where it matters."""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.tasks.generated.dialogues.memories import AXES, INSTRUCTION, Memory, draw_memory
from engine.tasks.generated.dialogues.small_talk import draw_small_talk
from engine.tasks.generated.dialogues.words import Side
from engine.tasks.generated.splits import text_digest

FORGETS = (0.04, 0.15, 0.5, 0.8, 0.92, 0.96)
"""How probably the assistant has forgotten, by the number of exchanges in between."""
MOST_BETWEEN = len(FORGETS) - 1


@dataclass(frozen=True)
class Dialogue:
    """`turns`: earlier (user, assistant) exchanges; `question`: the user's last message; `memories`: facts and rules to
    remember, the one in question first; `between`: exchanges between that memory and the question."""

    id: str
    turns: tuple[tuple[str, str], ...]
    question: str
    memories: tuple[Memory, ...]
    between: int

    @property
    def memory(self) -> Memory:
        """The memory that the question needs."""
        return self.memories[0]


def forgets(between: int, rng: random.Random) -> bool:
    """Whether the assistant has forgotten, so many exchanges later."""
    return rng.random() < FORGETS[min(between, MOST_BETWEEN)]


def draw_dialogue(
    side: Side, rng: random.Random, axis: str | None = None, between: int | None = None
) -> Dialogue:
    """A dialogue in words of `side`; `axis`, `between`: drawn where not given."""
    memory = draw_memory(axis or rng.choice(AXES), side, rng)
    between = rng.randint(0, MOST_BETWEEN) if between is None else between
    other = _another(memory, side, rng)
    turns: list[tuple[str, str]] = []
    if other is not None:
        turns += other.opening
    turns += [(user, answer if other is None else other.rule(answer)) for user, answer in memory.opening]
    for exchange in range(between):
        talk = draw_small_talk(side, rng)
        answer = talk.answer(rng)
        for remembered in (memory, other):
            if remembered is not None and not forgets(exchange, rng):
                answer = remembered.rule(answer)
        turns.append((talk.question, answer))
    memories = (memory,) if other is None else (memory, other)
    text = "\n".join(part for turn in turns for part in turn) + memory.question
    return Dialogue(f"dialogue-{text_digest(text)[:16]}", tuple(turns), memory.question, memories, between)


def _another(memory: Memory, side: Side, rng: random.Random) -> Memory | None:
    """In some dialogues a second memory of another kind, mentioned first. Never capitals, which would change the words
    to remember; never a word to avoid that has to be said."""
    if rng.random() < 0.6:
        return None
    while True:
        other = draw_memory(rng.choice(AXES), side, rng)
        rules = memory.axis == INSTRUCTION and other.axis == INSTRUCTION
        unsayable = other.kind == "avoid" and other.note.split()[-1] in memory.note
        if other.kind not in (memory.kind, "capitals") and not rules and not unsayable:
            return other
