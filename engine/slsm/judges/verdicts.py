"""Asks the judge about answers and keeps what it says.

What fails for one answer leaves that answer unjudged. What fails for many in a row is the judge's server: that ends the
stage, and when the run goes on, these answers are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.config.slsm import SLSMSection
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.judges.judge import Judge, JudgeFailed, JudgeUnreachable
from engine.slsm.multichallenge import Criterion
from engine.slsm.records import Case, VerdictRecord

_DEAD_AFTER = 8
"""Answers in a row on which the judge's server fails."""


class Judging:
    """One verdict for each answer of a conversation, however many modes gave it."""

    def __init__(
        self,
        context: StageContext,
        judge: Judge,
        criteria: Mapping[str, Criterion],
        verdicts: KeyedRecords[Case, VerdictRecord],
    ) -> None:
        self.context = context
        self.section: SLSMSection = context.config.slsm
        self.judge = judge
        self.criteria = criteria
        self.verdicts = verdicts

    def run(self, wanted: Iterable[Case]) -> None:
        """Raises JudgeUnreachable where the server fails on several answers in a row, or on all of several."""
        missing = [
            case for case in dict.fromkeys(wanted) if case[0] in self.criteria and case not in self.verdicts
        ]
        failures = _Failures(self.verdicts)
        for_each_side_by_side(
            self._verdict, missing, self.section.concurrency, failures.take, self.context.checkpoint
        )
        failures.end(len(missing))

    def _verdict(self, case: Case) -> _Judged:
        conversation, answer = case
        failed: JudgeFailed | None = None
        spent = Spent()
        for _ in range(self.section.judge.attempts):
            try:
                verdict = self.judge.judge(self.criteria[conversation], answer)
            except JudgeFailed as error:
                failed, spent = error, spent + error.spent
            else:
                spent += verdict.spent
                return _Judged(_record(case, verdict.passed, verdict.reason, spent))
        unreachable = failed if isinstance(failed, JudgeUnreachable) else None
        return _Judged(_record(case, None, str(failed), spent), unreachable)


@dataclass(frozen=True)
class _Judged:
    """`failure`: that the server could not be had, at the last attempt."""

    record: VerdictRecord
    failure: JudgeUnreachable | None = None


@dataclass
class _Failures:
    """`held`: the last answers on which the server failed; written once it is known not to be dead."""

    verdicts: KeyedRecords[Case, VerdictRecord]
    held: list[tuple[VerdictRecord, JudgeUnreachable]] = field(default_factory=list)

    def take(self, _: Case, found: _Judged) -> None:
        if found.failure is None:
            if len(self.held) < _DEAD_AFTER:
                self._write()
            self.verdicts.add(found.record)
            return
        self.held.append((found.record, found.failure))
        if len(self.held) == _DEAD_AFTER:
            raise found.failure

    def end(self, asked: int) -> None:
        if len(self.held) == asked > 1:
            raise self.held[-1][1]
        self._write()

    def _write(self) -> None:
        for record, _ in self.held:
            self.verdicts.add(record)
        self.held = []


def _record(case: Case, passed: bool | None, reason: str, spent: Spent) -> VerdictRecord:
    return VerdictRecord(conversation_id=case[0], answer=case[1], passed=passed, reason=reason, cost=spent)
