"""Which screen of a run is shown next, and whether it goes on following the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.run_screens import RunScreens
from screens.esm.screen import EsmScreen
from screens.overview.screen import OverviewScreen
from screens.run_screen import RunScreen
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class Stack:
    """An app's screens, of which the last is shown."""

    def __init__(self, first: RunScreen) -> None:
        self.screen_stack: list[Any] = [first]

    @property
    def screen(self) -> Any:
        return self.screen_stack[-1]

    def switch_screen(self, screen: RunScreen) -> None:
        self.screen_stack[-1] = screen


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", SyntheticRun(examples=2).events()), tmp_path)


def screens_of(session: RecordedSession, following: bool) -> tuple[RunScreens, Stack]:
    first = OverviewScreen(session)
    first.following = following
    stack = Stack(first)
    app: Any = stack
    return RunScreens(app), stack


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("followed", [False, True])
def test_whoever_goes_elsewhere_follows_the_work_no_longer(
    session: RecordedSession, before: bool, followed: bool
) -> None:
    """Only a screen that the work itself led to goes on with it."""
    screens, stack = screens_of(session, following=before)
    shown: Any = session
    screens.show(shown, "ESM", followed=followed)
    assert isinstance(stack.screen, EsmScreen) and stack.screen.following == followed


def test_up_leads_to_the_overview_and_from_there_out(session: RecordedSession) -> None:
    screens, stack = screens_of(session, following=False)
    shown: Any = session
    assert not screens.up(shown) and isinstance(stack.screen, OverviewScreen)
    screens.show(shown, "ESM")
    assert screens.up(shown) and isinstance(stack.screen, OverviewScreen)
    assert stack.screen._method == "ESM", "the line of the method that one comes from is chosen"


def test_a_screen_comes_back_as_it_was_left_last(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    screens, stack = screens_of(session, following=False)
    shown: Any = session
    tabs = iter(("results", "entries", "cases"))
    monkeypatch.setattr(EsmScreen, "is_mounted", True)
    monkeypatch.setattr(EsmScreen, "view", lambda screen: {"tab": next(tabs)})
    for left in (None, {"tab": "results"}, {"tab": "entries"}):
        screens.show(shown, "ESM")
        assert isinstance(stack.screen, EsmScreen) and stack.screen.left_view == left
        screens.show(shown, "")


def test_how_a_screen_was_left_belongs_to_the_run_however_its_folder_is_named(
    session: RecordedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run below the working folder is the same by its relative path."""
    screens, stack = screens_of(session, following=False)
    shown: Any = session
    monkeypatch.setattr(EsmScreen, "is_mounted", True)
    monkeypatch.setattr(EsmScreen, "view", lambda screen: {"tab": "cases"})
    monkeypatch.chdir(tmp_path.parent)
    session.run_dir = Path(tmp_path.name)
    screens.show(shown, "ESM")
    screens.show(shown, "")
    for path in (Path(tmp_path.name), tmp_path):
        session.run_dir = path
        screens.show(shown, "ESM")
        assert isinstance(stack.screen, EsmScreen) and stack.screen.left_view == {"tab": "cases"}
        screens.show(shown, "")
    session.run_dir = tmp_path / "another"
    screens.show(shown, "ESM")
    assert isinstance(stack.screen, EsmScreen) and stack.screen.left_view is None


def test_a_covered_screen_is_not_changed(session: RecordedSession) -> None:
    screens, stack = screens_of(session, following=False)
    stack.screen_stack.append(object())
    shown: Any = session
    screens.show(shown, "ESM")
    assert [type(screen) for screen in stack.screen_stack] == [OverviewScreen, object]
