"""How batch shows a model that is being loaded, and which number type was chosen."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from msgspec import structs
from rich.console import Console

from app.batch.display import Display, pace, sentence
from app.state.run import RunState
from engine import events as ev
from engine.run.stage_state import Stages, fold_stages

BEGUN = ev.ModelLoading(name="smollm2", size=98_362_432)
HALF = ev.ModelLoading(name="smollm2", size=98_362_432, doing="unpacking", share=0.45)
LOADED = ev.ModelLoaded(
    name="smollm2", backend="transformers", device="cpu", dtype="bfloat16", num_layers=30, hidden_size=576,
    parameters=134_515_008, dtype_reason="2.6 times as fast as float32 here",
)  # fmt: skip


def test_lines_tell_what_is_loaded_and_now_and_then_how_far() -> None:
    console = Console(file=StringIO(), width=40)
    seconds = iter((10.0, 11.0, 12.0, 16.0))
    display = Display(console, clock=lambda: next(seconds))
    display.show(BEGUN, {})
    for _ in range(4):
        display.show(HALF, {})
    display.show(LOADED, {})
    lines = [line.split(" ", 1)[1] for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    half = "loading model smollm2, 98 MB: unpacking 45%"
    assert lines == [
        "loading model smollm2, 98 MB",
        half,
        half,
        "model smollm2 on cpu (transformers, 134.5 M parameters, bfloat16: 2.6 times as fast as float32 here)",
    ]


def test_progress_is_shown_every_five_seconds() -> None:
    """Of the reports after 1, 6 and 7 seconds only the second."""
    console, stages = Console(file=StringIO(), width=40), Stages()
    seconds = iter((0.0, 1.0, 6.0, 7.0))
    display = Display(console, clock=lambda: next(seconds))
    for event in (
        ev.StageStarted(stage="mine", total=40, unit="examples"),
        *(ev.StageProgress(stage="mine", done=done, total=40, elapsed=1.0) for done in (1, 6, 7)),
    ):
        fold_stages(stages, event)
        display.show(event, stages)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [("started" in line, "6 of 40" in line) for line in lines] == [(True, False), (False, True)]


def test_the_state_knows_what_is_being_loaded_until_it_is_or_the_worker_ends() -> None:
    state = RunState()
    for event, loading in (
        (BEGUN, BEGUN),
        (HALF, HALF),
        (LOADED, None),
        (HALF, HALF),
        (ev.WorkerStopped(status="failed"), None),
    ):
        state.apply(event)
        assert state.loading == loading
    assert state.models[""] == LOADED


def test_progress_tells_what_the_model_writes() -> None:
    stages: Stages = {}
    for event in (
        ev.StageStarted(stage="mine", total=40, unit="examples"),
        ev.ModelWorking(stage="mine", sequences=256, done=41, tokens=900, tokens_per_second=35.4),
    ):
        fold_stages(stages, event)
    assert pace(stages["mine"]) == "0 of 40 examples, the model writes 41 of 256 texts, 35 tokens/s"
    working = ev.ModelWorking(stage="mine", sequences=2560, done=1041, tokens=900, tokens_per_second=1234.5)
    fold_stages(stages, working)
    assert pace(stages["mine"]).endswith("the model writes 1,041 of 2,560 texts, 1,234 tokens/s")


def test_the_pace_of_a_call_to_a_model_stands_in_place_of_the_stage_s() -> None:
    """300 tokens in 10 s are 30 a second, until the next call is known."""
    stages: Stages = {}
    for event, words in (
        (ev.StageStarted(stage="mine", total=40, unit="examples"), "0 of 40 examples"),
        (ev.StageProgress(stage="mine", done=20, total=40, tokens=300, elapsed=10.0),
         "20 of 40 examples, 30 tokens/s, 0:10 left"),
        (ev.ModelWorking(stage="mine", sequences=256, done=41, tokens=900, tokens_per_second=35.4),
         "20 of 40 examples, the model writes 41 of 256 texts, 35 tokens/s, 0:10 left"),
    ):  # fmt: skip
        fold_stages(stages, event)
        assert pace(stages["mine"]) == words


def test_progress_tells_how_far_a_server_s_answers_are() -> None:
    """On every line that is due, and no more once all are there."""
    console, stages = Console(file=StringIO(), width=40), Stages()
    seconds = iter((0.0, 2.0, 6.0, 7.0, 12.0))
    display = Display(console, clock=lambda: next(seconds))
    waiting = ev.ModelWorking(
        stage="slsm", role="controller", sequences=8, done=0, under_way=2, tokens=0, tokens_per_second=0.0
    )
    first = structs.replace(waiting, done=5, tokens=1000, tokens_per_second=17.6)
    all_there = structs.replace(first, done=8, under_way=0)
    for event in (
        ev.StageStarted(stage="slsm", total=6, unit="conversations"), waiting, waiting, first, first,
    ):  # fmt: skip
        fold_stages(stages, event)
        display.show(event, stages)
    lines = [line.split(" ", 1)[1] for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines == [
        "slsm: started, 0 of 6 conversations",
        "slsm: 0 of 6 conversations, controller: 0 of 8 answers, 2 being written",
        "slsm: 0 of 6 conversations, controller: 5 of 8 answers, 2 being written, 18 tokens/s",
    ]
    fold_stages(stages, all_there)
    assert pace(stages["slsm"]) == "0 of 6 conversations"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ev.StageFinishedBefore(), "finished by an earlier attempt"),
        (ev.StageSkipped(), "finished by an earlier attempt"),
        (ev.StageBegunAgain(kept="earlier/1"), "begun again; what it left before is kept in earlier/1"),
        (ev.StagePaused(), "paused"),
        (ev.StageResumed(), "continues"),
        (ev.StageStopped(done=1200), "stopped; 1,200 finished are kept"),
        (ev.StageFinished(seconds=61.0), "finished in 1:01"),
        (ev.StageFinished(seconds=5.0, summary={"accuracy": 0.61254, "pairs": 1200}),
         "finished in 0:05 (accuracy 0.6125; pairs 1,200)"),
        (ev.Preparing(doing="reading the task"), "reading the task"),
        (ev.ModelLoaded(name="m", backend="b", device="cpu", dtype="float32", num_layers=1, hidden_size=2),
         "model m on cpu (b, float32)"),
        (ev.MethodEvaluated(method="esm", n=200, accuracy=0.98549, mean_tokens=1.0),
         "ESM: accuracy 0.985 on 200 examples"),
        (ev.MethodEvaluated(method="esm", n=200, accuracy=0.9, mean_tokens=1.0, final=False), None),
        (ev.ServeOpened(url="http://x/v1", key="no key", model="m", levers=[]),
         "takes requests at http://x/v1; no key"),
        (ev.Notice(text="so far"), "so far"),
        (ev.Notice(text="low", level="warning"), "warning: low"),
        (ev.StageProgress(done=1, total=2), None),
    ],
)  # fmt: skip
def test_an_event_in_words(event: ev.Event, words: str | None) -> None:
    assert sentence(event) == words


def test_lines_begin_with_the_local_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where clocks are five and a half hours ahead of UTC, so are the lines."""
    console = Console(file=StringIO(), width=40)
    monkeypatch.setenv("TZ", "XXX-5:30")
    time.tzset()
    try:
        utc = datetime.now(UTC)
        Display(console).show(ev.Notice(text="so far"), {})
    finally:
        monkeypatch.undo()
        time.tzset()
    begun = {f"{utc + timedelta(hours=5, minutes=30 + more):%H:%M}" for more in (0, 1)}
    line = console.file.getvalue()  # type: ignore[attr-defined]
    assert line[:5] in begun and line[8:] == " so far\n"


def test_a_warning_is_yellow_and_no_line_is_cut() -> None:
    """The terminal wraps a long one."""
    console, stages = Console(file=StringIO(), width=80, force_terminal=True, no_color=False), Stages()
    display = Display(console)
    for event in (
        ev.StageStarted(stage="mine", total=40, unit="examples"),
        ev.Notice(stage="mine", text="so far"),
        ev.Notice(stage="mine", text="x" * 90, level="warning"),
    ):
        fold_stages(stages, event)
        display.show(event, stages)
    started, noted, warned = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert started.endswith(" mine: started, 0 of 40 examples") and noted.endswith(" mine: so far")
    assert warned.startswith("\x1b[33m") and warned.endswith(f" mine: warning: {'x' * 90}\x1b[0m")
