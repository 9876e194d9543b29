"""How the configuration of the demo is made small for tests of ESM, and an answer of it."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.esm.evaluation.answer_lines import AnswerLine

SMALL = (
    "task.train_size=24", "task.eval_size=12", "offline_mine.K=4", "offline_select.B=40",
    "eval.methods=[greedy, majority_vote, esm]", "eval.ablations=[no_probing]", "offline_mine.verify=true",
)  # fmt: skip


def answer_line(**given: Any) -> AnswerLine:
    """A line of per_example.jsonl with these fields."""
    texts = dict.fromkeys(("example_id", "question", "text", "pred", "gold"), "")
    counts = dict.fromkeys(("index", "tokens_used", "probe_tokens_used", "budget_used", "steered"), 0)
    return msgspec.convert({**texts, **counts, "correct": False, "steps": []} | given, AnswerLine)
