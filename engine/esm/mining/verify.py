"""What a mined pair does on the problem that it was mined from: three greedy answers, each from a control point on.

The reward gap of a pair says that right and wrong rollouts differ, not that the difference was made at this control
point: where right and wrong rollouts share a state, or where the mistake is already written, its vector does nothing.
So each of its two entries is tried out, and kept if it does what it stands for:

- wrong entry: from a wrong rollout's prefix the answer is wrong unsteered and right with the vector;
- right entry: from a right rollout's prefix the unsteered answer is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.config.config import Config
from engine.esm.mining.contrast import Contrast, Rollout
from engine.lm.protocol import Completion, Finished, LanguageModel, Request, Sampling, Steer
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

    @property
    def name(self) -> str:
        return f"{self.example.id}_m{self.m}_l{self.layer}"


Key = tuple[str, Sequence[int]]


@dataclass(frozen=True)
class _Answer:
    """A greedy answer to be written: `written` of it stands already; `steered`: the pair whose vector it gets."""

    example: TaskExample
    prompt: Sequence[int]
    written: Sequence[int]
    steered: str = ""
    steer: Steer | None = None

    @property
    def key(self) -> Key:
        """Equal for unsteered answers from one prefix: they are written once."""
        return self.steered, (*self.prompt, *self.written)


@dataclass(frozen=True)
class _Trial:
    """A pair with the three answers that verify it."""

    pair: Mined
    steered: _Answer
    wrong: _Answer
    right: _Answer

    @property
    def keys(self) -> set[Key]:
        return {self.steered.key, self.wrong.key, self.right.key}

    def verified(self, correct: Mapping[Key, bool]) -> Verified:
        return Verified(correct[self.steered.key], correct[self.wrong.key], correct[self.right.key])


def _by_answer(trials: Sequence[_Trial]) -> dict[Key, list[_Trial]]:
    """Which trials an answer belongs to."""
    waiting: dict[Key, list[_Trial]] = defaultdict(list)
    for trial in trials:
        for key in trial.keys:
            waiting[key].append(trial)
    return waiting


class Verifier:
    """Writes the answers of many pairs in one call to the model. `tokens` counts what it generated."""

    def __init__(self, config: Config, model: LanguageModel, task: Task) -> None:
        self.budget = config.offline_mine.max_new_tokens
        self.strength = config.online.k_scale * config.online.beta
        self.model, self.task = model, task
        self.tokens = 0

    def verify(self, pairs: Sequence[Mined], report: Callable[[Mined, Verified], None]) -> list[Verified]:
        """One result a pair, in order; each is reported when the last of its answers has ended. The vector is injected
        as strongly as a perfect match would be online, before what probing adds: k_scale * beta * quality."""
        trials = [self._trial(pair) for pair in pairs]
        everything = [*(t.wrong for t in trials), *(t.right for t in trials), *(t.steered for t in trials)]
        answers = list({answer.key: answer for answer in everything}.values())
        waiting = _by_answer(trials)
        correct: dict[Key, bool] = {}

        def ended(place: int, completion: Completion) -> None:
            answer = answers[place]
            correct[answer.key] = self._is_correct(answer, completion.text)
            for trial in waiting[answer.key]:
                if trial.keys <= correct.keys():
                    report(trial.pair, trial.verified(correct))

        self._write(answers, ended)
        return [trial.verified(correct) for trial in trials]

    def _trial(self, pair: Mined) -> _Trial:
        wrong, right = _prefix(pair.negatives[0], pair.m), _prefix(pair.positives[0], pair.m)
        steer = Steer(pair.contrast.delta, pair.layer, self.strength * pair.contrast.quality)
        return _Trial(
            pair,
            steered=_Answer(pair.example, pair.prompt, wrong, pair.name, steer),
            wrong=_Answer(pair.example, pair.prompt, wrong),
            right=_Answer(pair.example, pair.prompt, right),
        )

    def _write(self, answers: Sequence[_Answer], ended: Finished) -> None:
        requests = [
            Request(
                [*answer.prompt, *answer.written],
                Sampling(max(self.budget - len(answer.written), 0)),
                steer=answer.steer,
            )
            for answer in answers
        ]
        if requests:
            completions = self.model.generate(requests, finished=ended)
            self.tokens += sum(len(completion.tokens) for completion in completions)

    def _is_correct(self, answer: _Answer, rest: str) -> bool:
        text = self.model.tokenizer.decode(answer.written) + rest
        return self.task.is_correct(self.task.extract(text), answer.example.answer)


def _prefix(rollout: Rollout, m: int) -> list[int]:
    return rollout.token_ids[: rollout.ends[m - 1]]
