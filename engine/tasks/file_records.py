"""Problems in files of one's own (`task.dataset: files`): the configuration names their fields, and how to compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from engine.config.esm import FieldsSection, TaskSection
from engine.errors import DataError
from engine.tasks.example import TaskExample
from engine.tasks.extractors import plain_number
from engine.tasks.records import Record

_NUMBER = re.compile(r"-?\d*\.?\d+")
_LETTERS = "ABCDE"


def parse_file_records(section: TaskSection, records: Iterable[Record], split: str) -> list[TaskExample]:
    """The examples. Raises DataError with file and line for a record that lacks a named field, or whose answer cannot
    be compared as `task.compare` says."""
    return [
        _example(section, where, record, f"files-{split}-{number}")
        for number, (where, record) in enumerate(records)
    ]


def _example(section: TaskSection, where: str, record: dict[str, Any], key: str) -> TaskExample:
    fields = section.fields
    question = _text(fields, "question", where, record)
    answer = _text(fields, "answer", where, record)
    solution = _text(fields, "solution", where, record) if fields.solution else None
    if section.compare == "number":
        answer = _number(where, answer)
    elif section.compare == "choice":
        choices = _choices(fields, where, record)
        lines = [f"{letter}. {choice}" for letter, choice in zip(_LETTERS, choices, strict=False)]
        question, answer = "\n".join([question, *lines]), _letter(where, answer, choices)
    return TaskExample(_text(fields, "id", where, record) if fields.id else key, question, answer, solution)


def _text(fields: FieldsSection, role: str, where: str, record: dict[str, Any]) -> str:
    name = getattr(fields, role)
    if name not in record:
        there = ", ".join(f"`{field}`" for field in record) or "none"
        raise DataError(
            what=f"there is no field `{name}`, only {there}", where=where, hint=f"correct task.fields.{role}"
        )
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise DataError(
            what=f"`{name}` is {value!r:.60}, neither a text nor a number",
            where=where,
            hint="correct or remove it",
        )
    return str(value).strip()


def _number(where: str, answer: str) -> str:
    number = plain_number(answer)
    if not _NUMBER.fullmatch(number):
        raise DataError(
            what=f"the answer {answer[:40]!r} is not a number",
            where=where,
            hint="correct it, or set task.compare to exact or math",
        )
    return number


def _choices(fields: FieldsSection, where: str, record: dict[str, Any]) -> list[str]:
    """Empty where the question itself lists them."""
    if fields.choices is None:
        return []
    choices = record.get(fields.choices)
    texts = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    if not isinstance(choices, list) or not texts or not 2 <= len(choices) <= len(_LETTERS):
        raise DataError(
            what=f"`{fields.choices}` is not a list of two to five texts",
            where=where,
            hint="correct it, or task.fields.choices",
        )
    return choices


def _letter(where: str, answer: str, choices: list[str]) -> str:
    """The letter of the right choice, given as that or as the choice's own text."""
    if choices.count(answer) == 1:
        return _LETTERS[choices.index(answer)]
    letters = _LETTERS[: len(choices)] if choices else _LETTERS
    if len(answer) == 1 and answer.upper() in letters:
        return answer.upper()
    raise DataError(
        what=f"the answer {answer[:40]!r} is neither one of the letters {letters} nor one of the choices",
        where=where,
        hint="correct it",
    )
