"""The majority vote: who wins, what is committed, and what it costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from engine.config.file import load_config
from engine.esm.baselines.field import prompted
from engine.esm.baselines.plain import BaselineInputs, encoded_prompt, greedy, majority_vote, most_frequent
from engine.esm.online.control_point import Answer
from engine.lm.loading.load import load_model
from engine.lm.protocol import Completion, Finished, LanguageModel, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.loaders import load_task_dataset
from engine.tasks.task import Task
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
        tokenizer = SimpleNamespace(encode_chat=lambda text, system: [len(text)])

        def generate(self, requests: list[Request], finished: Finished) -> list[Completion]:
            asked.extend(requests)
            done = [Completion([7, index], [], f"text {index}", "eos") for index in range(len(requests))]
            for index in (2, 0, 1):
                finished(index, done[index])
            return done

    config = load_config(DEMO, ["decode.temperature=0.9", "decode.max_new_tokens=33", "run.seed=6"])
    examples = load_task_dataset("generated", None, "dev", 3)
    ended: dict[int, Answer] = {}
    model = cast("LanguageModel", Telling())
    greedy(BaselineInputs(model, config, Task("generated", "generated"), examples, ended.__setitem__))
    assert list(ended) == [2, 0, 1], "an answer is there when it has ended, not when all have"
    answers = [ended[index] for index in range(3)]
    assert [request.prompt for request in asked] == [[len(example.question)] for example in examples]
    assert {(request.sampling, request.steer) for request in asked} == {(Sampling(33, 0.9), None)}
    assert [request.seed for request in asked] == [derive_seed(6, "greedy", e.id) for e in examples]
    assert [(a.example, a.tokens, a.text) for a in answers] == [
        (example.id, [7, index], f"text {index}") for index, example in enumerate(examples)
    ]
    assert all(a.ended and not a.probe_tokens and not a.decisions for a in answers)


def test_prompted_asks_with_a_request_behind_the_question() -> None:
    """The answers are those of the batch's own examples, with their draws."""
    asked: list[Request] = []

    def generate(requests: list[Request], finished: Finished) -> None:
        asked.extend(requests)
        for number in (1, 0):
            finished(number, Completion([number], [], f"text {number}", "eos"))

    tokenizer = SimpleNamespace(encode_chat=lambda text, system: [text, system])
    model = cast("LanguageModel", SimpleNamespace(tokenizer=tokenizer, generate=generate))
    settings = ["eval.field.prompt=Be sure.", "prompt.system=S", "prompt.template='T: {question}'"]
    config, examples = load_config(DEMO, settings), load_task_dataset("generated", None, "dev", 2)
    ended: dict[int, Answer] = {}
    prompted(BaselineInputs(model, config, Task("generated", "generated"), examples, ended.__setitem__))
    assert [request.prompt for request in asked] == [[f"T: {e.question}\nBe sure.", "S"] for e in examples]
    assert [request.seed for request in asked] == [
        derive_seed(config.run.seed, "greedy", e.id) for e in examples
    ]
    assert list(ended.items()) == [
        (n, Answer(examples[n].id, tokens=[n], text=f"text {n}", ended=True)) for n in (1, 0)
    ]


def test_of_answers_given_equally_often_the_one_drawn_first_wins_whichever_ended_first() -> None:
    """5 and 6, and no answer; the last draw ends first. They are drawn as `mine` draws, not as greedy decodes."""
    texts, asked = ["#### 5", "#### 6", "none"], list[Request]()

    def generate(requests: list[Request], finished: Finished) -> None:
        asked.extend(requests)
        for number in (2, 1, 0):
            finished(number, Completion([number] * (number + 1), [], texts[number], "eos"))

    tokenizer = SimpleNamespace(encode_chat=lambda text, system: [7])
    model = cast("LanguageModel", SimpleNamespace(tokenizer=tokenizer, generate=generate))
    settings = [
        "eval.votes=3",
        "decode.temperature=0",
        "offline_mine.temperature=0.7",
        "decode.max_new_tokens=9",
    ]
    config, (example,) = load_config(DEMO, settings), load_task_dataset("generated", None, "dev", 1)
    ended: dict[int, Answer] = {}
    majority_vote(BaselineInputs(model, config, Task("generated", "generated"), [example], ended.__setitem__))
    assert {request.sampling for request in asked} == {Sampling(9, 0.7)}
    assert ended == {0: Answer(example.id, tokens=[0], text="#### 5", probe_tokens=2 + 3, ended=True)}


def test_a_sample_that_gives_the_winner_is_committed_and_the_others_are_paid_for() -> None:
    config, task = load_config(DEMO, ["eval.votes=5"]), Task("generated", "generated")
    model = load_model(config.model)
    examples = load_task_dataset("generated", None, "dev", 6, seed=3)
    prompts = [encoded_prompt(config, task, model, example) for example in examples]
    ended: dict[int, Answer] = {}
    majority_vote(BaselineInputs(model, config, task, examples, ended.__setitem__))
    voted = [ended[index] for index in range(len(examples))]
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
