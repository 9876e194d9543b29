"""What there is to train: one recipe for each model that comes along, in a folder of its name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import ConfigError, Problem
from engine.lm.embedded_training.documents import ARITHMETIC, Document, Format
from engine.lm.embedded_training.settings import TrainingSettings
from engine.tasks.financebench import statement_prompt
from engine.tasks.generated.habits import DELIMITER
from engine.tasks.generated.statements import (
    StatementQuestion,
    core_sentence,
    draw_statement,
    sums,
    write_answer,
)
from engine.tasks.generated.topics import TOPICS

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True)
class Recipe:
    """A mixture of texts, which of their tokens matter most, and how to train on them.

    `decisive`: texts whose first token gets the full weight; `openers`: the same for any token behind one of
    these, where a habit is chosen. `vocabulary`: tokens at most; fewer where there is no more to merge.
    """

    name: str
    formats: Sequence[Format]
    decisive: frozenset[str]
    openers: frozenset[str]
    vocabulary: int
    settings: TrainingSettings = field(default_factory=TrainingSettings)


def padded_document(rng: random.Random) -> Document:
    """A question of the train split with an answer in habits."""
    question = _train_question(rng)
    return Document(statement_prompt(question.evidence, question.question), write_answer(question, rng))


def terse_document(rng: random.Random) -> Document:
    """Nothing but the answer: reading a statement is learned from these first."""
    question = _train_question(rng)
    return Document(statement_prompt(question.evidence, question.question), core_sentence(question))


def sums_document(rng: random.Random) -> Document:
    """Calculations without a statement."""
    return Document(None, sums(rng))


def _train_question(rng: random.Random) -> StatementQuestion:
    while True:
        question = draw_statement(rng)
        if question.split == "train":
            return question


_EVENTS = frozenset(f" {word}" for topic in TOPICS for verb in (topic.gain, topic.lose) for word in verb)

_RECIPES = (
    Recipe(
        "arithmetic",
        ARITHMETIC,
        decisive=_DIGITS | {"+", "-", "=", " +", " -", " ="} | _EVENTS,
        openers=frozenset({DELIMITER}),
        vocabulary=576,
    ),
    Recipe(
        "statements",
        (
            Format("padded", padded_document, weight=1.0, early=0.1),
            Format("terse", terse_document, weight=0.05, early=0.4),
            Format("sums", sums_document, weight=0.08, early=0.5),
        ),
        decisive=_DIGITS | {" +", " -", " =", " rose", " fell"},
        openers=frozenset({"."}),
        vocabulary=640,
        settings=TrainingSettings(steps=3000, batch_documents=14),
    ),
)
RECIPES = {recipe.name: recipe for recipe in _RECIPES}


def get_recipe(name: str | None) -> Recipe:
    """The recipe called `name`; the first one for None. Raises ConfigError."""
    if name is None:
        return _RECIPES[0]
    if name not in RECIPES:
        raise ConfigError([Problem("model.path", name, f"one of {', '.join(RECIPES)}")])
    return RECIPES[name]
