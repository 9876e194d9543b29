"""What a card says: the method's state, its verdict in a sentence, and its curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.running_verdict import running_verdict
from app.stage_words import listed
from app.state.run import RunState
from app.text import duration, how_many
from app.verdict_text import untested_sentence, verdict_sentence, verdicts
from app.words import METHOD_LINES, STAGE_WORDS
from engine.run.stage_state import SKIPPED, StageState
from screens.method_progress import MethodProgress
from screens.overview.pointers import Pointer, pointers


@dataclass(frozen=True)
class Curve:
    """`label`: what runs up and over what; `digits`: behind the point."""

    label: str
    values: tuple[float, ...]
    digits: int = 2


@dataclass(frozen=True)
class CardContent:
    """`title`: with number and sign; `state`: what the method does now; `about`: what it is."""

    title: str
    state: str
    about: str
    sentences: tuple[str, ...]
    curve: Curve | None
    pointers: tuple[Pointer, ...]


def card_content(number: int, progress: MethodProgress, state: RunState) -> CardContent:
    """The card of a method."""
    return CardContent(
        f"{number} {progress.name} {progress.short}",
        _state(progress),
        METHOD_LINES.get(progress.name, ""),
        _sentences(progress, state),
        _curve(progress.name, state),
        tuple(pointers(state, progress.name)),
    )


def _state(progress: MethodProgress) -> str:
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
    return f"{name}, {_how_far(stage)}"


def _how_far(stage: StageState) -> str:
    parts = [how_many(stage.done, stage.total, stage.unit)]
    if stage.eta is not None:
        parts.append(f"{duration(stage.eta)} left")
    return ", ".join(parts)


def _sentences(progress: MethodProgress, state: RunState) -> tuple[str, ...]:
    stated = verdicts(state.stages, [stage.name for stage in progress.shown])
    if stated:
        return tuple(verdict_sentence(verdict) for verdict in reversed(stated))
    running = running_verdict(state, progress.name)
    if running is None:
        untested = untested_sentence(state.evolution) if progress.name == "Evolution" else ""
        return (untested,) if untested else ()
    so_far = "" if progress.state == "finished" else "So far: "
    return (so_far + verdict_sentence(running),)


def _curve(method: str, state: RunState) -> Curve | None:
    draw = _CURVES.get(method)
    label, values, digits = draw(state) if draw is not None else ("", (), 0)
    return Curve(label, tuple(values), digits) if len(values) > 1 else None


def _esm(state: RunState) -> tuple[str, Sequence[float], int]:
    name = "esm" if "esm" in state.esm.curves else "greedy"
    points = state.esm.curves.get(name) or ()
    return f"accuracy of {name} so far, over the problems", [point.accuracy for point in points], 3


def _evolution(state: RunState) -> tuple[str, Sequence[float], int]:
    scores = [item.minibatch for item in state.evolution.iterations.values() if item.minibatch is not None]
    return "mean tokens of an answer, over the iterations", [score.mean_tokens for score in scores], 1


def _gflownet(state: RunState) -> tuple[str, Sequence[float], int]:
    return (
        "share of paths that meet an answer, over the steps",
        [row.success for row in state.gflownet.steps],
        2,
    )


def _pool(state: RunState) -> tuple[str, Sequence[float], int]:
    scores = [step.heldout_accuracy for step in state.pool.steps if step.heldout_accuracy is not None]
    return "the selector's score on held-out queries, over the steps", scores, 3


_CURVES: dict[str, Callable[[RunState], tuple[str, Sequence[float], int]]] = {
    "ESM": _esm,
    "Evolution": _evolution,
    "GFlowNet": _gflownet,
    "Pool": _pool,
}
