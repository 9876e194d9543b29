"""Conversations of SLSM, made of IFEval's prompts.

    python -m tests.bench.make_ifeval_conversations input_data.jsonl conversations.jsonl [unrelated tasks]

Name the second file in `slsm.data.path`. The model under test writes the answers in between: there, the file has null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.slsm.multichallenge import Dialogues
from tests.bench.ifeval.reader import read_ifeval

TASKS = 3
"""Unrelated ones, between the instruction and the last task."""


def records(dialogues: Dialogues) -> Iterator[dict[str, Any]]:
    """The conversations in MultiChallenge's form."""
    for talk in dialogues.conversations:
        asked = dialogues.criteria[talk.id]
        messages = [
            {"role": role, "content": content}
            for turn in talk.turns
            for role, content in (("user", turn.user), ("assistant", turn.assistant))
        ]
        yield {
            "QUESTION_ID": talk.id,
            "AXIS": talk.axis,
            "CONVERSATION": messages[:-1],
            "TARGET_QUESTION": asked.target_question,
            "PASS_CRITERIA": asked.pass_criteria,
        }


def made(data: bytes, where: str, tasks: int = TASKS) -> bytes:
    """The whole file, made of IFEval's `data`."""
    dialogues = read_ifeval(data, where, "ifeval", None, tasks, seed=0)
    return b"".join(json.dumps(record).encode() + b"\n" for record in records(dialogues))


if __name__ == "__main__":
    source, target, *tasks = sys.argv[1:]
    Path(target).write_bytes(made(Path(source).read_bytes(), source, *map(int, tasks)))
