"""Baselines without steering: greedy decoding (spec ESM 6.1) and the majority vote of several samples
(self-consistency, Wang et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from engine.config.config import Config
from engine.esm.control_point import Answer
from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.task import Task

PLAIN_METHODS = ("greedy", "majority_vote")
Prompts = Sequence[Sequence[int]]


def greedy(
    model: LanguageModel,
    config: Config,
    examples: Sequence[TaskExample],
    prompts: Prompts,
    checkpoint: Callable[[], None],
) -> list[Answer]:
    """One uninterrupted continuation an example."""
    sampling = Sampling(config.decode.max_new_tokens, config.decode.temperature)
    requests = [
        Request(prompt, sampling, seed=derive_seed(config.run.seed, "greedy", example.id))
        for example, prompt in zip(examples, prompts, strict=True)
    ]
    done = model.generate(requests, checkpoint=checkpoint)
    return [
        Answer(example.id, tokens=completion.tokens, text=completion.text, ended=True)
        for example, completion in zip(examples, done, strict=True)
    ]


def majority_vote(
    model: LanguageModel,
    config: Config,
    task: Task,
    examples: Sequence[TaskExample],
    prompts: Prompts,
    checkpoint: Callable[[], None],
) -> list[Answer]:
    """`eval.votes` samples an example; the first of those that give the most frequent answer is committed, the tokens
    of the others count as probes."""
    votes = config.eval.votes
    sampling = Sampling(config.decode.max_new_tokens, config.offline_mine.temperature)
    requests = [
        Request(prompt, sampling, seed=derive_seed(config.run.seed, "vote", example.id, draw))
        for example, prompt in zip(examples, prompts, strict=True)
        for draw in range(votes)
    ]
    done = model.generate(requests, checkpoint=checkpoint)
    return [_voted(example, done[i * votes :][:votes], task) for i, example in enumerate(examples)]


def _voted(example: TaskExample, samples: Sequence[Completion], task: Task) -> Answer:
    answers = [task.extract(sample.text) for sample in samples]
    winner = most_frequent(answers)
    chosen = samples[answers.index(winner)]
    others = sum(len(sample.tokens) for sample in samples) - len(chosen.tokens)
    return Answer(example.id, tokens=chosen.tokens, text=chosen.text, probe_tokens=others, ended=True)


def most_frequent(answers: Sequence[str]) -> str:
    """The answer given most often, the earliest among equals. A text without an answer ("") has no vote unless none
    has one."""
    given = [answer for answer in answers if answer]
    return Counter(given).most_common(1)[0][0] if given else answers[0]
