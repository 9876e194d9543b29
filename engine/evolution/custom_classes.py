"""Custom judges and reflectors: `evolution.judge.kind` and `evolution.reflector.kind` as `module:Class`.

What such a class raises or returns wrongly counts as a failure of the built-in ones does: an answer that it fails on is
left out and counted, an iteration that it fails on ends without new deltas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.custom_class import Method, Role, WrongResult
from engine.evolution.deltas import delta_problems
from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput, ReflectorReply
from engine.servers.completion import problem_words


def _verdict(returned: Any, name: str, *asked: Any) -> Verdict:
    """`judge(question: str, golds: list[str], answer: str)` returns True, False, None (it cannot tell) or a Verdict."""
    verdict = Verdict(returned, f"{name} says so") if isinstance(returned, bool | None) else returned
    if not isinstance(verdict, Verdict) or not isinstance(verdict.correct, bool | None):
        raise WrongResult.of(returned, "True, False, None or a Verdict of these")
    return verdict


def _reason(returned: Any, name: str, *asked: Any) -> str:
    """`cannot_tell(question, golds)`, which may be left out, returns why no answer can be judged, or ""."""
    if not isinstance(returned, str):
        raise WrongResult.of(returned, "a text")
    return returned


def _reply(returned: Any, name: str, given: ReflectorInput, message: str) -> ReflectorReply:
    """`reflect(given: ReflectorInput, message: str)` returns new deltas, a number for each cluster of `given.deltas`,
    or a ReflectorReply."""
    reply = ReflectorReply(dict(returned), "") if isinstance(returned, Mapping) else returned
    if not isinstance(reply, ReflectorReply):
        raise WrongResult.of(returned, "deltas or a ReflectorReply")
    if problems := delta_problems(reply.deltas, list(given.deltas)):
        raise WrongResult(problem_words(problems))
    return reply


JUDGE = Role(
    "evolution.judge.kind",
    (
        Method("judge", ("question", "golds", "answer"), _verdict, JudgeFailed),
        Method("cannot_tell", ("question", "golds"), _reason, default=lambda *asked: ""),
    ),
)
REFLECTOR = Role(
    "evolution.reflector.kind",
    (
        Method(
            "reflect", ("given", "message"), _reply, ReflectorFailed,
            given=lambda given, message: (replace(given, deltas=dict(given.deltas)), message),
        ),
    ),
)  # fmt: skip
