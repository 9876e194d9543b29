"""What a card says: the method's state, its verdict in a sentence, its curve, and what is worth opening."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from app.methods.overview import Curve, Highlight
from app.methods.pages import page_of
from app.state.run import RunState
from app.wording.text import duration, how_many, listed
from app.wording.verdict_text import method_verdict, verdict_sentence, verdicts
from app.wording.words import STAGE_WORDS, short_method_name
from engine.events.verdict import SHARE, Verdict
from engine.run.stage_state import SKIPPED
from screens.method_progress import MethodProgress

MOST_HIGHLIGHTS = 3


@dataclass(frozen=True)
class CardContent:
    """`title`: with number and sign; `state`: what the method does now; `about`: what it is."""

    title: str
    state: str
    about: str
    sentences: tuple[str, ...]
    curve: Curve | None
    highlights: tuple[Highlight, ...]


def card_content(number: int, progress: MethodProgress, state: RunState) -> CardContent:
    """The card of a method."""
    page = page_of(progress.name)
    return CardContent(
        f"{number} {progress.name} {progress.short}",
        state_words(progress),
        page.about,
        _sentences(progress, state),
        curve_of(progress.name, state, headline(progress, state)),
        tuple(page.overview.highlights(state)[:MOST_HIGHLIGHTS]),
    )


def headline(progress: MethodProgress, state: RunState) -> Verdict | None:
    """What a method is remembered by: the last verdict that its stages stated, else its newest figures."""
    if stated := method_verdict(state.stages, [stage.name for stage in progress.shown]):
        return stated
    running = page_of(progress.name).overview.verdict_so_far(state)
    return None if running is None else replace(running, stale=progress.state == "stale")


def curve_of(method: str, state: RunState, verdict: Verdict | None) -> Curve | None:
    """A method's curve, by its title: as the log has it, else as its verdict has it. None before its second value."""
    curve = page_of(method).overview.curve(state)
    if (curve is None or len(curve.values) < 2) and verdict is not None:
        curve = _of_verdict(verdict)
    return curve if curve is not None and len(curve.values) > 1 else None


def _of_verdict(verdict: Verdict) -> Curve:
    name, baseline = short_method_name(verdict.method), short_method_name(verdict.baseline)
    level, digits = (verdict.baseline_value,), 3 if verdict.unit == SHARE else 1
    return Curve(
        verdict.metric.replace("_", " "), "the work", name, tuple(verdict.curve), baseline, level, digits
    )


def state_words(progress: MethodProgress) -> str:
    """`finished in 2:27`; `eval: answers the test problems, 80 of 200 problems, 0:25 left`"""
    stage = progress.now
    if stage is None:
        stale = [each.name for each in progress.shown if each.stale]
        skipped = [each.name for each in progress.shown if each.status == SKIPPED]
        left = [
            f"{word}: {listed(names)}" for word, names in (("stale", stale), ("skipped", skipped)) if names
        ]
        words = {"finished": f"finished in {duration(progress.seconds)}", "begun": "more stages follow"}
        return "; ".join(left) or words.get(progress.state, "has not started")
    what = STAGE_WORDS.get(stage.name, "").strip()
    name = f"{stage.name}: {what}" if what else stage.name
    if progress.state == "failed":
        return f"{name}: failed" + (f": {stage.error.what}" if stage.error is not None else "")
    if progress.state == "stopped":
        return f"{name}: stopped, {how_many(stage.done, stage.total, stage.unit)} are kept"
    left = "" if stage.eta is None else f", {duration(stage.eta)} left"
    return f"{name}, {how_many(stage.done, stage.total, stage.unit)}{left}"


def _sentences(progress: MethodProgress, state: RunState) -> tuple[str, ...]:
    stated = verdicts(state.stages, [stage.name for stage in progress.shown])
    if stated:
        return tuple(verdict_sentence(verdict) for verdict in reversed(stated))
    running = headline(progress, state)
    if running is None:
        untested = page_of(progress.name).overview.untested(state)
        return (untested,) if untested else ()
    so_far = "" if progress.state in ("finished", "stale") else "So far: "
    return (so_far + verdict_sentence(running),)
