"""The two files of PathQuestion (Zhou, Huang, Zhu 2018), a line for each question and for each triple.

question<TAB>answer(answer1/answer2/...)<TAB>topic#relation1#entity1#...#answer      and, in PQ, #<end>#answer
head<TAB>relation<TAB>tail
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import DataError
from engine.gflownet.graphs.raw import Triple
from engine.regular_file import read_regular

END = "<end>"
_COLUMNS = re.compile(r"\t+")


@dataclass(frozen=True)
class QuestionLine:
    """A line of the question file. `gold_path` leads from the topic entity to an answer."""

    number: int
    question: str
    answers: tuple[str, ...]
    gold_path: tuple[Triple, ...]

    @property
    def topic(self) -> str:
        """The entity that the question names."""
        return self.gold_path[0][0]

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations of the gold path, in order."""
        return tuple(relation for _, relation, _ in self.gold_path)


def read_triples(path: Path) -> list[Triple]:
    """The triples of a knowledge base, each once, in order. Raises DataError with the line that is none."""
    triples: dict[Triple, None] = {}
    for number, line in _lines(path):
        found = _fields(line)
        if len(found) != 3:
            raise _broken(path, number, f"{len(found)} fields", "`head<TAB>relation<TAB>tail`")
        triples[found[0], found[1], found[2]] = None
    if not triples:
        raise DataError(what="an empty file", where=str(path), mend="expected a triple in each line")
    return list(triples)


def read_question_lines(path: Path) -> list[QuestionLine]:
    """The questions in order. Raises DataError with the line that is none."""
    lines = [_question(path, number, line) for number, line in _lines(path)]
    if not lines:
        raise DataError(what="an empty file", where=str(path), mend="expected a question in each line")
    return lines


def _question(path: Path, number: int, line: str) -> QuestionLine:
    found = _fields(line)
    if len(found) != 3:
        raise _broken(path, number, f"{len(found)} fields", "`question<TAB>answer(answers)<TAB>gold path`")
    question, answers, walked = found
    steps = walked.split("#")
    if END in steps:
        steps = steps[: steps.index(END)]
    if len(steps) < 3 or len(steps) % 2 == 0 or not all(map(str.strip, steps)):
        raise _broken(path, number, f"the gold path `{walked}`", "`topic#relation#entity#...#answer`")
    gold_path = tuple((steps[i], steps[i + 1], steps[i + 2]) for i in range(0, len(steps) - 2, 2))
    return QuestionLine(number, question, _answers(path, number, answers, steps[-1]), gold_path)


def _answers(path: Path, number: int, field: str, end: str) -> tuple[str, ...]:
    """The answer set. `end`, where the gold path leads, is among them: names may hold brackets, so that it says where
    the set begins."""
    first = end if field.startswith(f"{end}(") else field.partition("(")[0]
    listed = field[len(first) :]
    if not (listed.startswith("(") and listed.endswith(")")):
        raise _broken(path, number, f"the answers `{field}`", "`answer(answer1/answer2/...)`")
    names = dict.fromkeys(name for name in listed[1:-1].split("/") if name.strip())
    if end not in names:
        raise _broken(path, number, f"the gold path ends at `{end}`", f"one of the answers `{field}`")
    return tuple(names)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is not empty."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise DataError(
            what=f"cannot be read: {error.strerror}", where=str(path), mend="correct the path"
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            what="bytes that are no UTF-8", where=f"{path}, line {line}", mend="convert the file to UTF-8"
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _fields(line: str) -> list[str]:
    return [field.strip() for field in _COLUMNS.split(line.strip())]


def _broken(path: Path, number: int, found: str, expected: str) -> DataError:
    return DataError(what=f"found {found}, expected {expected}", where=f"{path}, line {number}",
                     mend="correct the line")  # fmt: skip
