"""The figures and files of the stages, from events made by hand."""

from __future__ import annotations

import time

import pytest

from app.blocks.block import Facts, Heading, Paragraph, plain
from app.state.run import RunState
from engine import events as ev
from screens.overview.files import file_blocks


def lines(*events: ev.Event) -> list[str]:
    state = RunState()
    for event in events:
        state.apply(event)
    drawn: list[str] = []
    for block in file_blocks(state):
        if isinstance(block, Facts):
            drawn += [f"{name}: {plain(words)}" for name, words in block.rows if words is not None]
        elif isinstance(block, Heading | Paragraph):
            drawn.append(plain(block.text))
    return drawn


HEADER = ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["mine", "eval"])


def test_before_a_stage_is_listed() -> None:
    assert lines() == ["Figures and files appear here when a stage is finished."]


def test_a_stage_at_work_counts_and_a_finished_one_has_its_figures() -> None:
    begun = ev.StageStarted(stage="mine", total=2_000, unit="problems")
    at_work = ev.StageProgress(stage="mine", done=1_250, total=2_000, elapsed=1.0)
    drawn = lines(HEADER, begun, at_work)
    assert drawn[0].startswith("▶ mine  ") and drawn[0].endswith("  1,250 of 2,000 problems")
    assert drawn[1].startswith("○ eval  ") and " of " not in drawn[1]
    ended = ev.StageFinished(stage="mine", seconds=61.0, summary={"pairs": 1_234}, files=["mine/pairs.jsonl"])
    drawn = lines(HEADER, begun, at_work, ended)
    assert drawn[0].startswith("✓ mine  ") and " of " not in drawn[0]
    assert drawn[1:3] == ["pairs: 1,234", "   mine/pairs.jsonl"]


def test_what_failed_and_what_the_run_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    at = 1_760_000_000.0  # 08:53:20
    drawn = lines(
        HEADER,
        ev.StageStarted(stage="mine", total=1, unit="problems"),
        ev.StageFailed(stage="mine", what="no disk", where="/a", hint="make room"),
        ev.Notice(stage="mine", text="slow", level="warning", time=at),
        ev.Notice(stage="", text="hello", time=at + 1),
    )
    assert drawn == [
        "✗ mine  failed  0 of 1 problem", "no disk: /a", "how to fix: make room", "○ eval  waiting", "notices",
        "08:53:20  mine: ! slow", "08:53:21  : hello",
    ]  # fmt: skip
