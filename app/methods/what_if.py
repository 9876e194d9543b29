"""What if: another choice in the place of a recorded one. A method declares what can be tried and how the answers are
shown; one screen asks for them and draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.blocks.block import Block, Paragraph, Span
from app.blocks.model_text import one_line
from app.methods.source import CaseSource
from app.wording.figures import outcome, outcome_words
from engine.events import AnswerTried, Event, OtherAnswer

Read = Callable[[str], Any]
"""What a field's text asks for. Raises ValueError, in the user's words."""


@dataclass(frozen=True)
class Field:
    """A field of the request, with its label. `hint` stands in it while it is empty; `width` in columns, 0: what is
    left; `lines`: more than one for a text with line breaks; `is_swept`: its first number is tried times several
    factors; `filled`: its text once an answer has come, from that answer and the text that was typed."""

    name: str
    label: str
    value: str = ""
    read: Read = str
    hint: str = ""
    width: int = 14
    lines: int = 1
    is_swept: bool = False
    filled: Callable[[Any, str], str] = lambda tried, text: text


@dataclass(frozen=True)
class Answer:
    """An answer that stands beside others. `about`: what stands between its name and its text; `short`: what stands for
    it in a strip of many; `text` None: everything is said in `about`."""

    name: str
    text: str | None
    about: Sequence[Block] = ()
    right: bool | None = None
    short: str = ""


@dataclass(frozen=True)
class Answers:
    """`beside`: those that always stand there, the first of them is what all others are held against; `tried`: one for
    each choice that was tried, of which the most informative one is shown."""

    beside: Sequence[Answer]
    tried: Sequence[Answer] = ()

    @property
    def most_telling(self) -> int:
        """Of several choices that say what stands not beside them already the first that turns the verdict round, else
        the first; without one that in the middle: of a sweep the field's."""
        known = {(answer.text, answer.right) for answer in self.beside}
        new = [at for at, answer in enumerate(self.tried) if (answer.text, answer.right) not in known]
        turned = (at for at in new if self.tried[at].right != self.beside[0].right)
        return next(turned, next(iter(new), max(0, len(self.tried) - 1) // 2))


@dataclass(frozen=True)
class Choice:
    """A recorded choice, to be tried otherwise. `about`: what was recorded; `fields`: line by line; `request`: what the
    engine is asked for, from the fields' values; `answers`: from the event that comes back; `choices`: what can be
    chosen, and what else the event says (None before there is one)."""

    about: str
    fields: Sequence[Sequence[Field]]
    request: Callable[[dict[str, Any]], dict[str, Any]]
    answers: Callable[[Any], Answers]
    choices: Callable[[Any], Sequence[Block]] = lambda tried: ()


@dataclass(frozen=True)
class WhatIf:
    """What a method lets a person try. `system`: as `python -m engine what-if` names it; `of`: by type of event, the
    choice in its place, or why there is none."""

    system: str
    help: str
    of: Mapping[type[Event], Callable[[Any, CaseSource], Choice | str]]


HELP_OF_ALL = """
The line on top says whether the unchanged choice repeats the record; a model behind a server need not. Each answer is
dim as far as it is the committed one's, and marked `≠` where it leaves it. Every try is kept in the method's
`what_if.jsonl` in the run's folder; the run's figures stay as they are.
"""


# ------------------------------------------------------------ what fields ask for


def words_of(text: str) -> list[str]:
    """What is separated by spaces or commas."""
    return text.replace(",", " ").split()


def number(low: float = -1000, high: float = 1000) -> Callable[[str], float]:
    """A number between these."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"expected a number, found {text!r}") from None
        if not low <= value <= high:
            raise ValueError(f"expected {low:g} to {high:g}, found {text}")
        return value

    return read


def whole(low: int = 0, high: int = 1_000_000) -> Callable[[str], int]:
    """A whole number between these."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not low <= int(text[:9]) <= high:
            raise ValueError(f"expected a whole number from {low} to {high:,}, found {text!r}")
        return int(text)

    return read


def optional(read: Read) -> Read:
    """The same; None where the field is empty."""
    return lambda text: read(text) if text else None


def yes_or_no(text: str) -> bool:
    """1 or 0."""
    if text not in ("0", "1"):
        raise ValueError(f"expected 0 or 1, found {text!r}")
    return text == "1"


def strengths(text: str) -> list[float]:
    """One number or several."""
    values = [number()(word) for word in words_of(text)]
    if not values:
        raise ValueError("a strength is missing, such as 1.0")
    return values


def of_list(word: str, choices: Sequence[str]) -> str:
    """What a number of a list stands for."""
    if not 1 <= int(word) <= len(choices):
        raise ValueError(f"the list has no {word}; it has {len(choices)} entries")
    return choices[int(word) - 1]


# ------------------------------------------------------------ how answers are shown


def verdict_line(right: bool | None, words: str, more: str = "") -> Paragraph:
    """✓ or ✗ with the answer or the reason, then what else is known."""
    verdict = Span(
        f"{outcome(right)} {one_line(words)}", "dim" if right is None else "good" if right else "bad"
    )
    return Paragraph([verdict, Span(f"  {more}" if more else "", "dim")])


def verdict_of(answer: OtherAnswer) -> Paragraph:
    """Its verdict in the judge's words, or in a word."""
    return verdict_line(answer.right, answer.verdict or outcome_words(answer.right)[2:])


def answers_of(
    tried: AnswerTried,
    about: Callable[[OtherAnswer], Sequence[Block]],
    short: Callable[[OtherAnswer], str] = lambda answer: answer.text,
) -> Answers:
    """Of a method whose answers are texts: committed, none, and those that were tried."""

    def answer(prefix: str, one: OtherAnswer) -> Answer:
        return Answer(prefix + one.given, one.text, about(one), one.right, short(one))

    beside = [answer("committed: ", tried.committed), answer("", tried.none)]
    return Answers(beside, [answer("yours: ", one) for one in tried.yours])
