"""What servers cost, where a user looks for it: at batch's end, in the console's files, and as of any event."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App

from app.state.run import RunState
from app.usage_text import total_cost, usage_cells
from engine.events import ServerUsage
from screens.slsm.screen import SLSMScreen
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log
from tests.synthetic_slsm import slsm_events

JUDGE = ServerUsage(
    stage="slsm", role="judge", server="https://api.example/v1", model="judge-1", requests=1234, answered=1200,
    retries=30, failures=4, prompt_tokens=2_500_000, completion_tokens=90_000, seconds=400.0, waited=75.0, cost=1.25,
)  # fmt: skip
MODEL = ServerUsage(
    stage="slsm", role="model", server="http://127.0.0.1:8000/v1", model="own", requests=10, answered=10,
    unreported=10, characters_sent=4000, characters_received=600,
)  # fmt: skip


def test_a_row_says_what_was_counted_and_nothing_else() -> None:
    assert usage_cells(JUDGE) == [
        "slsm", "judge", "judge-1 at https://api.example/v1", "1,234", "30", "4", "2,500,000", "90,000", "1:15",
        "1.2500",
    ]  # fmt: skip
    assert usage_cells(MODEL)[6:] == ["4,000 letters", "600 letters", "0:00", ""]
    mixed = ServerUsage(
        role="model", server="s", model="m", answered=3, unreported=1, prompt_tokens=20, completion_tokens=2,
        characters_sent=9, characters_received=8, cost=0.5,
    )  # fmt: skip
    assert usage_cells(mixed)[6:] == ["20 + 9 letters", "2 + 8 letters", "0:00", "> 0.5000"]
    assert total_cost([MODEL]) is None and total_cost([JUDGE, MODEL, mixed]) == pytest.approx(1.75)


def test_a_copy_of_the_state_keeps_what_was_spent_then() -> None:
    state = RunState()
    state.apply(MODEL)
    before = state.share()
    state.apply(JUDGE)
    assert set(state.usage) == {("slsm", "model"), ("slsm", "judge")}
    assert set(before.usage) == {("slsm", "model")}


class Files(App[None]):
    """The SLSM screen, whose last tab is the files."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(SLSMScreen(self.session))


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_the_files_of_a_run_say_what_its_servers_cost(tmp_path: Path, size: tuple[int, int]) -> None:
    log = write_log(tmp_path / "events.jsonl", [*slsm_events(), JUDGE, MODEL])
    async with Files(RecordedSession(log, tmp_path)).run_test(size=size) as pilot:
        await pilot.press("4")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, SLSMScreen)
        screen.poll()
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()
        text = "\n".join(strip.text for strip in screen._compositor.render_strips())
    assert "1.2500 in all" in text and "requests 1,234" in text and "judge-1" in text
    assert "4,000 letters" in text
