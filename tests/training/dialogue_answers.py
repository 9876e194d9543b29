"""Answers of an assistant that remembers what a dialogue told it, or has forgotten it, and a perfect note."""

from __future__ import annotations

import random
import re

from engine.tasks.generated.dialogues.dialogue import Dialogue
from engine.tasks.generated.dialogues.memories import Memory
from engine.tasks.generated.dialogues.small_talk import TOPICS

_USERS = "The user's "
_LIST = re.compile(r"\w+, \w+, \w+")
"""The list as it was first told: three words."""


def notes_of(dialogue: Dialogue) -> list[str]:
    """The lines of a perfect note."""
    return [memory.note for memory in dialogue.memories]


def answer_to(dialogue: Dialogue, rng: random.Random, remembers: bool) -> str:
    """The answer of an assistant that remembers everything, or has forgotten the memory in question."""
    if not remembers:
        return _forgotten(dialogue.memory, rng)
    answer = _kept(dialogue.memory, rng)
    for other in dialogue.memories[1:]:
        answer = other.rule(answer)
    return answer


def _kept(memory: Memory, rng: random.Random) -> str:
    if memory.kind == "avoid":
        return _small_talk(memory, rng, avoid=_last_word(memory))
    if memory.kind == "fact":
        return f"Your {memory.note.removeprefix(_USERS)}."
    if memory.kind == "agreed":
        return f"{memory.note}."
    if memory.kind == "list":
        return f"Your {memory.note.removeprefix('The ')}."
    return memory.rule(_small_talk(memory, rng))


def _forgotten(memory: Memory, rng: random.Random) -> str:
    if memory.kind == "avoid":
        return _small_talk(memory, rng, say=_last_word(memory))
    if memory.kind == "fact":
        thing = memory.note.removeprefix(_USERS).partition(" is ")[0]
        return f"I do not know your {thing}."
    if memory.kind == "agreed":
        thing = memory.note.removeprefix("Our ").partition(" is called ")[0]
        return f"We have not named our {thing} yet."
    if memory.kind == "list":
        told = _LIST.search(memory.opening[0][0])
        assert told is not None
        return f"Your list is {told[0]}."
    return _small_talk(memory, rng)


def _last_word(memory: Memory) -> str:
    return memory.note.split()[-1]


def _small_talk(memory: Memory, rng: random.Random, say: str | None = None, avoid: str | None = None) -> str:
    """A sentence with a word of the question's topic: `say`, or any word but `avoid`."""
    topic = next(topic for topic in TOPICS if topic in memory.question)
    word = say or rng.choice([word for word in TOPICS[topic] if word != avoid])
    return f"One {topic} is {word}."
