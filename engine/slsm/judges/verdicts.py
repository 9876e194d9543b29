"""Asks the judge about answers and keeps its verdicts.

A failure on one answer leaves that answer unjudged. Failures of the judge's server on many answers in a row end the
stage; a resumed run judges these answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.config.slsm import SLSMSection
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.judges.judge import AnswerJudge, AnswerJudgeFailed, AnswerJudgeUnreachable
from engine.slsm.multichallenge import Criterion
from engine.slsm.records import VerdictKey, VerdictRecord

_DEAD_AFTER = 8
"""Failures of the judge's server in a row that end the stage."""


class JudgeRunner:
    """Gets a verdict for each different answer to a conversation, whatever number of modes gave it."""

    def __init__(
        self,
        context: StageContext,
        judge: AnswerJudge,
        criteria: Mapping[str, Criterion],
        verdicts: KeyedRecords[VerdictKey, VerdictRecord],
    ) -> None:
        self.context = context
        self.section: SLSMSection = context.config.slsm
        self.judge = judge
        self.criteria = criteria
        self.verdicts = verdicts

    def run(self, wanted: Iterable[VerdictKey]) -> None:
        """Raises AnswerJudgeUnreachable where the server fails on many answers in a row, or on all of two or more."""
        missing = [
            case for case in dict.fromkeys(wanted) if case[0] in self.criteria and case not in self.verdicts
        ]
        failures = _Failures(self.verdicts)
        for_each_side_by_side(
            self._verdict, missing, self.section.concurrency, failures.take, self.context.checkpoint
        )
        failures.end(len(missing))

    def _verdict(self, case: VerdictKey) -> _Judged:
        conversation, answer = case
        failed: AnswerJudgeFailed | None = None
        spent = Spent()
        for _ in range(self.section.judge.attempts):
            try:
                verdict = self.judge.judge(self.criteria[conversation], answer)
            except AnswerJudgeFailed as error:
                failed, spent = error, spent + error.spent
                if error.final:
                    break
            else:
                spent += verdict.spent
                return _Judged(_record(case, verdict.passed, verdict.reason, spent))
        unreachable = failed if isinstance(failed, AnswerJudgeUnreachable) else None
        return _Judged(_record(case, None, str(failed), spent), unreachable)


@dataclass(frozen=True)
class _Judged:
    """A verdict. `failure`: the server's failure at the last attempt."""

    record: VerdictRecord
    failure: AnswerJudgeUnreachable | None = None


@dataclass
class _Failures:
    """Failures of the server in a row. `held`: their records, written once the server answers again."""

    verdicts: KeyedRecords[VerdictKey, VerdictRecord]
    held: list[tuple[VerdictRecord, AnswerJudgeUnreachable]] = field(default_factory=list)

    def take(self, _: VerdictKey, judged: _Judged) -> None:
        if judged.failure is None:
            if len(self.held) < _DEAD_AFTER:
                self._write()
            self.verdicts.add(judged.record)
            return
        self.held.append((judged.record, judged.failure))
        if len(self.held) == _DEAD_AFTER:
            raise judged.failure

    def end(self, asked: int) -> None:
        if len(self.held) == asked > 1:
            raise self.held[-1][1]
        self._write()

    def _write(self) -> None:
        for record, _ in self.held:
            self.verdicts.add(record)
        self.held = []


def _record(case: VerdictKey, passed: bool | None, reason: str, spent: Spent) -> VerdictRecord:
    return VerdictRecord(conversation_id=case[0], answer=case[1], passed=passed, reason=reason, cost=spent)
