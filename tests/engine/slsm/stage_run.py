"""The stage on generated dialogues, with a model that follows notes by rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.events import Event
from engine.run.stage import StageContext, StageResult
from engine.slsm.slsm_stage import RunSLSM
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.engine.slsm.note_following_model import NoteFollowingModel
from tests.engine.slsm.small_run import small_config

ALL: dict[str, Any] = {
    "compare": ["baseline", "never", "on_risk", "always", "on_detection"],
    "compare_memory": ["structured", "flat"],
}
"""Every mode with both kinds of memory."""
DIALOGUES = 12


def note_following_model(n: int = DIALOGUES) -> NoteFollowingModel:
    """It knows the `n` dialogues that the stage generates with seed 0."""
    return NoteFollowingModel(generate_dialogues(n, 0))


def run_slsm(
    folder: Path,
    model: Any = None,
    checkpoint: Callable[[], None] = lambda: None,
    n: int = DIALOGUES,
    results: list[StageResult] | None = None,
    **slsm: Any,
) -> list[Event]:
    """What the stage says; raises what `checkpoint` raises. `results` gets the stage's result."""
    events: list[Event] = []
    data = {"data": {"conversations": n}}
    config = small_config(**data | slsm)
    model = model or note_following_model(n)
    model.between = lambda call, working: checkpoint()
    context = StageContext("slsm", config, folder, events.append, checkpoint, lambda section: model)
    result = RunSLSM().run(context)
    if results is not None:
        results.append(result)
    return events
