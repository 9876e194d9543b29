"""Which run is open, what lies above the list of runs, and what one comes back to: over screens that are acted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.methods.place import Place
from app.open_runs import OpenRuns
from engine.errors import DataError
from screens.messages import ErrorUnforeseen, EventRequested, RunRequested, SystemRequested
from tests.two_runs import make_run


class Session:
    """Of a run; knows whether it was closed."""

    def __init__(self, run_dir: Path, **more: Any) -> None:
        self.run_dir, self.more, self.closed = run_dir, more, False

    def close(self) -> None:
        self.closed = True


class Console(OpenRuns):
    """Its screens are names; what it asks of others is told in `asked`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []
        self.stack: list[str] = ["list"]
        self.overview = True
        self.list_of_runs: Any = SimpleNamespace(
            runs=SimpleNamespace(add_folder=lambda folder: self.asked.append(("folder", folder))),
            select=lambda run: self.asked.append(("select", run)),
        )

    def ask(self, *asked: Any) -> None:
        self.asked.append(asked)

    @property
    def run_screens(self) -> Any:  # type: ignore[override]
        def open_screen(session: Session, method: str, place: Place | None) -> None:
            self.stack.append(f"{session.run_dir.name} {method}".strip())
            self.ask("open", session.run_dir.name, method, place)

        return SimpleNamespace(
            open=open_screen, leave=lambda: self.ask("leave"), up=lambda session: not self.overview,
            show=lambda session, *given: self.ask("show", session.run_dir.name, *given),
        )  # fmt: skip

    @property
    def home(self) -> Any:
        return self.list_of_runs

    @property
    def screen_stack(self) -> Any:
        return self.stack

    def pop_screen(self) -> Any:
        return self.stack.pop()

    def push_screen(self, screen: Any, *more: Any) -> Any:  # type: ignore[override]
        self.stack.append(type(screen).__name__)

    def show_error(self, title: str, error: Exception, run: Path | None = None) -> None:
        self.ask("error", title, str(error))


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setattr("app.runs.session.RunSession", Session)
    return Console()


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [make_run(tmp_path / "o", name, []) for name in "ab"]


def test_a_run_is_opened_and_left_for_the_list(console: Console, runs: list[Path]) -> None:
    a, place = runs[0], Place("decisions", 3)
    console.open_run(a, "ESM", place)
    session: Any = console.session
    assert session.run_dir == a and session.more == {"has_started_worker": console.engine_workers.is_running}
    assert console.asked == [("folder", a.parents[1]), ("leave",), ("open", a.name, "ESM", place)]
    assert console.watched() == [a] and console.stack == ["list", f"{a.name} ESM"]
    console.asked.clear()
    console.action_detach()
    assert console.stack == ["list"] and console.session is None and session.closed
    assert console.asked == [("leave",), ("select", a)] and console.watched() == []


def test_a_run_of_the_working_folder_adds_the_folder_of_its_experiments(
    console: Console, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs[0].parent)
    console.open_run(Path(runs[0].name))
    assert console.asked[0] == ("folder", runs[0].parents[1])


def test_an_error_of_a_screens_worker_is_shown(console: Console) -> None:
    console._error_unforeseen(ErrorUnforeseen(ValueError("no such thing")))
    assert console.asked == [("error", "This was not foreseen", "no such thing")]


def test_what_is_no_run_is_not_opened(console: Console, tmp_path: Path) -> None:
    console.open_run(tmp_path / "none")
    [(_, title, why)] = console.asked
    assert title == "The run was not opened" and str(tmp_path / "none") in why and console.session is None


def test_from_a_run_that_was_opened_above_another_one_comes_back_to_it(
    console: Console, runs: list[Path]
) -> None:
    a, b = runs
    console.open_run(a)
    first: Any = console.session
    console.push_screen(object())
    console._run_requested(RunRequested(b, "SLSM", None))
    second: Any = console.session
    assert console.watched() == [b, a] and len(console.stack) == 4
    console.push_screen(object())
    console.action_detach()
    assert console.stack == ["list", a.name, "object"] and console.session is first
    assert second.closed and not first.closed
    console._run_requested(RunRequested(b, ""))
    console.close_run()
    assert console.stack == ["list"] and first.closed and console.session is None and console._parents == []


def test_an_item_of_the_run_that_is_open_is_shown_there(
    console: Console, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = runs
    place = Place("pairs", 1)
    monkeypatch.setattr("screens.event_places.event_place", lambda run, seq: (f"method of {seq}", place))
    console.open_event(a, None)
    assert console.asked[-1] == ("open", a.name, "", None)
    console._event_requested(EventRequested(a, 7))
    assert console.asked[-1] == ("show", a.name, "method of 7", place)
    console.open_event(b, 8)
    assert console.asked[-1] == ("open", b.name, "method of 8", place)

    monkeypatch.chdir(b.parent)
    console.open_event(Path(b.name), 9)
    assert console.asked[-1] == ("show", b.name, "method of 9", place), "it is open, by another name"

    def lost(*_: object) -> None:
        raise DataError(what="torn", where="log")

    monkeypatch.setattr("screens.event_places.event_place", lost)
    console.open_event(a, 9)
    assert console.asked[-1] == ("error", "The item was not opened", "torn (log)")


def test_up_leads_out_of_a_run_from_its_overview_alone(console: Console, runs: list[Path]) -> None:
    console.action_up()
    console._system_requested(SystemRequested("ESM"))
    assert console.asked == [], "no run is open"
    console.open_run(runs[0])
    console.overview = False
    console.action_up()
    assert console.session is not None
    console._system_requested(SystemRequested("ESM", Place("results"), followed=True))
    assert console.asked[-1] == ("show", runs[0].name, "ESM", Place("results"), True)
    console.overview = True
    console.action_up()
    assert console.session is None


def test_comparisons_and_sweeps_lie_above_what_is_open(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("screens.sweep.screen.SweepScreen", lambda folder: shown.append(folder))
    console.open_sweep(tmp_path)
    assert shown == [tmp_path] and len(console.stack) == 2
