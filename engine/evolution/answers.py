"""`answers.jsonl`: every answer of the evolution, written batch by batch, so that a resumed run asks for none twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.config.evolution import EvolutionSection
from engine.evolution.scoring.score import Outcome
from engine.evolution.splits import BASELINE, MINIBATCH, ON_TEST, VALIDATION, brief_split
from engine.files import append_jsonl, recover_jsonl, recover_records
from engine.servers.spent import Spent


def split_sizes(section: EvolutionSection) -> dict[str, int]:
    """The number of questions of each split."""
    on_validation = (VALIDATION, BASELINE, *map(brief_split, range(len(section.brief_prompts))))
    return {
        MINIBATCH: section.minibatch_size,
        **dict.fromkeys(on_validation, section.validation_size),
        **dict.fromkeys(ON_TEST, section.test_size),
    }


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a split of an iteration. `token_ids`: without the end token. `correct` None: the judge failed,
    or, with `cannot_tell`, the question is none that it can judge; `reasoning` says why."""

    iteration: int
    split: str
    example_id: str
    answer: str
    token_ids: list[int]
    correct: bool | None
    reasoning: str
    cannot_tell: bool = False
    usage: Spent = Spent()

    @property
    def outcome(self) -> Outcome:
        """What its score depends on."""
        return Outcome(len(self.token_ids), self.correct, self.cannot_tell)


class CutVerdict(msgspec.Struct, frozen=True):
    """Whether an answer without processor is right if it ends after `cap` tokens, by a judge that costs something."""

    split: str
    example_id: str
    cap: int
    correct: bool
    usage: Spent


Key = tuple[int, str]
"""Iteration and split."""


@dataclass
class AnswerFile:
    """The answers so far, in memory and on disk. `batch`: answers requested and written together, so that a
    resumed run asks for the same batches as one that was never stopped."""

    path: Path
    batch: int
    records: dict[Key, list[AnswerRecord]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, batch: int, sizes: dict[str, int]) -> AnswerFile:
        """Read the file. A batch that was written only in part is dropped, to be asked for again."""
        file = cls(path, batch)
        records = recover_records(path, AnswerRecord)
        for record in records:
            file.of_split(record.iteration, record.split).append(record)
        if records:
            last = file.of_split(records[-1].iteration, records[-1].split)
            torn = 0 if len(last) == sizes.get(records[-1].split) else len(last) % batch
            if torn:
                del last[-torn:]
                recover_jsonl(path, keep=len(records) - torn)
        return file

    def of_split(self, iteration: int, split: str) -> list[AnswerRecord]:
        """The answers so far of a split of an iteration."""
        return self.records.setdefault((iteration, split), [])

    def take_unjudged(self, iteration: int, split: str) -> list[AnswerRecord]:
        """Remove the last split from the file and return it, if none of its answers was judged and the judge failed on
        some, so that they can be judged again. Empty otherwise."""
        records = self.of_split(iteration, split)
        judged = any(record.correct is not None for record in records)
        if judged or all(record.cannot_tell for record in records):
            return []
        taken = records[:]
        records.clear()
        recover_jsonl(self.path, keep=sum(map(len, self.records.values())))
        return taken

    def add(self, records: Sequence[AnswerRecord]) -> None:
        """Append a batch."""
        append_jsonl(self.path, [msgspec.to_builtins(record) for record in records])
        for record in records:
            self.of_split(record.iteration, record.split).append(record)
