"""A verdict as a short line and as a plain sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from app.state.evolution import EvolutionState
from app.text import counted
from app.words import method_name
from engine.events.verdict import SHARE, Verdict

_MINUS = "−"

_CLAIMS = {
    "accuracy": "{method} answers {value} of {n} right; {baseline} {base}",
    "mean_tokens": "{method} answers {n} in {value} tokens on average; {baseline} in {base}",
    "answer_recall": "{k} paths of {method} reach {value} of the answers to {n}; {k} of {baseline} {base}",
    "answer_hit": "with paths of {method} the reader answers {value} of {n} right; with {baseline} {base}",
    "pass_score": "{method} scores {value} over {n}; {baseline} {base}",
    "oracle": "the best known pair of a pool scores {value} over {n}; before the search {base}",
    "vqa_accuracy": "pairs of {method} score {value} over {n}; pairs by {baseline} {base}",
}
"""What is claimed, by metric."""
_STALE = "Stale, of an earlier attempt: "
_OTHER = "{method} has {metric} {value} over {n}; {baseline} {base}"


class WithVerdict(Protocol):
    """A stage, as the log or as `run.json` tells of it."""

    @property
    def verdict(self) -> Verdict | None: ...

    @property
    def stale(self) -> bool: ...


def verdicts(stages: Mapping[str, WithVerdict], names: Iterable[str] | None = None) -> list[Verdict]:
    """Those of the named stages (None: of all), in their order; those of a stale stage say so. A method's last one is
    its headline: it stands nearest to what the method is for."""
    found = [stages[name] for name in (stages if names is None else names) if name in stages]
    return [replace(one.verdict, stale=one.stale) for one in found if one.verdict is not None]


def verdict_line(verdict: Verdict) -> str:
    """`0.635 → 0.965 ▲66 ▼0`: from the baseline to the method, and how many items got better and worse."""
    unit = "" if verdict.unit == SHARE else f" {verdict.unit}"
    words = [f"{_bare(verdict, verdict.baseline_value)} → {_bare(verdict, verdict.value)}{unit}"]
    if verdict.fixed is not None and verdict.broken is not None:
        words.append(f"▲{verdict.fixed:,} ▼{verdict.broken:,}")
    shown = "" if verdict.shown else " (no difference shown)"
    return " ".join(words) + shown + (" (stale)" if verdict.stale else "")


def verdict_sentence(verdict: Verdict) -> str:
    """`ESM answers 96.5% of 200 problems right; greedy 63.5%: +33 points [27, 39]; 66 turned right, none wrong.`"""
    text = _CLAIMS.get(verdict.metric, _OTHER).format(
        method=method_name(verdict.method),
        baseline=method_name(verdict.baseline),
        metric=verdict.metric.replace("_", " "),
        value=_said(verdict, verdict.value),
        base=_said(verdict, verdict.baseline_value),
        n=counted(verdict.n, verdict.items),
        k=verdict.k,
    )
    text = f"{_STALE * verdict.stale}{text[:1].upper()}{text[1:]}: {_difference(verdict)}{_counts(verdict)}."
    if not verdict.shown:
        text += " The interval includes zero: no difference is shown."
    return text + _kept(verdict) + _ahead(verdict) + (verdict.remark and f" {verdict.remark}")


def untested_sentence(state: EvolutionState) -> str:
    """What can be said of an evolution without a test set: by what its best deltas were chosen; empty with a test set,
    and before there are deltas."""
    if state.best is None or state.compared or state.began is None or state.began.test:
        return ""
    score = state.deciding(state.best)
    if score is None:
        return ""
    return (
        f"Iteration {state.best.iteration} has the highest composite on {state.decided_on}, {score.composite:.3f}: "
        f"{score.correct} of {counted(score.judged, 'answers')} right, {score.mean_tokens:.1f} tokens each. That chose "
        "it; no test set compares it with the unchanged model."
    )


def _bare(verdict: Verdict, value: float) -> str:
    return f"{value:.3f}" if verdict.unit == SHARE else _amount(value)


def _said(verdict: Verdict, value: float) -> str:
    return f"{value:.1%}" if verdict.unit == SHARE else _amount(value)


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def _difference(verdict: Verdict) -> str:
    """`+33 points [27, 39]`, `−45.9 tokens [−50.1, −41.7]`."""
    points = verdict.unit == SHARE
    return _interval(
        verdict.difference, verdict.low, verdict.high, "points" if points else verdict.unit, points
    )


def _interval(difference: float, low: float, high: float, unit: str, percent: bool) -> str:
    scale = 100 if percent else 1
    digits = 0 if abs(difference) * scale >= 10 and percent else 1
    plus, bounds = _number(difference * scale, digits), [_number(v * scale, digits) for v in (low, high)]
    sign = "" if plus.startswith(_MINUS) or float(plus.replace(",", "")) == 0 else "+"
    return f"{sign}{plus} {unit} [{', '.join(bounds)}]"


def _number(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", _MINUS)


def _counts(verdict: Verdict) -> str:
    """`; 66 turned right, none wrong`."""
    if verdict.fixed is None or verdict.broken is None:
        return ""
    up, down = (f"{count:,}" if count else "none" for count in (verdict.fixed, verdict.broken))
    return f"; {up} better, {down} worse" if verdict.graded else f"; {up} turned right, {down} wrong"


def _kept(verdict: Verdict) -> str:
    """What became of the figure that should not suffer."""
    kept = verdict.kept
    if kept is None:
        return ""
    if not (kept.difference or kept.low or kept.high):
        return f" {kept.metric.capitalize()} stayed at {kept.value:.1%}."
    interval = _interval(kept.difference, kept.low, kept.high, "points", percent=True)
    text = f" {kept.metric.capitalize()} went from {kept.baseline_value:.1%} to {kept.value:.1%} ({interval})"
    if kept.low <= 0 <= kept.high:
        return f"{text}: no difference is shown."
    return text + (": it is lower." if kept.high < 0 else ": it is higher.")


def _ahead(verdict: Verdict) -> str:
    """Simple methods that did better still."""
    if not verdict.ahead:
        return ""
    names = ", ".join(method_name(name) for name in verdict.ahead)
    return f" Better than it: {names}."
