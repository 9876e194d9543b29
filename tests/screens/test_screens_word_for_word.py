"""Every screen and panel of a run, of a comparison and of the list of runs as a terminal has it, at the smallest and a
wide size: what stands where, and what is left out where it is narrow. After a change that is meant:
`pytest tests/screens/test_screens_word_for_word.py --snapshot-update`, and read the difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from engine.errors import ConfigError, Problem, SteerError
from engine.events import Event
from engine.run.directory import RunDirectory, StageRecord
from screens.compare.screen import CompareScreen
from screens.confirm import ConfirmScreen
from screens.evolution.screen import EvolutionScreen
from screens.leaving import LeaveScreen
from screens.method_screen import MethodScreen
from screens.overview.screen import OverviewScreen
from screens.panels.ask import AskScreen
from screens.panels.error_panel import ErrorPanel, Fault
from screens.panels.session_panel import SessionPanel
from screens.run_screen import RunScreen
from screens.slsm.screen import SLSMScreen
from tests.recorded_session import RecordedSession
from tests.screens.compare.test_compare_screen import answers
from tests.screens.overview.test_overview import session_of
from tests.screens.test_what_methods_show import TextFile
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun, write_log
from tests.synthetic_slsm import slsm_events
from tests.two_runs import make_run

SIZES = [(80, 24), (200, 60)]
each_size = pytest.mark.parametrize("size", SIZES, ids=["small", "wide"])


@pytest.fixture(autouse=True)
def same_place_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def all_events() -> list[Event]:
    runs = [
        list(SyntheticRun(8, 6, 8).events()), list(evolution_events(3)), list(gflownet_events(60)), list(slsm_events()),
        list(pool_events()),
    ]  # fmt: skip
    events = [runs[0][0], *chain.from_iterable(events[1:] for events in runs)]
    return [replace(event, seq=seq, time=1_760_000_000.0 + seq) for seq, event in enumerate(events)]


class ScreenApp(App[None]):
    def __init__(self, first: Screen[None]) -> None:
        super().__init__()
        self.first = first

    def on_mount(self) -> None:
        self.push_screen(self.first)


async def drawn(pilot: Pilot[None]) -> list[str]:
    """The lines of the screen, after all that was due is drawn."""
    await pilot.app.workers.wait_for_complete()
    for _ in range(2):
        await pilot.pause()
        if isinstance(screen := pilot.app.screen, RunScreen | SessionPanel):
            screen._drawn = None
            screen.poll()
    await pilot.pause()
    return [strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips()]


def finished(outputs: Path) -> RecordedSession:
    """A run of all methods in a folder that has the same path everywhere."""
    run = RunDirectory(make_run(outputs, "demo", []).rename(outputs / "demo" / "20251009-085320-5eed"))
    record = run.read()
    record.stages = {
        "mine": StageRecord(status="finished", seconds=61.0),
        "select": StageRecord(status="stale"),
        "eval": StageRecord(skipped=True),
    }
    run.write(record)
    return RecordedSession(write_log(run.events, all_events()), run.path.relative_to(outputs))


async def tour(first: Screen[None], size: tuple[int, int], *steps: str) -> str:
    """The screen at first, and after each step: some keys, with blanks between them."""
    lines: list[str] = []
    async with ScreenApp(first).run_test(size=size) as pilot:
        for step in ("", *steps):
            await pilot.press(*step.split())
            lines += [f"===== {step}", *await drawn(pilot), ""]
    return "\n".join(lines)


Make = Callable[[RecordedSession], Screen[None]]
METHODS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "evolution": (EvolutionScreen, ("home enter", "escape escape 2", "3")),
    "gflownet": (lambda session: MethodScreen(session, "GFlowNet"), ("1 home enter", "escape escape 2", "3")),
    "slsm": (SLSMScreen, ("home enter", "escape escape 3")),
    "pool": (lambda session: MethodScreen(session, "Pool"), ("home enter", "escape escape 2", "3")),
}
OVERVIEW = ("enter", "escape down", "i", "escape O", "escape left_square_bracket")


@each_size
@pytest.mark.parametrize("method", METHODS)
async def test_screens_of_methods(
    method: str, size: tuple[int, int], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    make, steps = METHODS[method]
    assert await tour(make(finished(tmp_path)), size, *steps) == snapshot(extension_class=TextFile)


@each_size
async def test_the_overview_and_its_panels(
    size: tuple[int, int], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    text = await tour(OverviewScreen(finished(tmp_path)), size, *OVERVIEW)
    assert text == snapshot(extension_class=TextFile)


@each_size
async def test_a_run_at_work(size: tuple[int, int], tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """In the middle of its answers."""
    working = session_of(tmp_path, upto=200)
    text = await tour(OverviewScreen(working), size, "enter", "escape")
    assert text == snapshot(extension_class=TextFile)


@each_size
async def test_a_comparison(size: tuple[int, int], tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    a = make_run(tmp_path, "a", answers(4.0, "r"), {"online": {"L": 3}})
    b = make_run(tmp_path, "b", answers(2.0, "q"), {"online": {"L": 5}})
    text = await tour(CompareScreen(a, b), size, "down enter", "down enter", "space", "escape escape z")
    for run in (a, b):
        text = text.replace(str(run.name), f"RUN-{run.parent.name}")
    assert text == snapshot(extension_class=TextFile)


def _whole_number(text: str) -> str:
    if not text.isdigit():
        raise ValueError(f"expected a whole number, found {text!r}")
    return f"{text} it is."


PROBLEMS = [Problem("online.L", "0", "a whole number at least 1"), Problem("onlin", "", "a section")]
RUNS = [RunDirectory(Path(f"outputs/demo/{number}")) for number in (1, 2)]
DIALOGS: dict[str, Callable[[], Screen[Any]]] = {
    "leave": lambda: LeaveScreen(RUNS, RUNS[1:]),
    "ask": lambda: AskScreen("How many?", _whole_number, "x"),
    "confirm": lambda: ConfirmScreen("Begin eval [again]", "Done again: eval. " * 9),
    "error": lambda: ErrorPanel(
        Fault.of_error("Not started", SteerError(what="no room", where="a/b", hint="make some"))
    ),
    "bug": lambda: ErrorPanel(Fault.of_error("Not started", ZeroDivisionError("a bug"))),
    "configuration": lambda: ErrorPanel(Fault.of_error("Not started", ConfigError(PROBLEMS))),
}


@each_size
async def test_dialogs(size: tuple[int, int], snapshot: SnapshotAssertion) -> None:
    lines: list[str] = []
    async with App[None]().run_test(size=size) as pilot:
        for name, make in DIALOGS.items():
            await pilot.app.push_screen(make())
            lines += [f"===== {name}", *await drawn(pilot)]
            pilot.app.pop_screen()
    assert "\n".join(lines) == snapshot(extension_class=TextFile)
