"""A small file in IFEval's form, with sentences of our own."""

from __future__ import annotations

import json
from typing import Any

TASKS = (
    "Write a poem about a lighthouse keeper.", "Explain why bread rises in the oven.", "Who painted the blue horses?",
    "Describe a walk through an old harbour.", "Name a good book about sailing boats.", "Draft a note to a beekeeper.",
)  # fmt: skip
KINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("punctuation:no_comma", {}),
    ("keywords:forbidden_words", {"forbidden_words": ["sea", "ship"]}),
    ("length_constraints:number_words", {"relation": "less than", "num_words": 30.0}),
    ("startend:end_checker", {"end_phrase": "Is there more? I can help."}),
    ("detectable_format:constrained_response", {}),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 900}),
)


def ifeval_record(number: int, **changes: Any) -> dict[str, Any]:
    """Line `number`: a task with one instruction, and the instruction's words behind it."""
    kind, given = KINDS[number % len(KINDS)]
    return {
        "key": 1000 + number,
        "prompt": f"{TASKS[number % len(TASKS)]} Your entire response should not contain any commas.",
        "instruction_id_list": [kind],
        "kwargs": [given],
    } | changes


def ifeval_jsonl(count: int = 6, **changes: Any) -> bytes:
    """`count` lines; `changes` are those of the last."""
    records = [ifeval_record(number) for number in range(count - 1)] + [ifeval_record(count - 1, **changes)]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
