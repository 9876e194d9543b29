"""The data set's own solution as a positive where right rollouts are rare (spec ESM 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.config.config import Config
from engine.esm.mining.contrast import Rollout
from engine.esm.mining.reward import length_regularized_reward
from engine.lm.protocol import LanguageModel
from engine.tasks.example import TaskExample

_FILLER = "Check the step before and go on."


def gold_rollout(
    model: LanguageModel, prompt: Sequence[int], example: TaskExample, layers: Sequence[int], config: Config
) -> Rollout | None:
    """The gold text, encoded segment by segment so that delimiters fall on token ends; None without one."""
    text = gold_text(example, config)
    if not text:
        return None
    delimiter, most = config.control_points.segment_delimiter, config.control_points.M
    tokens: list[int] = []
    ends: list[int] = []
    pieces = text.split(delimiter)
    for position, piece in enumerate(pieces):
        last = position == len(pieces) - 1
        tokens.extend(model.tokenizer.encode(piece if last else piece + delimiter))
        if not last:
            ends.append(len(tokens))
    ends = ends[:most]
    states = model.states([[*prompt, *tokens]], [[len(prompt) + end - 1 for end in ends]], layers)[0]
    mine = config.offline_mine
    length = len(tokens) + 1  # and the end token, which a rollout's length counts
    reward = length_regularized_reward(True, length, mine.eta0, mine.max_new_tokens)
    return Rollout(text, tokens, True, reward, example.answer, states, ends, source="gold")


def gold_text(example: TaskExample, config: Config) -> str:
    """The solution, for GSM8K a step a segment; one of AIME, often a bare number, is filled up to M segments."""
    solution, delimiter = example.solution or "", config.control_points.segment_delimiter
    if config.task.dataset == "gsm8k":  # whose steps the loader parts by blank lines
        return solution.replace("\n\n", delimiter)
    if config.task.dataset != "aime":
        return solution
    missing = config.control_points.M - solution.count(delimiter)
    return delimiter.join([*([_FILLER] * missing), solution or f"\\boxed{{{example.answer}}}"])
