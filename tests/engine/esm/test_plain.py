"""The majority vote: who wins, what is committed, and what it costs."""

from __future__ import annotations

import pytest

from engine.config.file import load_config
from engine.esm.plain import greedy, majority_vote, most_frequent
from engine.lm.load import load_model
from engine.lm.protocol import Completion, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.loaders import load_task_dataset
from engine.tasks.task import get_task
from tests.kill_and_resume import DEMO


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        (["7", "9", "9"], "9"),
        (["7", "9"], "7"),
        (["", "", "5"], "5"),
        (["", ""], ""),
        (["1", "2", "2", "1"], "1"),
    ],
)
def test_the_most_frequent_answer_wins_and_the_earliest_among_equals(answers: list[str], winner: str) -> None:
    assert most_frequent(answers) == winner


def test_greedy_asks_once_as_the_settings_of_decoding_say() -> None:
    """At a temperature above 0 each example has a draw of its own, which goes with the run's seed."""
    asked: list[Request] = []

    class Telling:
        def generate(self, requests: list[Request], **rest: object) -> list[Completion]:
            asked.extend(requests)
            return [Completion([7, index], [], f"text {index}", "eos") for index in range(len(requests))]

    config = load_config(DEMO, ["decode.temperature=0.9", "decode.max_new_tokens=33", "run.seed=6"])
    examples = load_task_dataset("generated", None, "dev", 3)
    prompts = [[1, 2], [3], [4, 5]]
    answers = greedy(Telling(), config, examples, prompts, lambda: None)  # pyright: ignore[reportArgumentType]
    assert [list(request.prompt) for request in asked] == prompts
    assert {(request.sampling, request.steer) for request in asked} == {(Sampling(33, 0.9), None)}
    assert [request.seed for request in asked] == [derive_seed(6, "greedy", e.id) for e in examples]
    assert [(a.example, a.tokens, a.text) for a in answers] == [
        (example.id, [7, index], f"text {index}") for index, example in enumerate(examples)
    ]
    assert all(a.ended and not a.probe_tokens and not a.decisions for a in answers)


def test_a_sample_that_gives_the_winner_is_committed_and_the_others_are_paid_for() -> None:
    config, task = load_config(DEMO, ["eval.votes=5"]), get_task("generated")
    model = load_model(config.model)
    examples = load_task_dataset("generated", None, "dev", 6, seed=3)
    prompts = [model.tokenizer.encode_chat(task.prompt(example)) for example in examples]
    voted = majority_vote(model, config, task, examples, prompts, lambda: None)
    split = 0
    for example, prompt, answer in zip(examples, prompts, voted, strict=True):
        seeds = [derive_seed(config.run.seed, "vote", example.id, draw) for draw in range(5)]
        samples = model.generate([Request(prompt, Sampling(200, 1.0), seed=seed) for seed in seeds])
        answers = [task.extract(sample.text) for sample in samples]
        assert task.extract(answer.text) == most_frequent(answers)
        assert answer.text == samples[answers.index(most_frequent(answers))].text
        assert len(answer.tokens) + answer.probe_tokens == sum(len(sample.tokens) for sample in samples)
        split += len(set(answers)) > 1
    assert split, "all samples agree: nothing is voted on"
