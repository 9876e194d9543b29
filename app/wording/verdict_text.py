"""A verdict in words, the same everywhere: as cells of a table, as a short line and as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from app.wording.figures import fixed, minus, rounded, share, signed
from app.wording.stage_words import STALE_SIGN
from app.wording.text import counted
from app.wording.words import method_name, short_method_name
from engine.events.verdict import SHARE, TOKENS, Closest, Kept, Verdict
from engine.run.directory import StageRecord
from engine.run.stage_state import StageState

_CLAIMS = {
    "accuracy": "{method} answers {value} of {n} right; {baseline} {base}",
    "mean_tokens": "{method} answers {n} in {value} tokens on average; {baseline} in {base}",
    "answer_recall": "{k} paths of {method} reach {value} of the answers to {n}; {k} of {baseline} {base}",
    "hits@1": "{method} names an answer to {value} of {n} (hits@1); {baseline} to {base}",
    "answer_hit": "with paths of {method} the reader answers {value} of {n} right; with {baseline} {base}",
    "pass_score": "{method} scores {value} over {n}; {baseline} {base}",
    "oracle": "the best known pair of a pool scores {value} over {n}; before the search {base}",
    "vqa_accuracy": "pairs of {method} score {value} over {n}; pairs by {baseline} {base}",
}
"""What is claimed, by metric."""
_STALE = "Stale, of an earlier attempt: "
_OTHER = "{method} has {metric} {value} over {n}; {baseline} {base}"
_NO_DIFFERENCE = "no difference is shown"


def verdicts(
    stages: Mapping[str, StageState] | Mapping[str, StageRecord], names: Iterable[str] | None = None
) -> list[Verdict]:
    """Those of the named stages (None: of all), in their order; those of a stale stage say so."""
    named = [stages[name] for name in (stages if names is None else names) if name in stages]
    return [replace(stage.verdict, stale=stage.stale) for stage in named if stage.verdict is not None]


def method_verdict(
    stages: Mapping[str, StageState] | Mapping[str, StageRecord], names: Iterable[str]
) -> Verdict | None:
    """The last verdict of a method's stages: it stands nearest to what the method is for. If it has no `closest`, but
    an earlier stage's verdict on the same method does not beat its baseline, that baseline becomes its `closest`."""
    *earlier, last = [None, *verdicts(stages, names)]
    for one in filter(None, earlier):
        as_good = not (one.stale or (one.shown and one.better))
        if last and last.closest is None and one.method == last.method and as_good:
            beside = Closest(
                method=one.baseline, n=one.n, metric=one.metric, lower_is_better=one.lower_is_better,
                value=one.baseline_value, difference=-one.difference, low=-one.high, high=-one.low,
            )  # fmt: skip
            return replace(last, closest=beside)
    return last


# ---------------------------------------------------------------- cells and line


class VerdictCells(NamedTuple):
    """A verdict as the cells of a table. `as_good`: the simpler method that comes closest, "" where none does."""

    baseline: str
    before: str
    value: str
    difference: str
    cost: str
    as_good: str


def verdict_cells(verdict: Verdict, brief: bool = False) -> VerdictCells:
    """`greedy`, `63.5%`, `96.5%`, `▲ +33.0 [27, 39]`, `92 tok +16%`, `no probing`. `brief`: without the unit and the
    space behind ▲, and of the cost its change alone where that is known."""
    unit = {SHARE: "", TOKENS: " tok"}.get(verdict.unit, f" {verdict.unit}")
    gap = "" if brief and verdict.shown else " "
    return VerdictCells(
        short_method_name(verdict.baseline),
        verdict_value(verdict, verdict.baseline_value),
        verdict_value(verdict, verdict.value) + unit * (not brief),
        f"{verdict_sign(verdict)}{gap}{_short_interval(verdict)}",
        _cost(verdict, brief),
        "" if verdict.closest is None else _closest_name(verdict.closest),
    )


def verdict_line(verdict: Verdict) -> str:
    """`greedy 63.5% → 96.5%  ▲ +33.0 [27, 39]  92 tok +16%  as good: no probing`"""
    cells = verdict_cells(verdict)
    values = f"{cells.baseline} {cells.before} → {cells.value}"
    words = [values, cells.difference, cells.cost, cells.as_good and f"as good: {cells.as_good}"]
    return "  ".join(filter(None, words)) + (" (stale)" if verdict.stale else "")


def verdict_sign(verdict: Verdict) -> str:
    """▲ better than the baseline, ▼ worse, ≈ no difference is shown, ◌ of an earlier attempt."""
    if verdict.stale:
        return STALE_SIGN
    if not verdict.shown:
        return "≈"
    return "▲" if verdict.better else "▼"


def verdict_value(verdict: Verdict, value: float) -> str:
    """`96.5%`; of another unit than shares `42.1` or `1,088`."""
    return share(value) if verdict.unit == SHARE else _amount(value)


def _short_interval(verdict: Verdict) -> str:
    """`+33.0 [27, 39]`; `no difference is shown [−2.0, 3.0]`"""
    text = _interval(verdict, "", verdict.unit == SHARE)
    return text if verdict.shown else f"{_NO_DIFFERENCE} {text.partition(' ')[2]}"


def _cost(verdict: Verdict, brief: bool) -> str:
    """`8.2 calls ×8.2`, else `92 tok +16%`. Of a method that saves tokens its value is what an answer costs: the change
    alone, and where that changes what is right, `−43% tok, right −0.7`, brief `right −0.7`."""
    if verdict.unit == TOKENS:
        spent = _spent(verdict.value, verdict.baseline_value, "tok", 0, brief=True)
        points = "" if verdict.kept is None else signed(100 * verdict.kept.difference, 1)
        harm = f"right {points}" if points.strip("+−0.") else ""
        return harm if harm and brief else ", ".join(filter(None, (spent, harm)))
    if verdict.calls is not None:
        return _spent(verdict.calls, verdict.baseline_calls, "calls", 1, brief)
    tokens = verdict.tokens
    return "" if tokens is None else _spent(tokens, verdict.baseline_tokens, "tok", 0, brief)


def _spent(value: float, baseline: float | None, unit: str, digits: int, brief: bool) -> str:
    """`92 tok +16%`, from twice the baseline's on `240 tok ×2.8`; brief `+16% tok`, or `92 tok` where nothing is known
    of the baseline."""
    amount = rounded(value, f",.{digits}f")
    if not baseline:
        return f"{amount} {unit}"
    times = value / baseline
    percent = signed(100 * (times - 1), 0)
    change = f"×{times:.1f}" if times >= 2 else f"{percent if percent.strip('+−0') else '±0'}%"
    return f"{change} {unit}" if brief else f"{amount} {unit} {change}"


def _closest_name(closest: Closest) -> str:
    """`no probing` with the same figure, `≈ mean vector` not shown to be worse, `▲ majority vote` better; `(≈ beam)` by
    another figure than the verdict's."""
    sign = "" if closest.equal else "▲ " if closest.better else "≈ "
    name = sign + short_method_name(closest.method)
    return f"({name})" if closest.metric else name


# ---------------------------------------------------------------- sentences


def verdict_sentence(verdict: Verdict) -> str:
    """`ESM answers 96.5% of 200 problems right; greedy 63.5%: +33.0 points [27, 39]; 66 turned right, none wrong.`"""
    text = _CLAIMS.get(verdict.metric, _OTHER).format(
        method=method_name(verdict.method),
        baseline=method_name(verdict.baseline),
        metric=verdict.metric.replace("_", " "),
        value=verdict_value(verdict, verdict.value),
        base=verdict_value(verdict, verdict.baseline_value),
        n=counted(verdict.n, verdict.items),
        k=verdict.k,
    )
    unit = "points" if verdict.unit == SHARE else verdict.unit
    difference = _interval(verdict, unit, verdict.unit == SHARE)
    text = f"{_STALE * verdict.stale}{_capital(text)}: {difference}{_counts(verdict)}."
    unsure = "" if verdict.shown else f" The interval includes zero: {_NO_DIFFERENCE}."
    remark = verdict.remark and f" {verdict.remark}"
    return text + unsure + _kept(verdict) + _as_good(verdict) + _ahead(verdict) + remark


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _amount(value: float) -> str:
    return rounded(value, ",.0f" if abs(value) >= 1000 else ".1f")


def _interval(of: Verdict | Kept | Closest, unit: str, percent: bool) -> str:
    """`+33.0 points [27, 39]`, `−46 tokens [−50, −42]`, `−0.7 points [−4.0, 2.7]`. Points have the decimal of the two
    shares, all else only where the difference is small."""
    difference, low, high = (value * (100 if percent else 1) for value in (of.difference, of.low, of.high))
    digits = int(abs(difference) < 10)
    plus = _number(difference, 1 if percent else digits)
    sign = "+" if difference > 0 and plus.strip("0.") else ""
    return f"{sign}{plus} {unit}{' ' * bool(unit)}[{_number(low, digits)}, {_number(high, digits)}]"


def _number(value: float, digits: int) -> str:
    return minus(rounded(value, f",.{digits}f"))


def _counts(verdict: Verdict) -> str:
    """`; 66 turned right, none wrong`"""
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
        return f" {kept.metric.capitalize()} stayed at {share(kept.value)}."
    interval = _interval(kept, "points", percent=True)
    text = f" {kept.metric.capitalize()} went from {share(kept.baseline_value)} to {share(kept.value)} ({interval})"
    if kept.low <= 0 <= kept.high:
        return f"{text}: {_NO_DIFFERENCE}."
    return text + (": it is lower." if kept.high < 0 else ": it is higher.")


def _as_good(verdict: Verdict) -> str:
    """` No probing does as well (96.5%), without the 12.1 tokens of probes.`"""
    closest = verdict.closest
    if closest is None:
        return ""
    name = _capital(method_name(closest.method))
    figure = f"{closest.metric} {fixed(closest.value)}"
    what = figure if closest.metric else verdict_value(verdict, closest.value)
    if closest.equal:
        return f" {name} does as well ({what}){_instead(verdict, closest)}."
    does = "does better" if closest.better else "is not shown to be worse"
    return f" {name} {does} ({what}, {_from_method(verdict, closest)}){_instead(verdict, closest)}."


def _from_method(verdict: Verdict, closest: Closest) -> str:
    """How far it is from the method: as the verdict's difference is written, or as a figure of its own."""
    if closest.metric:
        return f"{signed(closest.difference)} [{fixed(closest.low)}, {fixed(closest.high)}]"
    percent = verdict.unit == SHARE
    return _interval(closest, "points" if percent else verdict.unit, percent)


def _instead(verdict: Verdict, closest: Closest) -> str:
    """What it costs in place of the method, where both are known and differ."""
    if verdict.probe_tokens and not closest.probe_tokens:
        return f", without the {verdict.probe_tokens:.1f} tokens of probes"
    for unit in ("calls", "tokens"):
        here, there = getattr(closest, unit), getattr(verdict, unit)
        if here is not None and there is not None and f"{here:.1f}" != f"{there:.1f}":
            return f", with {here:,.1f} {unit} in place of {there:,.1f}"
    return ""


def _ahead(verdict: Verdict) -> str:
    """Other simple methods that did better still."""
    closest = None if verdict.closest is None else verdict.closest.method
    names = ", ".join(method_name(name) for name in verdict.ahead if name != closest)
    return f" Better than it: {names}." if names else ""
