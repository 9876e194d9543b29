"""Published record formats -> TaskExample, a function for each data set.

GSM8K: Cobbe et al. 2021. MATH-500: Lightman et al. 2023, of Hendrycks et al. 2021. ARC: Clark et al. 2018. AIME has no
single format: the hub's many copies differ in their fields' names and in how they write a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from engine.errors import DataError
from engine.tasks.example import TaskExample
from engine.tasks.extractors import last_box, plain_number
from engine.tasks.records import Record

_CALCULATOR = re.compile(r"<<[^<>]*>>")
_NUMBER = re.compile(r"-?[\d,]*\.?\d+")
_AROUND = re.compile(r"\\(?:boxed|fbox|text|mathrm)\s*\{([^{}]*)\}|\^\{?\\circ\}?|[{}]")
_LARGEST_AIME = 999
_IDS = ("unique_id", "id", "problem_idx")


def parse_records(dataset: str, records: Iterable[Record], split: str) -> list[TaskExample]:
    """The examples of all records in the format of `dataset`.

    Ids that are only numbers, or missing, get the name of the split, since every file counts from 0 again.
    Raises DataError with the position of a record that does not fit.
    """
    parse = FORMATS[dataset]
    return [
        parse(_id(dataset, split, index, record), where, record)
        for index, (where, record) in enumerate(records)
    ]


def _id(dataset: str, split: str, index: int, record: dict[str, Any]) -> str:
    lowered = _lowered(record)
    given = next((str(lowered[name]) for name in _IDS if lowered.get(name) not in (None, "")), str(index))
    return f"{dataset}-{split}-{given}" if given.isdigit() else given


def _gsm8k(key: str, where: str, record: dict[str, Any]) -> TaskExample:
    """GSM8K: `answer` ends with `#### n`. Calculator annotations in double angle brackets are left out."""
    written = _text(where, record, "answer")
    reasoning, mark, number = written.rpartition("####")
    number = number.strip().strip("$.")
    if not _NUMBER.fullmatch(number):
        raise _wrong(where, f"`answer` ends with {number[-40:]!r}, not with `#### ` and a number")
    steps = [line.strip() for line in _CALCULATOR.sub("", reasoning).splitlines() if line.strip()]
    answer = plain_number(number)
    solution = "\n\n".join([*steps, f"#### {answer}"]) if mark else None
    return TaskExample(key, _text(where, record, "question"), answer, solution)


def _math(key: str, where: str, record: dict[str, Any]) -> TaskExample:
    """MATH: where `answer` is missing, as in MATH itself, the answer is the last box of the solution."""
    lowered = _lowered(record)
    solution = str(lowered.get("solution") or "") or None
    boxed = last_box(solution or "")
    answer = str(lowered.get("answer") if lowered.get("answer") not in (None, "") else boxed)
    if not answer.strip():
        raise _wrong(where, "`answer` is missing, and `solution` holds no box" + _fields(record))
    meta = {name: lowered[name] for name in ("subject", "type", "level") if lowered.get(name) is not None}
    return TaskExample(key, _text(where, record, "problem", "question"), answer.strip(), solution, meta)


def _aime(key: str, where: str, record: dict[str, Any]) -> TaskExample:
    """AIME: the answer is a whole number from 0 to 999, however it is written: 25, "025", "$25^\\circ$", 25.0."""
    example = _math(key, where, record)
    bare = _AROUND.sub(lambda match: match[1] or "", example.answer)
    bare = plain_number(bare)
    if not (bare.isascii() and bare.isdigit() and int(bare) <= _LARGEST_AIME):
        raise _wrong(
            where, f"the answer is {example.answer[:40]!r}, not a whole number from 0 to {_LARGEST_AIME}"
        )
    return TaskExample(key, example.question, str(int(bare)), example.solution, example.meta)


def _arc(key: str, where: str, record: dict[str, Any]) -> TaskExample:
    """ARC: choices {text, label} beside the question, or the original {stem, choices: [...]}. Labels are letters or
    numbers; the answer is always a letter."""
    question, choices = record.get("question"), record.get("choices")
    if isinstance(question, dict):
        question, choices = question.get("stem"), question.get("choices")
    labels, texts = _choices(where, choices)
    answer = _text(where, record, "answerkey").strip()
    if answer not in labels:
        raise _wrong(where, f"`answerKey` is {answer!r}, none of {', '.join(labels)}")
    letters = [chr(ord("A") + index) for index in range(len(labels))]
    lines = [f"{letter}. {text}" for letter, text in zip(letters, texts, strict=True)]
    text = "\n".join([_text(where, {"question": question}, "question"), *lines])
    return TaskExample(key, text, letters[labels.index(answer)])


def _choices(where: str, choices: Any) -> tuple[list[str], list[str]]:
    if isinstance(choices, dict):
        labels, texts = choices.get("label"), choices.get("text")
    elif isinstance(choices, list) and all(isinstance(choice, dict) for choice in choices):
        labels, texts = (
            [choice.get("label") for choice in choices],
            [choice.get("text") for choice in choices],
        )
    else:
        labels = texts = None
    if (
        not (isinstance(labels, list) and isinstance(texts, list) and len(labels) == len(texts) > 1)
        or not all(isinstance(entry, str) and entry for entry in (*labels, *texts))
        or len(set(labels)) < len(labels)
    ):
        raise _wrong(where, "`choices` are not `text` and `label` of two or more choices")
    return labels, texts


def _lowered(record: dict[str, Any]) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in record.items()}


def _text(where: str, record: dict[str, Any], *names: str) -> str:
    """The value of the first of these fields that the record has, in upper or lower case; never an empty text."""
    lowered = _lowered(record)
    value = next((lowered[name] for name in names if lowered.get(name) is not None), None)
    if value is None:
        raise _wrong(where, f"the field `{names[0]}` is missing" + _fields(record))
    if isinstance(value, dict | list) or not str(value).strip():
        raise _wrong(where, f"`{names[0]}` is {str(value)[:40]!r}, not a text")
    return str(value)


def _fields(record: dict[str, Any]) -> str:
    return f"; its fields are {', '.join(sorted(map(str, record))) or 'none'}"


def _wrong(where: str, what: str) -> DataError:
    return DataError(what=what, where=where, hint="give the file in the data set's published format")


FORMATS: dict[str, Callable[[str, str, dict[str, Any]], TaskExample]] = {
    "gsm8k": _gsm8k,
    "math500": _math,
    "aime": _aime,
    "arc-c": _arc,
}
