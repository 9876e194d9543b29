"""What a mined pair does on the problem that it was mined from: three greedy answers, each from a control point on.

The reward gap of a pair says that right and wrong rollouts differ, not that the difference was made at this control
point: where right and wrong rollouts share a state, or where the mistake is already written, its vector does nothing.
So each of its two entries is tried out, and kept if it does what it stands for:

- wrong entry: from a wrong rollout's prefix the answer is wrong unsteered and right with the vector;
- right entry: from a right rollout's prefix the unsteered answer is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.config.config import Config
from engine.esm.contrast import Contrast, Rollout
from engine.lm.protocol import LanguageModel, Request, Sampling, Steer
from engine.tasks.example import TaskExample
from engine.tasks.task import Task


@dataclass(frozen=True)
class Verified:
    """Whether the greedy answer is right: from the wrong prefix with the vector (`steered_correct`) and without
    (`wrong_correct`), from the right prefix without (`right_correct`)."""

    steered_correct: bool
    wrong_correct: bool
    right_correct: bool


@dataclass(frozen=True)
class Mined:
    """A pair with the rollouts of either side, the extreme reward first. `prompt`: token ids."""

    example: TaskExample
    prompt: Sequence[int]
    m: int
    layer: int
    contrast: Contrast
    positives: Sequence[Rollout]
    negatives: Sequence[Rollout]


@dataclass(frozen=True)
class _Answer:
    """A greedy answer to be written: `written` of it stands already."""

    example: TaskExample
    prompt: Sequence[int]
    written: Sequence[int]
    steer: Steer | None = None

    @property
    def key(self) -> tuple[int, ...]:
        """Equal for unsteered answers from one prefix: they are written once."""
        return (*self.prompt, *self.written)


class Verifier:
    """Writes the answers of many pairs in one call to the model. `tokens` counts what it generated."""

    def __init__(
        self, config: Config, model: LanguageModel, task: Task, checkpoint: Callable[[], None]
    ) -> None:
        self.budget = config.offline_mine.max_new_tokens
        self.strength = config.online.k_scale * config.online.beta
        self.model, self.task, self.checkpoint = model, task, checkpoint
        self.tokens = 0

    def verify(self, pairs: Sequence[Mined]) -> list[Verified]:
        """One result a pair, in order. The vector is injected as strongly as a perfect match would be online, before
        what probing adds: k_scale * beta * quality."""
        wrong = [_Answer(p.example, p.prompt, _prefix(p.negatives[0], p.m)) for p in pairs]
        right = [_Answer(p.example, p.prompt, _prefix(p.positives[0], p.m)) for p in pairs]
        plain = list({answer.key: answer for answer in [*wrong, *right]}.values())
        steered = [
            _Answer(p.example, p.prompt, _prefix(p.negatives[0], p.m), self._steer(p.layer, p.contrast))
            for p in pairs
        ]
        correct = self._correct([*plain, *steered])
        unsteered = {answer.key: outcome for answer, outcome in zip(plain, correct, strict=False)}
        return [
            Verified(with_vector, unsteered[there.key], unsteered[here.key])
            for with_vector, there, here in zip(correct[len(plain) :], wrong, right, strict=True)
        ]

    def _steer(self, layer: int, contrast: Contrast) -> Steer:
        return Steer(contrast.delta, layer, self.strength * contrast.quality)

    def _correct(self, answers: Sequence[_Answer]) -> list[bool]:
        requests = [
            Request(
                [*answer.prompt, *answer.written],
                Sampling(max(self.budget - len(answer.written), 0)),
                steer=answer.steer,
            )
            for answer in answers
        ]
        completions = self.model.generate(requests, checkpoint=self.checkpoint) if requests else []
        self.tokens += sum(len(completion.tokens) for completion in completions)
        return [
            self._is_correct(answer, completion.text)
            for answer, completion in zip(answers, completions, strict=True)
        ]

    def _is_correct(self, answer: _Answer, rest: str) -> bool:
        text = self.model.tokenizer.decode(answer.written) + rest
        return self.task.is_correct(self.task.extract(text), answer.example.answer)


def _prefix(rollout: Rollout, m: int) -> list[int]:
    return rollout.token_ids[: rollout.ends[m - 1]]
