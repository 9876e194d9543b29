"""The signs of stages, and what is said of one that is not at work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.wording.text import counted, duration, listed
from engine.events import StagesChosen, StageStopped
from engine.run import stage_state as stages
from engine.run.stage_state import StageState

if TYPE_CHECKING:  # it loads all sections of the configuration
    from engine.run.stage_choices import StageChange

STALE_SIGN, SKIPPED_SIGN = "◌", "⊘"
STAGE_SIGNS = {
    stages.WAITING: "○",
    stages.RUNNING: "▶",
    stages.PAUSED: "‖",
    stages.FINISHED: "✓",
    stages.SKIPPED: SKIPPED_SIGN,
    stages.STOPPED: "■",
    stages.FAILED: "✗",
}
_STALE = "stale: its results are of an earlier attempt"


def stage_sign(stage: StageState) -> str:
    """One sign for the state of a stage."""
    waits = stage.stale and stage.status == stages.WAITING
    return STALE_SIGN if waits else STAGE_SIGNS.get(stage.status, "?")


def stage_words(stage: StageState) -> str:
    """`finished in 0:30`; `skipped`; `stale: its results are of an earlier attempt`"""
    words = stage.status
    if stage.status == stages.STOPPED:
        words = f"stopped, results kept{texts_under_way(stage.stop)}"
    if stage.status == stages.FINISHED and stage.seconds:
        words = f"finished in {duration(stage.seconds)}"
    if not stage.stale:
        return words
    return _STALE if stage.status == stages.WAITING else f"{words}, {_STALE}"


def texts_under_way(stop: StageStopped | None) -> str:
    """`; a resume goes on with 16 texts (1,248 tokens)`, after what else is said of a stop; empty without texts."""
    if stop is None or not stop.texts:
        return ""
    texts = f"{counted(stop.texts, 'texts')} ({counted(stop.tokens, 'tokens')})"
    return f"; a resume goes on with {texts}" if stop.kept else f"; a resume writes {texts} again"


def choices_sentence(event: StagesChosen) -> str:
    """`to be done again: mine and select, their results are kept in earlier/1; skipped: eval`"""
    parts = []
    if event.stale:
        parts.append(f"to be done again: {listed(event.stale)}, earlier results are kept in {event.kept}")
    if event.skipped:
        parts.append(f"skipped: {listed(event.skipped)}")
    return "; ".join(parts) or "no stage is skipped"


def change_words(change: StageChange, all_stages: Mapping[str, StageState]) -> str:
    """What a choice changes, in a sentence. `all_stages`: of the run, before it."""
    names = listed(change.stages)
    if change.undo:
        return f"{names}: done after all, when the run goes on."
    if change.choice == "again":
        seconds = sum(all_stages[name].seconds for name in change.stages)
        return f"Done again: {names}" + (f", which took {duration(seconds)} last time." if seconds else ".")
    if change.choice == "skip":
        needing = [name for name in change.stages if name != change.stage]
        return f"Skipped: {change.stage}" + (f", and {listed(needing)}, which need it." if needing else ".")
    return f"The run ends after {change.stage}. Skipped: {names}."


def kept_words(change: StageChange, all_stages: Mapping[str, StageState]) -> str:
    """What becomes of results when stages are begun again, and which other stages keep theirs."""
    others = [
        name for name, s in all_stages.items() if s.status == stages.FINISHED and name not in change.stages
    ]
    text = (
        "Their results so far are kept in the folder earlier/ of the run, and count as stale until they are done anew. "
        "Configuration and seed stay the same: only other data, servers or versions make other results."
    )
    return text + (f" Not done again: {listed(others)}." if others else "")
