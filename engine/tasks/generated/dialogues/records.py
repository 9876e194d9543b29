"""Generated dialogues as MultiChallenge records: the test side, which shares no wording and no word to remember with
the training of the built-in model."""

from __future__ import annotations

import json
import random
from typing import Any

from engine.tasks.generated.dialogues.dialogue import MOST_BETWEEN, Dialogue, draw_dialogue
from engine.tasks.generated.dialogues.memories import AXES
from engine.tasks.generated.dialogues.words import Side


def generate_dialogues(n: int, seed: int, side: Side = "test") -> list[Dialogue]:
    """`n` different dialogues, the axes and the distances in turn; a prefix of those for a larger n."""
    dialogues: dict[str, Dialogue] = {}
    draw = 0
    while len(dialogues) < n:
        number = len(dialogues)
        rng = random.Random(f"dialogues:{side}:{seed}:{draw}")
        axis, between = AXES[number % len(AXES)], number // len(AXES) % (MOST_BETWEEN + 1)
        dialogue = draw_dialogue(side, rng, axis, between)
        dialogues.setdefault(dialogue.id, dialogue)
        draw += 1
    return list(dialogues.values())


def multichallenge_record(dialogue: Dialogue) -> dict[str, Any]:
    """A line of MultiChallenge's JSONL."""
    messages = [
        message
        for user, assistant in dialogue.turns
        for message in ({"role": "user", "content": user}, {"role": "assistant", "content": assistant})
    ]
    return {
        "QUESTION_ID": dialogue.id,
        "AXIS": dialogue.memory.axis,
        "CONVERSATION": [*messages, {"role": "user", "content": dialogue.question}],
        "TARGET_QUESTION": dialogue.memory.check,
        "PASS_CRITERIA": dialogue.memory.passes,
    }


def multichallenge_jsonl(n: int, seed: int) -> bytes:
    """A file of `n` generated dialogues in MultiChallenge's JSONL."""
    return b"".join(
        json.dumps(multichallenge_record(dialogue)).encode() + b"\n"
        for dialogue in generate_dialogues(n, seed)
    )
