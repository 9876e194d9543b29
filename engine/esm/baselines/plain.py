"""Baselines without steering: greedy decoding (spec ESM 6.1) and the majority vote of several samples
(self-consistency, Wang et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.config.config import Config
from engine.esm.online.control_point import Answer
from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample
from engine.tasks.task import Task

Ended = Callable[[int, Answer], None]
"""Receives the number of an example, and its answer, as soon as that has ended."""


@dataclass(frozen=True)
class BaselineInputs:
    """A batch of examples that a method decodes itself; `ended` receives each answer."""

    model: LanguageModel
    config: Config
    task: Task
    examples: Sequence[TaskExample]
    ended: Ended


def encoded_prompt(config: Config, task: Task, model: LanguageModel, example: TaskExample) -> list[int]:
    """Token ids of the question as the run asks it."""
    prompt = config.prompt
    return model.tokenizer.encode_chat(task.prompt(example, prompt.template), prompt.system)


def greedy(inputs: BaselineInputs, examples: Sequence[TaskExample] | None = None) -> None:
    """One uninterrupted continuation an example. `examples`: to be asked in place of the batch's own."""

    def ended(place: int, samples: Sequence[Completion]) -> None:
        (done,) = samples
        inputs.ended(place, Answer(inputs.examples[place].id, tokens=done.tokens, text=done.text, ended=True))

    sampling = Sampling(inputs.config.decode.max_new_tokens, inputs.config.decode.temperature)
    _generate(inputs, examples or inputs.examples, sampling, "greedy", 1, ended)


def majority_vote(inputs: BaselineInputs) -> None:
    """`eval.votes` samples an example; the first of those that give the most frequent answer is committed, the tokens
    of the others count as probes."""

    def ended(place: int, samples: Sequence[Completion]) -> None:
        inputs.ended(place, _voted(inputs.examples[place], samples, inputs.task))

    sampling = Sampling(inputs.config.decode.max_new_tokens, inputs.config.offline_mine.temperature)
    _generate(inputs, inputs.examples, sampling, "vote", inputs.config.eval.votes, ended)


def _generate(
    inputs: BaselineInputs,
    examples: Sequence[TaskExample],
    sampling: Sampling,
    purpose: str,
    draws: int,
    ended: Callable[[int, Sequence[Completion]], None],
) -> None:
    """All in one call to the model; `ended` receives the draws of each example."""
    requests = [
        Request(prompt, sampling, seed=derive_seed(inputs.config.run.seed, purpose, example.id, draw))
        for example in examples
        for prompt in [encoded_prompt(inputs.config, inputs.task, inputs.model, example)]
        for draw in range(draws)
    ]
    samples: list[dict[int, Completion]] = [{} for _ in examples]

    def take(number: int, done: Completion) -> None:
        place, draw = divmod(number, draws)
        samples[place][draw] = done
        if len(samples[place]) == draws:
            ended(place, [samples[place][draw] for draw in range(draws)])

    inputs.model.generate(requests, finished=take)


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
