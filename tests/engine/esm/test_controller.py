"""The fast controller equals the literal one: a full pass for every capture, probe and commit."""

from collections.abc import Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.esm import DecodeSection, OnlineSection
from engine.esm.evaluation.methods import make_variant
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.events import DecisionTaken
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import LanguageModel
from engine.lm.transformers.model import TransformersModel
from engine.tasks.loaders import load_task_dataset
from tests.literal_model import LiteralModel


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def literal(model: TransformersModel) -> LiteralModel:
    """One for all: the methods differ late, and it remembers the passes up to there."""
    network = model.network
    return LiteralModel(network.model, list(network.layers), model.tokenizer, model.info)


def memory_of(model: LanguageModel) -> EpisodicMemory:
    """States after first segments, with directions between them as corrections."""
    examples = load_task_dataset("generated", None, "train", 12)
    tokenizer = model.tokenizer
    sequences = [
        [*tokenizer.encode_chat(e.question), *tokenizer.encode((e.solution or "").split("\n\n")[0] + "\n\n")]
        for e in examples
    ]
    states = np.stack([s[0] for s in model.states(sequences, [[-1]] * len(sequences), [2])])[:, 0]
    entries = [
        Entry(f"e{i}", 2, m, 0.9, None if i % 3 == 0 else states[i - 1] - states[i], examples[i].id)
        for i in range(len(examples))
        for m in (1, 2, 3)
    ]
    keys = np.repeat(states, 3, axis=0)
    return EpisodicMemory.of(entries, keys)


def _answers(model: LanguageModel, memory: EpisodicMemory, config: Config, name: str) -> Sequence[Answer]:
    examples = load_task_dataset("generated", None, "dev", 3)
    variant = make_variant(name, model, config, Sources(memory))
    return Controller(model, config, variant).run([example.id for example in examples], _prompts(model))


def _prompts(model: LanguageModel) -> list[list[int]]:
    examples = load_task_dataset("generated", None, "dev", 3)
    return [model.tokenizer.encode_chat(example.question) for example in examples]


@pytest.mark.parametrize(
    ("name", "carry"),
    [
        ("esm", False),
        ("esm", True),
        ("no_probing", True),
        ("random_vector", False),
        ("mean_vector", True),
        ("mean_vector_gated", False),
        ("no_memory", False),
    ],
)
def test_fast_equals_literal(model: TransformersModel, literal: LiteralModel, name: str, carry: bool) -> None:
    online = OnlineSection(k_retrieve=6, L=2, probe_tokens=4, carry_steering=carry, record_null=True)
    config = Config(online=online, decode=DecodeSection(max_new_tokens=90))
    memory = memory_of(model)
    fast = _answers(model, memory, config, name)
    literal.guesses = [
        [*prompt, *answer.tokens] for prompt, answer in zip(_prompts(model), fast, strict=True)
    ]
    slow = _answers(literal, memory, config, name)
    assert name == "no_memory" or sum(answer.steered for answer in fast)
    for a, b in zip(fast, slow, strict=True):
        assert a.tokens == b.tokens
        assert [d.chosen for d in a.decisions] == [d.chosen for d in b.decisions]
        assert [d.gate for d in a.decisions] == [d.gate for d in b.decisions]
        assert a.probe_tokens == b.probe_tokens
        for mine, theirs in zip(a.decisions, b.decisions, strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)
            assert mine.null_segment == theirs.null_segment


def test_budget_holds(model: TransformersModel) -> None:
    config = Config(decode=DecodeSection(max_new_tokens=25))
    for answer in _answers(model, memory_of(model), config, "esm"):
        assert len(answer.tokens) <= 25
        written = [decision.committed_tokens for decision in answer.decisions]
        assert [decision.tokens_before for decision in answer.decisions] == [0, *accumulate(written)][:-1]
        assert sum(written) == len(answer.tokens)


def test_an_answer_that_has_ended_or_used_its_budget_is_done() -> None:
    answers = [Answer("full", [1, 2, 3]), Answer("short", [1, 2]), Answer("ended", [1], ended=True)]
    ended: list[int] = []
    controller: Any = SimpleNamespace(
        decider=SimpleNamespace(budget=3),
        _decided=lambda decision: None,
        _ended=lambda row, answer: ended.append(row),
    )
    assert Controller._active(controller, answers) == [1]
    for row, answer in enumerate(answers):
        answer.decisions.append(DecisionTaken(method="esm", example=answer.example, m=1, gate="chosen"))
        Controller._report(controller, row, answer)
    assert ended == [0, 2]
