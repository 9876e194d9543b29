"""Published record formats -> TaskExample, one small function a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.errors import DataError
from engine.tasks.example import TaskExample
from engine.tasks.extractors import extract_pred
from engine.tasks.records import Record


def parse_records(dataset: str, records: Iterable[Record], source: str) -> list[TaskExample]:
    """All records of `source` in the format of `dataset`."""
    parse = FORMATS[dataset]
    return [parse(f"{dataset}-{index}", where, record) for index, (where, record) in enumerate(records)]


def _field(where: str, record: dict[str, Any], *names: str) -> Any:
    """The first of `names` that is there, in any case."""
    lowered = {key.lower(): value for key, value in record.items()}
    for name in names:
        if lowered.get(name) is not None:
            return lowered[name]
    raise DataError(
        what=f"the field `{names[0]}` is missing; there are {', '.join(sorted(record)) or 'none'}",
        where=where,
        mend="give the file in the data set's published format",
    )


def _id(record: dict[str, Any], default: str) -> str:
    return str(record.get("unique_id") or record.get("id") or record.get("ID") or default)


def _gsm8k(default: str, where: str, record: dict[str, Any]) -> TaskExample:
    solution = str(_field(where, record, "answer"))
    answer = extract_pred("gsm8k", solution)
    return TaskExample(_id(record, default), str(_field(where, record, "question")), answer, solution)


def _math(default: str, where: str, record: dict[str, Any]) -> TaskExample:
    question = str(_field(where, record, "problem", "question"))
    answer = str(_field(where, record, "answer"))
    solution = record.get("solution") or record.get("Solution")
    return TaskExample(_id(record, default), question, answer, str(solution) if solution else None)


def _arc(default: str, where: str, record: dict[str, Any]) -> TaskExample:
    """Either choices {text, label} beside the question, or the original {stem, choices: [...]}."""
    question, choices = _field(where, record, "question"), record.get("choices")
    if isinstance(question, dict):
        question, choices = _field(where, question, "stem"), _field(where, question, "choices")
    if isinstance(choices, dict):
        labels, texts = list(choices["label"]), list(choices["text"])
    else:
        labels, texts = [c["label"] for c in choices or []], [c["text"] for c in choices or []]
    key = str(_field(where, record, "answerkey"))
    if key not in labels:
        raise DataError(what=f"answerKey {key!r} is none of {labels}", where=where, mend="mend the record")
    letters = [chr(ord("A") + i) for i in range(len(labels))]
    lines = [f"{letter}. {text}" for letter, text in zip(letters, texts, strict=True)]
    text = "\n".join([str(question), *lines])
    return TaskExample(_id(record, default), text, letters[labels.index(key)])


FORMATS: dict[str, Callable[[str, str, dict[str, Any]], TaskExample]] = {
    "gsm8k": _gsm8k,
    "math500": _math,
    "aime": _math,
    "arc-c": _arc,
}
