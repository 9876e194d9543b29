"""The two files of PathQuestion (Zhou, Huang, Zhu 2018), a line for each question and for each triple.

question<TAB>answer(answer1/answer2/...)<TAB>topic#relation1#entity1#...#answer      and, in PQ, #<end>#answer
head<TAB>relation<TAB>tail
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.errors import DataError, reading_errors
from engine.gflownet.graphs.raw import Triple
from engine.regular_file import read_regular

END = "<end>"
_COLUMNS = re.compile(r"\t+")
_BRACKETS = 50  # looked at in a field of answers
_NAMED = 20  # broken lines that an error names by their numbers


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


def read_triples(path: Path) -> list[Triple]:
    """The triples of a knowledge base, each once, in order. Raises DataError with the first malformed line."""
    triples: dict[Triple, None] = {}
    for number, line in _lines(path):
        fields = _fields(line)
        if len(fields) != 3:
            raise _broken(path, number, f"{len(fields)} fields", "`head<TAB>relation<TAB>tail`")
        triples[fields[0], fields[1], fields[2]] = None
    if not triples:
        raise DataError(what="an empty file", where=str(path), hint="expected a triple in each line")
    return list(triples)


def read_question_lines(path: Path) -> list[QuestionLine]:
    """The questions in order. Raises DataError with the first malformed line and the numbers of the others."""
    lines: list[QuestionLine] = []
    broken: list[tuple[int, DataError]] = []
    for number, line in _lines(path):
        try:
            lines.append(_question(path, number, line))
        except DataError as error:
            broken.append((number, error))
    if broken:
        raise _first_of(broken)
    if not lines:
        raise DataError(what="an empty file", where=str(path), hint="expected a question in each line")
    return lines


def _first_of(broken: list[tuple[int, DataError]]) -> DataError:
    """The first error; its mend names the other lines, so that all can be corrected at once."""
    first, others = broken[0][1], [number for number, _ in broken[1:]]
    if not others:
        return first
    shown = ", ".join(map(str, others[:_NAMED])) + (" ..." if len(others) > _NAMED else "")
    return DataError(
        what=first.what,
        where=first.where,
        hint=f"correct or remove the line, and {len(others):,} more that are broken: {shown}",
    )


def _question(path: Path, number: int, line: str) -> QuestionLine:
    fields = _fields(line)
    if len(fields) != 3:
        raise _broken(path, number, f"{len(fields)} fields", "`question<TAB>answer(answers)<TAB>gold path`")
    question, answers, walked = fields
    steps = [step.strip() for step in walked.split("#")]
    if END in steps:
        steps = steps[: steps.index(END)]
    if len(steps) < 3 or len(steps) % 2 == 0 or not all(steps):
        raise _broken(path, number, f"the gold path `{walked}`", "`topic#relation#entity#...#answer`")
    gold_path = tuple((steps[i], steps[i + 1], steps[i + 2]) for i in range(0, len(steps) - 2, 2))
    return QuestionLine(number, question, _answers(path, number, answers, steps[-1]), gold_path)


def _answers(path: Path, number: int, field: str, end: str) -> tuple[str, ...]:
    """The answer set, `end` among them, which is where the gold path leads. Names may hold brackets: the set begins at
    the bracket behind a name that stands in it, else at the first behind which `end` does."""
    if field == end:
        return (end,)
    brackets = islice(re.finditer(r"(?<=.)\(", field), _BRACKETS) if field.endswith(")") else ()
    sets = [(field[: at.start()].strip(), _names(field[at.end() : -1], end)) for at in brackets]
    if not sets:
        raise _broken(path, number, f"the answers `{field}`", "`answer(answer1/answer2/...)`")
    with_end = [(first, names) for first, names in sets if end in names]
    if not with_end:
        raise _broken(path, number, f"the gold path ends at `{end}`", f"one of the answers `{field}`")
    return next((names for first, names in with_end if first in names), with_end[0][1])


def _names(listed: str, end: str) -> tuple[str, ...]:
    """The names of a set, each followed by a slash. A slash inside `end` divides nothing."""
    before, separator, behind = f"/{listed}/".partition(f"/{end}/")
    names = [*before.split("/"), *([end] if separator else []), *behind.split("/")]
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is not empty."""
    with reading_errors(path, "cannot be read", "correct the path", OSError):
        data = read_regular(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            what="bytes that are not UTF-8", where=f"{path}, line {line}", hint="convert the file to UTF-8"
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _fields(line: str) -> list[str]:
    return [field.strip() for field in _COLUMNS.split(line.strip())]


def _broken(path: Path, number: int, actual: str, expected: str) -> DataError:
    return DataError(what=f"found {actual}, expected {expected}", where=f"{path}, line {number}",
                     hint="correct the line")  # fmt: skip
