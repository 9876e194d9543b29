"""The figures and files of the stages, from events made by hand; their panel over a run that goes on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.app import App

from app.blocks.block import Facts, Heading, Paragraph, Span, plain
from app.state.run import RunState
from engine import events as ev
from screens.overview import files
from screens.overview.files import FilesPanel, file_blocks
from tests.console import until
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log


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
    resumed = ev.StageStopped(stage="mine", done=1_250), ev.WorkerStarted(pid=2, attempt=2, stages=["mine"])
    assert lines(HEADER, begun, at_work, *resumed)[0] == "○ mine  waiting  1,250 of 2,000 problems"
    again = ev.StagesChosen(stale=["mine"], kept="earlier/1")
    assert "problems" not in lines(HEADER, begun, at_work, ended, again)[0], "it waits to be done again"


def test_what_failed_and_what_the_run_said(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 1_760_000_000.0  # 10:53:20 there
    with monkeypatch.context() as there:
        there.setenv("TZ", "XXX-2")  # two hours ahead
        time.tzset()
        drawn = lines(
            HEADER,
            ev.StageStarted(stage="mine", total=1, unit="problems"),
            ev.StageFailed(stage="mine", what="no disk", where="/a", hint="make room"),
            ev.Notice(stage="mine", text="slow", level="warning", time=at),
            ev.Notice(stage="", text="hello", time=at + 1),
        )
    time.tzset()
    assert drawn == [
        "✗ mine  failed  0 of 1 problem", "no disk: /a", "how to fix: make room", "○ eval  waiting", "notices",
        "10:53:20  mine: ! slow", "10:53:21  : hello",
    ]  # fmt: skip


async def test_the_open_panel_goes_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen below it does not look while it is covered: the panel asks the session itself."""
    events = [HEADER, ev.StageStarted(seq=1, stage="mine", total=9, unit="problems")]
    recorded = RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path, upto=1)
    panel = FilesPanel(recorded)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(panel)
        await pilot.pause()
        panel.poll()  # drawn in its size
        await pilot.pause()
        assert "of 9 problems" not in shown(panel)
        monkeypatch.setattr(recorded, "update", lambda: recorded.grow(1) or True)
        panel.poll()
        await pilot.pause()
        assert "0 of 9 problems" in shown(panel)


def shown(panel: FilesPanel) -> str:
    return "\n".join(strip.text for strip in panel._compositor.render_strips())


def test_the_tones_of_stages_files_and_notices() -> None:
    """A sign in the tone of its state, a name that is strong; files are dim, a warning warns."""
    state = RunState()
    for event in (
        ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["mine", "select", "memory", "eval"]),
        ev.StageFinished(stage="mine", seconds=61.0, files=["mine/pairs.jsonl"]),
        ev.StageStarted(stage="select", total=3, unit="pairs"), ev.StageFailed(stage="select", what="no disk"),
        ev.StageStarted(stage="memory", total=3, unit="pairs"), ev.Notice(text="slow", level="warning"),
        ev.Notice(text="hello"),
    ):  # fmt: skip
        state.apply(event)
    blocks = file_blocks(state)
    heads = [block.text for block in blocks if isinstance(block, Heading)]
    assert [head[:2] for head in heads[:4] if not isinstance(head, str | Span)] == [
        [Span("✓ ", "good"), Span("mine", "strong")], [Span("✗ ", "bad"), Span("select", "strong")],
        [Span("▶ ", "accent"), Span("memory", "strong")], [Span("○ ", "dim"), Span("eval", "strong")],
    ]  # fmt: skip
    assert heads[4] == "notices"
    assert [(block.text, block.tone) for block in blocks if isinstance(block, Paragraph)] == [
        ("   mine/pairs.jsonl", "dim")
    ]
    notices = blocks[-1]
    assert isinstance(notices, Facts)
    assert [words for _, words in notices.rows] == [Span("! slow", "warn"), "hello"]


async def test_the_panel_begins_with_the_folder(tmp_path: Path) -> None:
    panel = FilesPanel(RecordedSession([], Path("outputs/demo/1")))
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(panel)
        await pilot.pause()
        text = shown(panel)
        assert "─ Figures and files ─" in text and "folder  outputs/demo/1" in text
        await pilot.press("O")
        assert pilot.app.screen is not panel


async def test_the_page_is_drawn_as_wide_as_its_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """96 of 100 cells, less the frame and a cell at each side: 92."""
    widths: list[int] = []
    draw = files.draw
    monkeypatch.setattr(
        files, "draw", lambda blocks, palette, width: widths.append(width) or draw(blocks, palette, width)
    )
    panel = FilesPanel(RecordedSession([], tmp_path))
    async with App[None]().run_test(size=(100, 24)) as pilot:
        await pilot.app.push_screen(panel)
        await pilot.pause()
        panel._drawn = None
        panel.poll()
        assert widths[0] == 100 and widths[-1] == panel.page.content_size.width == 92


async def test_a_panel_that_is_open_goes_on_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.panels.session_panel._POLL_SECONDS", 0.02)
    events = [HEADER, ev.Notice(seq=1, stage="mine", text="slow disk", time=1.0)]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=1)
    panel = FilesPanel(session)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(panel)
        await pilot.pause()
        assert "slow disk" not in shown(panel)
        session.grow(1)
        await until(lambda: "slow disk" in shown(panel), "the notice", seconds=9)
