"""IFEval's instructions (Zhou et al. 2023, arXiv 2311.07911) as standing instructions of a conversation, in words.

Only those that `parse_check` reads, so that an answer is judged by the sentence that the user says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from engine.slsm.checks.measures import LANGUAGES

Given = Mapping[str, Any]
"""An instruction's fields in the file (`kwargs`)."""
_MOST = {"words": 200, "sentences": 15}
"""A larger bound is left out: no answer of a few hundred tokens comes near it, so nothing could be told of it."""
_FEWEST = {"words": 10, "sentences": 2}
_NAMES = {code: name.title() for name, code in LANGUAGES.items()}


def standing_instruction(kind: str, given: Given, draw: Random) -> str | None:
    """A sentence that asks for `kind` in every answer, in one of several wordings; None for an instruction that no
    check knows or that does not suit a chat. Raises ValueError, with what is wrong in `given`."""
    make = _SENTENCES.get(kind)
    wordings = make(given) if make is not None else ()
    return draw.choice(wordings) if wordings else None


def _fixed(*wordings: str) -> Callable[[Given], Sequence[str]]:
    return lambda given: wordings


def _used(given: Given) -> Sequence[str]:
    words = _listed(_texts(given, "keywords"))
    return f"Include {words} in every answer.", f"Please mention {words} in each of your answers."


def _avoided(given: Given) -> Sequence[str]:
    words = _listed(_texts(given, "forbidden_words"))
    return f"Never use {words} in any of your answers.", f"Please avoid {words} in all of your answers."


def _repeated(given: Given) -> Sequence[str]:
    bound, times = _relation(given), _number(given, "frequency")
    if bound == "less than" and times < 2:
        return ()
    word = f'the word "{_text(given, "keyword")}"'
    often = f"{bound} {times} time{'s' * (times != 1)}"
    return f"Use {word} {often} in every answer.", f"In every answer, use {word} {often}."


def _bounded(unit: str, field: str) -> Callable[[Given], Sequence[str]]:
    def make(given: Given) -> Sequence[str]:
        bound, number = _relation(given), _number(given, field)
        if number > _MOST[unit] or number < _FEWEST[unit]:
            return ()
        return (
            f"Use {bound} {number} {unit} in every answer.",
            f"Write {bound} {number} {unit} in each answer.",
        )

    return make


def _bullets(given: Given) -> Sequence[str]:
    number = _number(given, "num_bullets")
    points = f"exactly {number} bullet point{'s' * (number != 1)}"
    return f"Use {points} in every answer.", f"Write every answer with {points}."


def _ended(given: Given) -> Sequence[str]:
    phrase = _text(given, "end_phrase")
    return f'End every answer with "{phrase}"', f'Finish each of your answers with "{phrase}"'


def _language(given: Given) -> Sequence[str]:
    name = _NAMES.get(_text(given, "language"))
    return (f"Write every answer in {name}.", f"Always answer in {name}.") if name else ()


_SENTENCES: dict[str, Callable[[Given], Sequence[str]]] = {
    "punctuation:no_comma": _fixed(
        "Do not use any commas in your answers.", "Please avoid commas in all of your answers."
    ),
    "change_case:english_lowercase": _fixed(
        "Write every answer in lowercase letters.", "Use only lowercase letters in all of your answers."
    ),
    "change_case:english_capital": _fixed(
        "Write every answer in capital letters.", "Use only capital letters in all of your answers."
    ),
    "keywords:existence": _used,
    "keywords:forbidden_words": _avoided,
    "keywords:frequency": _repeated,
    "length_constraints:number_words": _bounded("words", "num_words"),
    "length_constraints:number_sentences": _bounded("sentences", "num_sentences"),
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:json_format": _fixed(
        "Write every answer in JSON.", "Give each of your answers as valid JSON."
    ),
    "detectable_format:title": _fixed(
        "Give every answer a title in double angular brackets, like <<title>>.",
        "Put a title in double angular brackets into every answer, like <<title>>.",
    ),
    "startend:end_checker": _ended,
    "startend:quotation": _fixed(
        "Put every answer in double quotation marks.", "Wrap each of your answers in double quotation marks."
    ),
    "language:response_language": _language,
}
KNOWN = tuple(_SENTENCES)
"""Ids of the instructions that have a sentence."""


def _listed(words: Sequence[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    if len(quoted) == 1:
        return f"the word {quoted[0]}"
    return f"the words {', '.join(quoted[:-1])} and {quoted[-1]}"


def _text(given: Given, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{name}` is {value!r}, not a text")
    return value.strip()


def _texts(given: Given, name: str) -> list[str]:
    value = given.get(name)
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(one, str) and one.strip() for one in value)
    ):
        raise ValueError(f"`{name}` is {value!r}, not a list of texts")
    return [one.strip() for one in value]


def _number(given: Given, name: str) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 1:
        raise ValueError(f"`{name}` is {value!r}, not a whole number from 1")
    return int(value)


def _relation(given: Given) -> str:
    value = given.get("relation")
    if value not in ("at least", "less than"):
        raise ValueError(f"`relation` is {value!r}, not `at least` or `less than`")
    return str(value)
