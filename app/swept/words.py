"""A sweep in words and figures, for the console and for batch."""

from __future__ import annotations

import shlex
from pathlib import Path

from app.runs.run_names import composition_words, setting_words
from app.swept.progress import SweepProgress
from app.wording.figures import NONE, of_unit
from app.wording.text import counted, duration, how_many
from app.wording.words import method_name
from engine.events.verdict import SHARE
from engine.run.stage_state import StageState
from engine.sweep.results import SettingResult, SweepResults


def sweep_resume_command(folder: Path) -> str:
    """The command that resumes a sweep."""
    return f"steer-tui sweep --resume {shlex.quote(str(folder))}"


def figure_words(result: SettingResult, value: float | None, is_difference: bool = False) -> str:
    """A value of the setting's metric: three decimals of a share, one of tokens."""
    return of_unit(value, SHARE if result.verdict is None else result.verdict.unit, is_difference)


def gain_words(result: SettingResult) -> str:
    """`+0.120`"""
    return figure_words(result, result.gain.difference if result.gain else None, True)


def interval_words(result: SettingResult) -> str:
    """`[+0.010, +0.230]`"""
    if result.gain is None:
        return NONE
    return f"[{figure_words(result, result.gain.low, True)}, {figure_words(result, result.gain.high, True)}]"


def state_words(result: SettingResult, share: float | None = None) -> str:
    """`✓`, `2 of 3`, `failed`, or what its runs are at: `▶ 1 of 2 63%`, `share` of them is done."""
    bad = [state for state in result.states if state in ("failed", "interrupted", "stopped", "hung")]
    done = sum(state == "finished" for state in result.states)
    if done == len(result.states):
        return "✓" if result.whole else "✓ no figure"
    if bad:
        return bad[0]
    is_at_work = any(state in ("running", "paused") for state in result.states)
    words = f"{done} of {len(result.states)}" if done or (is_at_work and share is None) else ""
    part = f"{share:.0%}" if is_at_work and share is not None else ""
    return " ".join(filter(None, ("▶" if is_at_work else "", words, part))) or "waits"


def counts_words(results: SweepResults) -> str:
    """How often each stage was done, and how often taken over."""
    parts = [
        f"{name} {done}×" + (f" (taken over {shared}×)" if shared else "")
        for name, (done, shared) in results.counts.items()
    ]
    return f"Stages done: {', '.join(parts)}." if parts else ""


def progress_words(results: SweepResults) -> str:
    """`2 of 5 runs finished (4 settings + 1 test run)`"""
    runs, settings = len(results.record.points), len(results.settings)
    composed = composition_words(settings, runs, bool(results.record.choose_on))
    return (
        f"{results.done} of {counted(results.total, 'runs')} finished{f' ({composed})' if composed else ''}"
    )


def work_words(results: SweepResults, progress: SweepProgress) -> list[str]:
    """The runs at work, a line each: `At work: online.L=3 seed=1, eval 63 of 200 problems`."""
    return [
        f"At work: {'the test run of ' if point == results.record.report else ''}{setting_words(point.setting)}, "
        + _stage_words(row.progress)
        for point, row in progress.at_work
    ]


def _stage_words(stage: StageState) -> str:
    return f"{stage.name} {how_many(stage.done, stage.total, stage.unit)}" if stage.name else "which begins"


def left_words(progress: SweepProgress) -> str:
    """`48%, about 3:20 left`"""
    left = progress.seconds_left
    time = "time left not known yet" if left is None else f"about {duration(left)} left"
    return f"{progress.share:.0%}, {time}"


def remarks(results: SweepResults) -> list[str]:
    """What the figures say and what they cannot, a sentence each."""
    return [
        line for line in (*_best(results), *_resolved(results), _report(results), _no_figure(results)) if line
    ]


def _best(results: SweepResults) -> list[str]:
    best = results.best
    if best is None or best.verdict is None:
        return []
    baseline = method_name(best.verdict.baseline)
    gain = f", difference {gain_words(best)} {interval_words(best)}" if best.gain else ""
    words = (
        f"Best setting: {setting_words(best.setting, results.fields)}, {figure_words(best, best.value)} on "
        f"{counted(best.n, best.verdict.items)}; {baseline} {figure_words(best, best.baseline_value)}{gain}."
    )
    left = sum(not one.whole for one in results.settings)
    return [words + (f" Settings without a result yet: {left}." if left else "")]


def _resolved(results: SweepResults) -> list[str]:
    resolution = results.resolution
    if resolution is None or len(results.compared) < 2 or results.best is None:
        return []
    others, best = len(results.compared) - 1, results.best
    n = counted(resolution.n, best.verdict.items if best.verdict else "items")
    each = "the other" if others == 1 else f"each of the {others} others"
    lines: list[str] = []
    if resolution.smallest is None:
        lines.append(f"All {others + 1} settings answer these {n} the same: nothing tells them apart.")
    elif resolution.tied:
        which = (
            each.replace("each", "any")
            if len(resolution.tied) == others
            else f"{len(resolution.tied)} of the {others} others"
        )
        lines.append(
            f"{n} are too few to tell the best setting from {which}: to show, two settings "
            f"have to be about {figure_words(best, resolution.smallest)} apart (95%, all pairs of settings at once)."
        )
    else:
        lines.append(f"The best setting is better than {each} (95%, all pairs at once).")
    if resolution.optimism > 0:
        lines.append(
            f"It was picked from {others + 1} by this very figure, which is therefore about "
            f"{figure_words(best, resolution.optimism)} too good."
        )
    return lines


def _report(results: SweepResults) -> str:
    best, report, record = results.best, results.report, results.record
    if report is not None and report.whole and report.verdict is not None:
        return (
            f"Report: {setting_words(report.setting, results.fields)} was chosen on split {record.choose_on!r} and "
            f"then run once on the configuration's own split: {figure_words(report, report.value)} on "
            f"{counted(report.n, report.verdict.items)}, {method_name(report.verdict.baseline)} "
            f"{figure_words(report, report.baseline_value)}, difference {gain_words(report)} {interval_words(report)}."
        )
    if record.choose_on:
        return (
            f"Settings are compared on split {record.choose_on!r}; the chosen one then runs once on the "
            "configuration's own split."
        )
    if best is not None and len(results.settings) > 1:
        return (
            "Settings are compared on the same items that the result is reported on, so the best figure is too good: "
            "for ESM, name another split with --choose-on."
        )
    return ""


def _no_figure(results: SweepResults) -> str:
    lacking = [one for one in results.settings if all(s == "finished" for s in one.states) and not one.whole]
    if not lacking:
        return ""
    return (
        f"{counted(len(lacking), 'settings')} ended without a figure: the last stage has to compare a method with its "
        "baseline (ESM: stage eval with greedy and esm)."
    )
