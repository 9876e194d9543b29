"""Lines of per_example.jsonl: an evaluated answer with the figures of its decisions, whose texts the log has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.esm.lines import Count, Record
from engine.events import DecisionTaken
from engine.files import RESTORE, append_jsonl, read_jsonl, recover_batches, typed
from engine.tasks.example import TaskExample


class Probe(msgspec.Struct):
    """An entry that was probed."""

    entry: str
    ahat: float
    logprob: float | None = None
    score: float | None = None


class Step(msgspec.Struct, kw_only=True):
    """A decision: fields of `DecisionTaken`, and its probes. Those with a default came with later versions, or are not
    known of every decision."""

    m: int = 0
    phase: str
    gate: str
    memory_size: int = 0
    top_similarity: float | None = None
    best_ahat: float | None = None
    null_ahat: float | None = None
    chosen: str | None = None
    layer: int | None = None
    logprob: float | None = None
    null_logprob: float | None = None
    delta_logprob: float | None = None
    score: float | None = None
    null_score: float | None = None
    alpha: float
    committed_tokens: Count
    probe_tokens: Count
    probes: list[Probe] = []


class AnswerLine(msgspec.Struct, kw_only=True):
    """`correct_strict`: whether it is right where only an answer counts that the text marks as such; None in lines of
    earlier versions. `budget_used` = committed + probe tokens."""

    index: Count
    example_id: str
    question: str
    text: str
    pred: str
    gold: str
    correct: bool
    correct_strict: bool | None = None
    tokens_used: Count
    probe_tokens_used: Count
    budget_used: Count
    steered: Count
    steps: list[Step]


def step_of(decision: DecisionTaken) -> Step:
    """The figures of a decision."""
    figures = {name: getattr(decision, name) for name in Step.__struct_fields__ if name != "probes"}
    probes = [Probe(c.entry, c.ahat, c.logprob, c.score) for c in decision.candidates if c.probed]
    return Step(**figures, probes=probes)


def append_answers(path: Path, lines: Iterable[AnswerLine]) -> None:
    """Append the lines of a batch."""
    append_jsonl(path, map(msgspec.to_builtins, lines))


def recover_answers(path: Path, batch: int, examples: Sequence[TaskExample]) -> list[AnswerLine]:
    """Whole batches that an earlier attempt finished; anything after them is cut off. Raises DataError."""
    return checked_answers(recover_batches(path, batch, len(examples)), path, examples)


def read_answers(path: Path) -> list[AnswerLine]:
    """All lines. Raises DataError."""
    return checked_answers(read_jsonl(path), path)


def checked_answers(
    rows: Sequence[Record], path: Path, examples: Sequence[TaskExample] = ()
) -> list[AnswerLine]:
    """Lines as they stand in a file, each about the example at its place. Raises DataError."""
    lines = typed(rows, AnswerLine, path)
    for number, (line, example) in enumerate(zip(lines, examples, strict=False), 1):
        if line.example_id != example.id:
            raise DataError(
                what=f"`example_id` is {line.example_id!r}, the example at this place is {example.id!r}",
                where=f"{path}:{number}",
                hint=RESTORE,
            )
    return lines
