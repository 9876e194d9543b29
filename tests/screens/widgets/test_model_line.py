"""What a model writes: one line, which fits, and only while it writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from rich.cells import cell_len
from rich.style import Style
from textual.geometry import Size

from app.state.run import RunState
from engine import events as ev
from screens.widgets.model_line import ModelLine

WORKING = ev.ModelWorking(
    stage="mine",
    sequences=256,
    done=41,
    tokens=9000,
    tokens_per_second=35.4,
    text="First,\n\nadd 3 and 4" + "." * 300,
)


def lines(
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    *events: ev.Event,
    worker: str = "running",
    cursor: int | None = None,
) -> tuple[str, bool]:
    """The line after `events`, and whether it is shown."""
    state = RunState()
    status = SimpleNamespace(state=worker)
    session: Any = SimpleNamespace(state=state, status=status, cursor=cursor, frozen=False, log_is_cut=False)
    line = ModelLine(session)
    monkeypatch.setattr("screens.widgets.model_line.tone", lambda widget, name: Style())
    monkeypatch.setattr(ModelLine, "content_size", Size(width, 1))
    monkeypatch.setattr(line, "refresh", lambda: line)
    for event in events:
        state.apply(event)
    line.update()
    return line.render().plain, not line.has_class("-idle")


BEGIN = (
    ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
    ev.StageStarted(stage="mine", total=40, unit="examples"),
)


@pytest.mark.parametrize("width", [80, 200])
def test_it_says_how_many_how_fast_and_the_end_of_the_newest(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    line, shown = lines(monkeypatch, width, *BEGIN, WORKING)
    assert (
        shown and line.startswith("the model writes 41 of 256 texts, 35 tokens/s  …") and line.endswith("...")
    )
    assert len(line) <= width and "\n" not in line


def test_it_says_how_far_the_answers_of_a_server_are(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = structs.replace(WORKING, role="judge", under_way=2, text="")
    assert lines(monkeypatch, 80, *BEGIN, behind) == (
        "judge: 41 of 256 answers, 2 being written, 35 tokens/s",
        True,
    )
    assert lines(monkeypatch, 80, *BEGIN, behind, structs.replace(behind, done=256)) == ("", False)


def test_wide_letters_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    line, _ = lines(monkeypatch, 80, *BEGIN, structs.replace(WORKING, text="所以答案是" * 40))
    assert line.endswith("答案是") and 70 < cell_len(line) <= 80


def test_it_is_gone_with_the_next_result_and_when_the_stage_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ev.StageProgress(stage="mine", done=1, total=40)
    assert lines(monkeypatch, 80, *BEGIN) == ("", False)
    assert lines(monkeypatch, 80, *BEGIN, WORKING, result) == ("", False)
    assert lines(monkeypatch, 80, *BEGIN, WORKING, ev.StageStopped(stage="mine", done=0)) == ("", False)


def test_a_worker_that_vanished_writes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log ends in the middle of a call; whoever looks back at that moment sees the call."""
    assert lines(monkeypatch, 80, *BEGIN, WORKING, worker="interrupted") == ("", False)
    assert lines(monkeypatch, 80, *BEGIN, WORKING, worker="interrupted", cursor=2)[1]


def test_it_says_what_is_loaded_before_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at a silent screen: from the worker's first moment to the stage's start."""
    worker = ev.WorkerStarted(pid=1, attempt=1, stages=["mine"])
    first = (BEGIN[0], worker, ev.Preparing(doing="loading the libraries that the stages need"))
    assert lines(monkeypatch, 80, *first) == ("loading the libraries that the stages need …", True)
    model = ev.ModelLoading(stage="mine", name="smollm2", size=98_000_000, doing="unpacking", share=0.5)
    assert lines(monkeypatch, 80, *first, model) == ("loading model smollm2, 98 MB: unpacking 50% …", True)
    assert lines(monkeypatch, 80, *first, BEGIN[1]) == ("", False)
    assert lines(monkeypatch, 80, *first, worker="interrupted") == ("", False)
    assert lines(monkeypatch, 80, *first, worker="interrupted", cursor=2)[1], "it was loaded at that moment"
    stopped = ev.WorkerStopped(status="stopped")
    assert lines(monkeypatch, 80, *first, stopped) == ("", False)


@pytest.mark.parametrize(("width", "line"), [(59, 45), (60, 59), (61, 60)])
def test_the_newest_text_needs_eleven_cells(monkeypatch: pytest.MonkeyPatch, width: int, line: int) -> None:
    """What is said takes 45 cells, the gap and `…` three, and one stays free: 11 are left of 60."""
    text, _ = lines(monkeypatch, width, *BEGIN, WORKING)
    assert len(text) == line


def test_a_short_text_stands_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = lines(monkeypatch, 80, *BEGIN, structs.replace(WORKING, text="add 3\nand 4"))
    assert text == "the model writes 41 of 256 texts, 35 tokens/s  …add 3 and 4"


def test_what_is_prepared_is_told_until_the_first_stage_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait meanwhile."""
    header = structs.replace(BEGIN[0], stages=["mine", "eval"])
    first = (
        header,
        ev.WorkerStarted(pid=1, attempt=1, stages=["mine", "eval"]),
        ev.Preparing(doing="loading"),
    )
    assert lines(monkeypatch, 80, *first) == ("loading …", True)
    assert lines(monkeypatch, 80, *first, BEGIN[1]) == ("", False)
