"""Asks the judge about answers and keeps its verdicts.

A failure on one answer leaves that answer unjudged. Failures of the judge's server on many answers in a row end the
stage; a resumed run judges these answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.config.slsm import SLSMSection
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.judges.judge import AnswerJudge, AnswerJudgeFailed, AnswerJudgeUnreachable
from engine.slsm.multichallenge import Criterion
from engine.slsm.records import VerdictKey, VerdictRecord
from engine.slsm.server_failures import ServerFailures


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
        failures = ServerFailures(self.verdicts.add)

        def keep(_: VerdictKey, judged: _Judged) -> None:
            failures.take(judged.record, judged.failure)

        for_each_side_by_side(self._verdict, missing, self.section.concurrency, keep, self.context.checkpoint)
        failures.end(len(missing))

    def at_once(self, case: VerdictKey) -> VerdictRecord | None:
        """The verdict of the exact judge, which asks nobody; None of another one, and where it has no criterion."""
        if self.section.judge.kind != "exact" or case[0] not in self.criteria:
            return None
        return self._verdict(case).record

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


def _record(case: VerdictKey, passed: bool | None, reason: str, spent: Spent) -> VerdictRecord:
    return VerdictRecord(conversation_id=case[0], answer=case[1], passed=passed, reason=reason, cost=spent)
