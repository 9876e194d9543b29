"""The majority vote: who wins, what is committed, and what it costs."""

from __future__ import annotations

import pytest

from engine.config.file import load_config
from engine.esm.plain import majority_vote, most_frequent
from engine.lm.load import load_model
from engine.lm.protocol import Request, Sampling
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
