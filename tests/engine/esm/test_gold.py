"""The data set's own solution as a rollout: its tokens, its control points and their states, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engine.config.config import Config
from engine.esm.mining.gold import gold_rollout, gold_text
from engine.lm.protocol import LanguageModel
from engine.tasks.example import TaskExample
from engine.tasks.formats import FORMATS

PROMPT = [900, 901, 902]


class Letters:
    """A token a character. The state of a token is its place and its number, at each layer."""

    tokenizer = SimpleNamespace(encode=lambda text: [ord(letter) for letter in text])

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[np.ndarray]:
        return [
            np.array([[[at, tokens[at], layer] for layer in layers] for at in own], dtype=np.float32)
            for tokens, own in zip(sequences, positions, strict=True)
        ]


def config(**task: object) -> Config:
    points = {"M": 2, "segment_delimiter": "|;"}
    return Config.model_validate(
        {"task": task, "control_points": points, "offline_mine": {"eta0": 0.5, "max_new_tokens": 40}}
    )


def test_control_points_are_the_last_tokens_of_the_first_delimiters() -> None:
    example = TaskExample("a", "Q", "7", "one|;two|;three|;7")
    gold = gold_rollout(cast("LanguageModel", Letters()), PROMPT, example, [1, 3], config())
    assert gold is not None and gold.source == "gold" and gold.correct and gold.pred == "7"
    assert "".join(map(chr, gold.token_ids)) == gold.text == "one|;two|;three|;7"
    assert gold.ends == [5, 10]
    last = [len(PROMPT) + end - 1 for end in (5, 10)]
    assert gold.states.tolist() == [[[at, ord(";"), layer] for layer in (1, 3)] for at in last]
    assert gold.reward == pytest.approx(1 - 0.5 * 19 / 40), "18 tokens and the end token"
    assert (
        gold_rollout(cast("LanguageModel", Letters()), PROMPT, TaskExample("b", "Q", "7"), [1], config())
        is None
    )


def test_a_solution_of_aime_is_filled_up_to_all_control_points() -> None:
    """One is often a bare number, and has no delimiter of its own (spec ESM 3.4)."""
    aime = config(dataset="aime")
    for solution, own in ((None, 0), ("\\boxed{7}", 0), ("one|;7", 1), ("one|;two|;7", 2), ("a|;b|;c|;d", 3)):
        text = gold_text(TaskExample("a", "Q", "7", solution), aime)
        assert text.count("|;") == max(2, own)
        assert text.endswith(solution or "\\boxed{7}")
    assert gold_text(TaskExample("a", "Q", "7", "one|;7"), config()) == "one|;7"


def test_a_solution_of_gsm8k_has_a_step_a_segment() -> None:
    record = {"question": "2 + 3 - 1?", "answer": "2 + 3 = <<2+3=5>>5\n5 - 1 = 4\n#### 4"}
    example = FORMATS["gsm8k"]("a", "train.jsonl:1", record)
    assert gold_text(example, config(dataset="gsm8k")) == "2 + 3 = 5|;5 - 1 = 4|;#### 4"
