"""Memory notes as they may stand behind a question: complete, in any order, often with more than is needed."""

from __future__ import annotations

import random

from engine.slsm.note import flat_note, flat_text, structured_note
from engine.tasks.generated.dialogues.dialogue import Dialogue
from engine.tasks.generated.dialogues.memories import AXES, EDITING, INSTRUCTION, draw_memory

_STATUSES = ("satisfied", "violated", "active")


def draw_note(dialogue: Dialogue, rng: random.Random) -> str:
    """A structured or a flat note with all there is to remember and up to two things more."""
    memories = list(dialogue.memories)
    for _ in range(rng.choice((0, 0, 1, 2))):
        more = draw_memory(rng.choice(AXES), "train", rng)
        if more.axis != INSTRUCTION and all(more.kind != memory.kind for memory in memories):
            memories.append(more)
    rng.shuffle(memories)
    if rng.random() < 0.5:
        return flat_note(flat_text([memory.note for memory in memories]))
    return structured_note(
        [(rng.choice(_STATUSES), memory.note) for memory in memories if memory.axis == INSTRUCTION],
        [memory.note for memory in memories if memory.axis not in (INSTRUCTION, EDITING)],
        [memory.note for memory in memories if memory.axis == EDITING],
    )
