"""Asks the judge about answers and keeps its verdicts.

A failure on one answer leaves that answer unjudged. Failures of the judge's server on many answers in a row end the
stage; a resumed run judges these answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.client import ServerFailed
from engine.servers.side_by_side import ServerFailures, for_each_side_by_side
from engine.servers.spent import AskFailed, Spent
from engine.slsm.judges.judge import AnswerJudge
from engine.slsm.multichallenge import Criterion
from engine.slsm.records import VerdictKey, VerdictRecord

FAILED_WITHOUT_VERDICT = "no verdict, so failed"
"""Begins the verdict on an answer that counts as failed because the judge gave none."""
_Judged = tuple[VerdictRecord, ServerFailed | None]
"""A verdict, and the server's failure at the last attempt."""


@dataclass
class JudgeRunner:
    """Gets a verdict for each different answer to a conversation, whatever number of modes gave it."""

    context: StageContext
    judge: AnswerJudge
    criteria: Mapping[str, Criterion]
    verdicts: KeyedRecords[VerdictKey, VerdictRecord]

    def run(self, requested: Iterable[VerdictKey]) -> None:
        """Raises ServerFailed where the server fails on many answers in a row, or on all of two or more."""
        missing = [
            case
            for case in dict.fromkeys(requested)
            if case[0] in self.criteria and case not in self.verdicts
        ]
        failures = ServerFailures(self.verdicts.add)
        at_once = self.context.config.slsm.concurrency

        def keep(_: VerdictKey, judged: _Judged) -> None:
            failures.take(*judged)

        for_each_side_by_side(self._verdict, missing, at_once, keep, self.context.checkpoint)
        failures.end(len(missing))

    def at_once(self, case: VerdictKey) -> VerdictRecord | None:
        """The verdict of the exact judge, which asks nobody; None of another one, and where it has no criterion."""
        if self.context.config.slsm.judge.kind != "exact" or case[0] not in self.criteria:
            return None
        return self._verdict(case)[0]

    def _verdict(self, case: VerdictKey) -> _Judged:
        failed: AskFailed | None = None
        spent = Spent()
        for _ in range(self.context.config.slsm.judge.attempts):
            try:
                verdict = self.judge.judge(self.criteria[case[0]], case[1])
            except AskFailed as error:
                failed, spent = error, spent + error.spent
                if error.final:
                    break
            else:
                return VerdictRecord(*case, verdict.passed, verdict.reason, spent + verdict.spent), None
        unreachable = failed if isinstance(failed, ServerFailed) else None
        return VerdictRecord(*case, None, str(failed), spent), unreachable
