"""Answers that people have labelled right or wrong, to hold a judge against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.tasks.records import read_records

_RIGHT = frozenset(("correct", "correct answer", "right", "yes", "true"))
_WRONG = frozenset(("incorrect", "incorrect answer", "wrong", "refusal", "no", "false"))
_FORMS = (("question", "reference", "answer"), ("question", "gold_answer", "model_answer"))
"""This project's fields, and those of FinanceBench's published answers (Islam et al. 2023)."""
_HINT = (
    "give each line `question`, `reference` (a text or a list of them), `answer` and `label`, or FinanceBench's "
    "`question`, `gold_answer`, `model_answer` and `label`"
)


@dataclass(frozen=True)
class LabelledAnswer:
    """One answer and what people say of it. `type`: type of its question, empty if it has none. `refusal`: it declines
    to answer, which is not `right`."""

    question: str
    golds: tuple[str, ...]
    answer: str
    right: bool
    type: str = ""
    refusal: bool = False


def read_labelled_answers(path: str, types: Mapping[str, str] | None = None) -> list[LabelledAnswer]:
    """All answers of a JSONL file, or of the `.jsonl` files of a folder.

    `types`: type of a question by its `financebench_id`, for files that do not name it. Raises DataError with file
    and line.
    """
    place = Path(path).expanduser()
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    answers = [answer for file in files for answer in _of_file(file, types or {})]
    if not answers:
        raise DataError(what="there is no labelled answer", where=path, hint=_HINT)
    return answers


def _of_file(file: Path, types: Mapping[str, str]) -> Iterator[LabelledAnswer]:
    for where, record in read_records(file):
        names = next((form for form in _FORMS if all(name in record for name in form)), None)
        if names is None:
            raise DataError(what="this line is no labelled answer", where=where, hint=_HINT)
        question, reference, answer = (record[name] for name in names)
        golds = reference if isinstance(reference, list) else [reference]
        if not _text(question) or not golds or not all(map(_text, golds)):
            raise DataError(what="the question or its reference answer is empty", where=where, hint=_HINT)
        kind = (
            record.get("type")
            or record.get("question_type")
            or types.get(_text(record.get("financebench_id")))
        )
        label = _label(record, where)
        answered = _text(question), tuple(map(_text, golds)), _text(answer)
        yield LabelledAnswer(*answered, label in _RIGHT, _text(kind), refusal=label == "refusal")


def _label(record: Mapping[str, Any], where: str) -> str:
    label = record.get("label")
    word = _text(label).casefold()
    if word in _RIGHT | _WRONG:
        return word
    raise DataError(
        what=f"`label` is {label!r}"[:200],
        where=where,
        hint="write true or false, `correct`, `incorrect` or `refusal`",
    )


def _text(value: object) -> str:
    """Numbers as FinanceBench writes gold answers; an answer that is missing is empty."""
    return "" if value is None else str(value).strip()
