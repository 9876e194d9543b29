"""Judges and reflectors of the user's own: `evolution.judge.kind` and `evolution.reflector.kind` as `module:Class`.

What such a class raises or returns wrongly counts as a failure of the built-in ones does: an answer that it fails on is
left out and counted, an iteration that it fails on ends without new deltas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import RunError
from engine.evolution.deltas import delta_problems
from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.own_class import Method, Role, make_own, misuse, name_of, shown, told

JUDGE = Role(
    "evolution.judge.kind",
    (
        Method("judge", ("question", "golds", "answer")),
        Method("cannot_tell", ("question", "golds"), required=False),
    ),
)
REFLECTOR = Role("evolution.reflector.kind", (Method("reflect", ("given", "message")),))


class OwnJudge:
    """`judge(question: str, golds: list[str], answer: str)` returns True, False, None (it cannot tell) or a Verdict.
    `cannot_tell(question, golds)`, which may be left out, returns why no answer can be judged, or ""."""

    def __init__(self, kind: str) -> None:
        self._kind, self._own = kind, make_own(kind, JUDGE)
        self.name = name_of(self._own, kind)

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Raises JudgeFailed."""
        try:
            said = self._own.judge(question, list(golds), answer)
        except JudgeFailed:
            raise
        except BaseException as error:
            raise JudgeFailed(**misuse(self._kind, JUDGE, "judge", told(error))) from error
        verdict = Verdict(said, f"{self.name} says so") if said is None or isinstance(said, bool) else said
        if not isinstance(verdict, Verdict) or not isinstance(verdict.correct, bool | None):
            problem = f"it returned {shown(said)}, not True, False, None or a Verdict of these"
            raise JudgeFailed(**misuse(self._kind, JUDGE, "judge", problem), final=True)
        return verdict

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """Raises RunError: it is asked before anything is judged."""
        if not hasattr(self._own, "cannot_tell"):
            return ""
        try:
            why = self._own.cannot_tell(question, list(golds))
        except BaseException as error:
            raise RunError(**misuse(self._kind, JUDGE, "cannot_tell", told(error))) from error
        if not isinstance(why, str):
            raise RunError(
                **misuse(self._kind, JUDGE, "cannot_tell", f"it returned {shown(why)}, not a text")
            )
        return why


class OwnReflector:
    """`reflect(given: ReflectorInput, message: str)` returns new deltas, a number for each cluster of `given.deltas`,
    or a ReflectorReply."""

    def __init__(self, kind: str) -> None:
        self._kind, self._own = kind, make_own(kind, REFLECTOR)
        self.name = name_of(self._own, kind)

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        """Raises ReflectorFailed."""
        clusters = list(given.deltas)
        try:
            said = self._own.reflect(given, message)
        except ReflectorFailed:
            raise
        except BaseException as error:
            raise ReflectorFailed(**misuse(self._kind, REFLECTOR, "reflect", told(error))) from error
        reply = ReflectorReply(dict(said), "") if isinstance(said, Mapping) else said
        if not isinstance(reply, ReflectorReply):
            problem = f"it returned {shown(said)}, not deltas or a ReflectorReply"
            raise ReflectorFailed(**misuse(self._kind, REFLECTOR, "reflect", problem))
        if problems := delta_problems(reply.deltas, clusters):
            raise ReflectorFailed(**misuse(self._kind, REFLECTOR, "reflect", "; ".join(problems)))
        return reply
