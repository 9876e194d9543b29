"""The verdict on memory notes: a mode's score beside that of a reminder which is the same in every conversation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from engine.closest import with_closest
from engine.events import ConversationAnswered
from engine.events.verdict import Closest, Verdict
from engine.slsm.answering import NO_MEMORY
from engine.slsm.judges.scoring import both_judged
from engine.slsm.policy import Mode
from engine.statistics import macro_bootstrap
from engine.verdict_curve import running

METHODS: Sequence[Mode] = ("on_detection", "on_risk", "always", "remind_on_detection", "never")
BASELINES: Sequence[Mode] = ("reminder", "baseline")
"""Nothing is chosen by its score. Of METHODS each is simpler than those before it; baselines are simpler than all."""
FLAT = "flat"
"""The simpler memory."""

Answers = Mapping[tuple[str, str], Sequence[ConversationAnswered]]


def mode_verdict(answers: Answers, seed: int, inject: Mode) -> Verdict | None:
    """From all answers by mode and memory, of mode `inject` where it was answered, else of the first of METHODS; None
    without a baseline or without conversations judged under both."""
    method, baseline = compared_variant(answers, inject), _first(answers, BASELINES)
    if method is None or baseline is None:
        return None
    pairs = both_judged(answers[method], answers[baseline])
    if not pairs:
        return None
    method_values, plain, delta = ([[f(a, b) for a, b in axis] for axis in pairs.values()] for f in _FIGURES)
    verdict = Verdict(
        method=method[0],
        baseline=baseline[0],
        metric="pass_score",
        items="conversations",
        n=sum(map(len, pairs.values())),
        value=_macro(method_values),
        baseline_value=_macro(plain),
        **asdict(macro_bootstrap(delta, seed)),
        fixed=sum(value > 0 for axis in delta for value in axis),
        broken=sum(value < 0 for axis in delta for value in axis),
        tokens=_tokens(answers[method]),
        baseline_tokens=_tokens(answers[baseline]),
        calls=_calls(answers[method]),
        baseline_calls=_calls(answers[baseline]),
        cost=sum(answer.cost for answer in answers[method]) or None,
        curve=running(bool(answer.passed) for answer in answers[method] if answer.passed is not None),
    )
    simpler = (_beside(variant, method, answers, seed) for variant in _simpler(answers, method, baseline))
    return with_closest(verdict, filter(None, simpler))


def _simpler(answers: Answers, method: tuple[str, str], baseline: tuple[str, str]) -> list[tuple[str, str]]:
    """The same mode with the flat memory, and the simpler modes with the same memory or with none."""
    mode, memory = method
    order = [*METHODS, *BASELINES]
    simpler = [(each, kind) for each in order[order.index(mode) + 1 :] for kind in (memory, NO_MEMORY)]
    compared = {(mode, FLAT), *simpler} - {method, baseline}
    return [variant for variant in answers if variant in compared]


def _beside(variant: tuple[str, str], method: tuple[str, str], answers: Answers, seed: int) -> Closest | None:
    """A simpler variant beside the method, over the conversations that are judged under both."""
    pairs = both_judged(answers[variant], answers[method])
    if not pairs:
        return None
    other, _, delta = ([[f(a, b) for a, b in axis] for axis in pairs.values()] for f in _FIGURES)
    return Closest(
        method=FLAT if variant[0] == method[0] else variant[0],
        n=sum(map(len, pairs.values())),
        value=_macro(other),
        **asdict(macro_bootstrap(delta, seed)),
        tokens=_tokens(answers[variant]),
        calls=_calls(answers[variant]),
    )


_FIGURES = (lambda a, b: a, lambda a, b: b, lambda a, b: a - b)


def compared_variant(variants: Collection[tuple[str, str]], inject: Mode) -> tuple[str, str] | None:
    """The mode, and its memory, that the verdict is of."""
    return _first(variants, [mode for mode in (inject, *METHODS) if mode in METHODS])


def _first(variants: Collection[tuple[str, str]], modes: Sequence[Mode]) -> tuple[str, str] | None:
    return next((variant for mode in modes for variant in variants if variant[0] == mode), None)


def _macro(axes: Sequence[Sequence[float]]) -> float:
    return sum(sum(axis) / len(axis) for axis in axes) / len(axes)


def _tokens(answers: Sequence[ConversationAnswered]) -> float:
    """Tokens of controller, model and detector together, a conversation."""
    return sum(answer.tokens for answer in answers) / _conversations(answers)


def _calls(answers: Sequence[ConversationAnswered]) -> float:
    """Calls to controller, model and detector together, a conversation."""
    calls = sum(a.controller_calls + a.model_calls + a.detector_calls for a in answers)
    return calls / _conversations(answers)


def _conversations(answers: Sequence[ConversationAnswered]) -> int:
    return max(1, len({a.conversation_id for a in answers}))
