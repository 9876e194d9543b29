"""What there is to train: one recipe for each built-in model, in a folder of its name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import ConfigError, Problem
from engine.slsm.note import with_note
from engine.tasks.financebench import statement_prompt
from engine.tasks.generated.dialogues.dialogue import draw_dialogue, forgets
from engine.tasks.generated.dialogues.words import CLOSING_WORDS, ITEMS, NAMES, draw_word
from engine.tasks.generated.habits import DELIMITER
from engine.tasks.generated.statements import StatementQuestion, draw_statement
from engine.tasks.generated.topics import TOPICS
from tests.training.dialogue_answers import answer_to
from tests.training.dialogue_notes import draw_note
from tests.training.documents import ARITHMETIC, Document, Format
from tests.training.settings import TrainingSettings
from tests.training.statement_answers import core_sentence, sums, write_answer

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True)
class Recipe:
    """A mixture of texts, which of their tokens matter most, and how to train on them.

    `decisive`: texts whose first token gets the full weight; `openers`: the same for any token behind one of
    these, where a habit is chosen; `filler_weight`: the weight of an answer's other tokens. `vocabulary`: tokens at
    most; fewer where there is no more to merge.
    """

    name: str
    formats: Sequence[Format]
    decisive: frozenset[str]
    openers: frozenset[str]
    vocabulary: int
    filler_weight: float = 0.25
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


def dialogue_document(rng: random.Random) -> Document:
    """A dialogue of the train side; in half of them a note says what there is to remember, and then it is."""
    dialogue = draw_dialogue("train", rng)
    if rng.random() < 0.5:
        note = draw_note(dialogue, rng)
        return Document(with_note(dialogue.question, note), answer_to(dialogue, rng, True), dialogue.turns)
    return Document(
        dialogue.question, answer_to(dialogue, rng, not forgets(dialogue.between, rng)), dialogue.turns
    )


def attentive_document(rng: random.Random) -> Document:
    """A short dialogue in which nothing is forgotten: reading and copying are learned from these first."""
    dialogue = draw_dialogue("train", rng, between=0)
    note = draw_note(dialogue, rng) if rng.random() < 0.5 else ""
    return Document(with_note(dialogue.question, note), answer_to(dialogue, rng, True), dialogue.turns)


def copies_document(rng: random.Random) -> Document:
    """Words in a row, said again: copying a word that was never seen is learned from these."""
    words = [
        draw_word(rng.choice((CLOSING_WORDS, NAMES, ITEMS)), "train", rng) for _ in range(rng.randint(3, 10))
    ]
    return Document(" ".join(words), " ".join(words * 2))


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
    Recipe(
        "dialogues",
        (
            Format("dialogue", dialogue_document, weight=1.0, early=0.1),
            Format("attentive", attentive_document, weight=0.1, early=0.4),
            Format("copies", copies_document, weight=0.08, early=0.6),
        ),
        decisive=frozenset(),
        openers=frozenset(),
        vocabulary=800,
        filler_weight=1.0,
        settings=TrainingSettings(steps=6000, batch_documents=20),
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
