"""What servers cost, where a user looks for it: at batch's end, in the console's files, and as of any event."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App

from app.blocks.block import Block, Facts, Heading, Paragraph, plain
from app.result_tables import servers, usage_cells
from app.state.run import RunState
from engine.events import Notice, ServerUsage, StageFailed, StageFinished, StageStarted
from screens.overview.files import FilesPanel, file_blocks
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log
from tests.synthetic_slsm import slsm_events

JUDGE = ServerUsage(
    stage="slsm", role="judge", server="https://api.example/v1", model="judge-1", requests=1234, answered=1200,
    retries=30, failures=4, prompt_tokens=2_500_000, completion_tokens=90_000, seconds=400.0, waited=75.0, cost=1.25,
)  # fmt: skip
MODEL = ServerUsage(
    stage="slsm", role="model", server="http://127.0.0.1:8000/v1", model="own", requests=10, answered=10,
    unreported=10,
)  # fmt: skip


def title_of(*used: ServerUsage) -> str:
    state = RunState()
    for usage in used:
        state.apply(usage)
    return servers(state)[0].caption


def test_a_row_says_what_was_counted_and_nothing_else() -> None:
    assert usage_cells(JUDGE) == [
        "slsm", "judge", "judge-1 at https://api.example/v1", "1,234", "30", "4", "2,500,000", "90,000", "1:15",
        "1.2500",
    ]  # fmt: skip
    assert usage_cells(MODEL)[6:] == ["> 0", "> 0", "0:00", ""]
    mixed = ServerUsage(
        role="model", server="s", model="m", answered=3, unreported=1, prompt_tokens=20, completion_tokens=2,
        cost=0.5,
    )  # fmt: skip
    assert usage_cells(mixed)[6:] == ["> 20", "> 2", "0:00", "> 0.5000"]
    assert title_of(MODEL) == "Servers" and title_of(JUDGE, MODEL, mixed) == "Servers, total cost 1.7500"


def test_servers_that_cost_nothing_have_a_cost_of_zero() -> None:
    """A price of 0 is a price: a server of one's own, whose cost is known."""
    free = ServerUsage(role="model", server="http://127.0.0.1/v1", model="own", answered=3, cost=0.0)
    assert title_of(MODEL, free) == "Servers, total cost 0.0000" and usage_cells(free)[-1] == "0.0000"
    assert servers(RunState()) == []


def test_a_copy_of_the_state_keeps_what_was_spent_then() -> None:
    state = RunState()
    state.apply(MODEL)
    before = state.share()
    state.apply(JUDGE)
    assert set(state.usage) == {("slsm", "model"), ("slsm", "judge")}
    assert set(before.usage) == {("slsm", "model")}


class Files(App[None]):
    """The panel of figures and files."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(FilesPanel(self.session))


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_the_files_of_a_run_say_what_its_servers_cost(tmp_path: Path, size: tuple[int, int]) -> None:
    log = write_log(tmp_path / "events.jsonl", [*slsm_events(), JUDGE, MODEL])
    async with Files(RecordedSession(log, tmp_path)).run_test(size=size) as pilot:
        await pilot.pause()
        panel = pilot.app.screen
        assert isinstance(panel, FilesPanel)
        panel.poll()
        await pilot.press("end")
        await pilot.pause()
        text = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
    assert "total cost 1.2500" in text and "judge" in text and "slsm" in text


def test_files_show_each_stage_its_figures_files_and_error() -> None:
    state = RunState()
    for event in (
        StageStarted(stage="mine", total=4, unit="examples"),
        StageFinished(
            stage="mine", seconds=61, summary={"accuracy": 0.8125, "rollouts": 2400}, files=["esm/a.json"]
        ),
        StageStarted(stage="eval", total=4, unit="problems"),
        StageFailed(stage="eval", what="the disk is full", where="/data", hint="make room"),
        Notice(stage="eval", level="warning", text="slow"),
    ):
        state.apply(event)
    lines = [line.strip() for block in file_blocks(state) for line in lines_of(block)]
    assert lines[:4] == ["✓ mine  finished in 1:01", "accuracy 0.8125", "rollouts 2,400", "esm/a.json"]
    assert lines[4].startswith("✗ eval  failed")
    assert lines[5:7] == ["the disk is full /data", "how to fix make room"]
    assert lines[-2] == "notices" and lines[-1].endswith("eval ! slow")
    assert [plain(b.text) for b in file_blocks(RunState()) if isinstance(b, Paragraph)] == [
        "Figures and files appear here when a stage is finished."
    ]


def lines_of(block: Block) -> list[str]:
    if isinstance(block, Facts):
        return [f"{name} {plain(value)}" for name, value in block.rows]
    assert isinstance(block, Heading | Paragraph)
    return [plain(block.text)]
