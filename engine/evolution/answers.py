"""`answers.jsonl`: every answer of the evolution, kept as soon as it was given, so that none is asked for twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.evolution.score import Outcome
from engine.files import append_jsonl, recover_jsonl, recover_records
from engine.servers.spent import Spent

MINIBATCH, VALIDATION, BASELINE = "minibatch", "validation", "baseline"
TEST, TEST_PLAIN = "test", "test_plain"
"""The test set under the best deltas, and without any processor: asked once, at the end."""


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a split of an iteration. `token_ids`: without the one that ended it. `correct` None: the judge
    failed, and `reasoning` says why."""

    iteration: int
    split: str
    example_id: str
    answer: str
    token_ids: list[int]
    correct: bool | None
    reasoning: str
    usage: Spent = Spent()

    @property
    def outcome(self) -> Outcome:
        """What its score depends on."""
        return Outcome(len(self.token_ids), self.correct)


Key = tuple[int, str]
"""Iteration and split."""


@dataclass
class KeptAnswers:
    """The answers so far. `batch`: answers are given and kept so many at a time, so that a resumed run asks for
    the same batches as one that was never stopped."""

    path: Path
    batch: int
    records: dict[Key, list[AnswerRecord]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, batch: int, sizes: dict[str, int]) -> KeptAnswers:
        """Read what is there; a batch that was torn in the middle is dropped and will be asked for again."""
        kept = cls(path, batch)
        found = recover_records(path, AnswerRecord)
        for record in found:
            kept.records.setdefault((record.iteration, record.split), []).append(record)
        if found:
            last = (found[-1].iteration, found[-1].split)
            own = kept.records[last]
            torn = 0 if len(own) == sizes.get(last[1]) else len(own) % batch
            if torn:
                del own[-torn:]
                recover_jsonl(path, keep=len(found) - torn)
        return kept

    def given(self, iteration: int, split: str) -> list[AnswerRecord]:
        """Answers there are already."""
        return self.records.setdefault((iteration, split), [])

    def take_unjudged(self, iteration: int, split: str) -> list[AnswerRecord]:
        """Take a split, the last that was asked, out of the file if the judge failed on all of it: it is to be judged
        anew. Empty where some were judged."""
        given = self.given(iteration, split)
        if not given or any(record.correct is not None for record in given):
            return []
        taken = given[:]
        given.clear()
        recover_jsonl(self.path, keep=sum(map(len, self.records.values())))
        return taken

    def add(self, records: Sequence[AnswerRecord]) -> None:
        """Keep a batch."""
        append_jsonl(self.path, [msgspec.to_builtins(record) for record in records])
        for record in records:
            self.given(record.iteration, record.split).append(record)
