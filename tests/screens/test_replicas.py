"""The panel of replicas over a recorded run: what it tells, and that it is there only for runs over a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from app.blocks.block import Paragraph, Table, plain
from app.state.run import RunState
from app.state.scale import ReplicaRow
from engine import events as ev
from screens.method_screen import MethodScreen
from screens.panels import replicas
from screens.panels.replicas import ReplicasPanel
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log

SMALL, WIDE = (80, 24), (140, 40)


def scale_events(dashboard: str = "") -> list[ev.Event]:
    """Two replicas at stage mine, then at pool, where one dies and comes back."""
    plain: list[ev.Event] = [
        ev.Header(schema_version=1, name="n", run_id="r", seed=0, stages=["mine", "pool"]),
        ev.WorkerStarted(pid=1, attempt=1, stages=["mine", "pool"]),
        ev.ClusterJoined(
            stage="mine", engine="ray", address="10.0.0.7:6379", own=False, replicas=2, dashboard=dashboard
        ),
        ev.StageStarted(stage="mine", total=100, unit="examples"),
        ev.ReplicaStarted(stage="mine", replica=1, life=1, node="anna", pid=41, gpus=["3"]),
        ev.ReplicaStarted(stage="mine", replica=0, life=1, node="bert", pid=42),
        ev.ReplicaProgress(stage="mine", replica=0, done=60, busy=12.0, elapsed=16.0),
        ev.ReplicaProgress(stage="mine", replica=1, done=40, busy=16.0, elapsed=20.0),
        ev.StageFinished(stage="mine", seconds=20.0),
        ev.StageStarted(stage="pool", total=30, unit="queries"),
        ev.ReplicaProgress(stage="pool", replica=0, done=4, busy=1.0, elapsed=2.0),
        ev.ReplicaLost(stage="pool", replica=1, life=1, redone=2, reason="killed"),
        ev.ReplicaStarted(stage="pool", replica=1, life=2, node="anna", pid=77, gpus=["3"]),
    ]
    for seq, event in enumerate(plain):
        plain[seq] = type(event)(**{**{n: getattr(event, n) for n in event.__struct_fields__}, "seq": seq})
    return plain


def test_the_fold_counts_for_the_stage_at_hand() -> None:
    state = RunState()
    mined: RunState | None = None
    for event in scale_events():
        if isinstance(event, ev.StageFinished):
            mined = state.share()
        state.apply(event)
    assert mined is not None
    assert mined.scale.pace == pytest.approx(100 / 20)
    first, second = mined.scale.rows[0], mined.scale.rows[1]
    assert (first.pace, second.pace) == (pytest.approx(5.0), pytest.approx(2.5))
    assert mined.scale.share_busy(first) == pytest.approx(0.6)
    assert (state.scale.stage, state.scale.pace) == ("pool", pytest.approx(2.0))
    row = state.scale.rows[1]
    assert (row.status, row.done, row.deaths, row.redone, row.pid) == ("ready", 0, 1, 2, 77)
    state.apply(ev.ReplicaLost(seq=99, stage="pool", replica=1, life=2, redone=3, reason="killed"))
    row = state.scale.rows[1]
    assert (row.status, row.deaths, row.redone) == ("lost", 2, 5)


class RunApp(App[None]):
    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(MethodScreen(self.session, "Pool"))


def session(folder: Path, events: list[ev.Event]) -> RecordedSession:
    return RecordedSession(write_log(folder / "events.jsonl", events), folder)


async def opened(pilot: Pilot[None]) -> str:
    """As the palette does, or a click on the header."""
    await pilot.app.screen.run_action("show_replicas")
    return await text_of(pilot)


async def text_of(pilot: Pilot[None], *keys: str) -> str:
    await pilot.press(*keys)
    await pilot.pause()
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_panel_tells_who_works_and_how_fast(tmp_path: Path, size: tuple[int, int]) -> None:
    recorded = session(tmp_path, scale_events("http://10.0.0.7:8265"))
    async with RunApp(recorded).run_test(size=size) as pilot:
        await pilot.pause()
        text = await opened(pilot)
        assert isinstance(pilot.app.screen, ReplicasPanel)
        assert "Ray at 10.0.0.7:6379" in text and "started for this run" not in text
        assert "pool: 2.00 queries per second together" in text
        assert "dashboard http://10.0.0.7:8265" in text
        assert "0 ready" in text and "bert:42" in text and "4.00" in text
        assert "anna:77" in text and "died 1×, 2 items redone" in text
        await text_of(pilot, "y")
        assert pilot.app.clipboard == "http://10.0.0.7:8265"
        await text_of(pilot, "escape")
        assert isinstance(pilot.app.screen, MethodScreen)


async def test_it_follows_the_run(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", scale_events())
    recorded = RecordedSession(entries, tmp_path, upto=7)
    async with RunApp(recorded).run_test(size=WIDE) as pilot:
        await pilot.pause()
        assert "mine: 3.75 examples per second together" in await opened(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, ReplicasPanel)
        screen.poll()  # drawn in its size
        recorded.grow(1)
        screen.poll()
        assert "mine: 5.00 examples per second together" in await text_of(pilot)


async def test_of_a_run_in_one_process_it_says_so(tmp_path: Path) -> None:
    plain = [event for event in scale_events() if not type(event).__name__.startswith(("Replica", "Cluster"))]
    async with RunApp(session(tmp_path, plain)).run_test(size=WIDE) as pilot:
        await pilot.pause()
        assert "This run uses a single process." in await opened(pilot)


async def test_the_open_panel_goes_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen below it does not look while it is covered: the panel asks the session itself."""
    recorded = session(tmp_path, scale_events(""))
    async with RunApp(recorded).run_test(size=WIDE) as pilot:
        await pilot.pause()
        await opened(pilot)
        panel = pilot.app.screen
        assert isinstance(panel, ReplicasPanel)
        asked: list[bool] = []
        monkeypatch.setattr(recorded, "update", lambda: asked.append(True) or False)
        panel.poll()
        assert asked


@pytest.mark.parametrize("width", [109, 110])
def test_all_that_the_panel_says(width: int, tmp_path: Path) -> None:
    """Without dashboard and stage; devices and bars from 110 columns on."""
    panel = ReplicasPanel(session(tmp_path, scale_events()[:8]))
    text, pace, table = panel.blocks(panel._session, width)
    assert isinstance(text, Paragraph) and isinstance(pace, Paragraph) and isinstance(table, Table)
    assert (plain(text.text), plain(pace.text)) == (
        "Ray at 10.0.0.7:6379",
        "mine: 5.00 examples per second together",
    )
    wide = [
        ("replica", "process", "gpus", "busy", "", "done", "per second"),
        ("● 0 ready", "bert:42", "·", "━━━━━━────  60%", "", "60", "5.00"),
        ("● 1 ready", "anna:41", "3", "━━━━━━━━──  80%", "", "40", "2.50"),
    ]
    narrow = [
        [cell[-3:] if at == 3 and cell != "busy" else cell for at, cell in enumerate(row) if at != 2]
        for row in wide
    ]
    rows = [[plain(cell) for cell in row] for row in (table.header, *table.rows)]
    assert rows == ([list(row) for row in wide] if width == 110 else narrow)
    alone = RunState()
    alone.apply(scale_events()[0])
    (block,) = replicas._cluster(alone.scale, None)
    assert block == Paragraph("This run uses a single process.")
    alone.apply(
        ev.ClusterJoined(stage="", engine="ray", address="a", own=True, replicas=0, dashboard="http://d")
    )
    assert [plain(block.text) for block in replicas._cluster(alone.scale, None) if isinstance(block, Paragraph)] == [
        "Ray at a, started for this run", "dashboard http://d",
    ]  # fmt: skip


def test_a_replica_that_died_and_one_that_begins() -> None:
    died = ReplicaRow(3, status="lost", node="anna", pid=7, gpus=("0", "1"), deaths=2, redone=1, done=1_200)
    assert replicas._cells(died, None, 10) == (
        "✗ 3 lost", "anna:7", "0, 1", "·", "died 2×, 1 item redone", "1,200", replicas.fixed(died.pace, 2),
    )  # fmt: skip
    begins = ReplicaRow(0, status="starting")
    assert replicas._cells(begins, 0.0, 0)[:5] == ("○ 0 starting", "·", "·", "0%", "")
