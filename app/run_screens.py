"""Which screen of the open run is shown: its overview or a method's. Above the overview is the list of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from app.methods.place import Place
from app.runs.session import RunSession
from screens.method_screen import screen_of
from screens.overview.screen import OverviewScreen
from screens.run_screen import RunScreen
from screens.tabbed_screen import TabbedScreen


class RunScreens:
    """Exchanges the screen of `session` on top of the console's stack; keeps how each was left, so that it looks the
    same when it is opened again. Nothing of that is written to disk."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._left: dict[tuple[Path, str], Mapping[str, Any]] = {}
        """By run and screen: its tab, and filter, order and cursor of its tables."""

    @property
    def shown(self) -> RunScreen | None:
        """The run's screen, whatever panel lies above it."""
        screens = reversed(self._app.screen_stack)
        return next((screen for screen in screens if isinstance(screen, RunScreen)), None)

    def open(self, session: RunSession, method: str = "", place: Place | None = None) -> None:
        """A run that was just opened: its overview, or the screen of a method; at a place, if there is one."""
        name = method or OverviewScreen.TITLE_WORD
        self._app.push_screen(self._made(session, name, self._last_method(session), place))

    def show(
        self, session: RunSession, name: str, place: Place | None = None, followed: bool = False
    ) -> None:
        """A method's screen, or the overview (no name); not while a panel lies above."""
        name = name or OverviewScreen.TITLE_WORD
        before = self.shown
        if before is None or before is not self._app.screen:
            return
        if name == before.TITLE_WORD:
            if place is not None and isinstance(before, TabbedScreen):
                before.open_place(place)
            return
        self.leave()
        screen = self._made(session, name, before.TITLE_WORD, place)
        screen.following = followed
        self._app.switch_screen(screen)

    def up(self, session: RunSession) -> bool:
        """From a method to the overview; False where the list of runs comes next."""
        if self.shown is None or isinstance(self.shown, OverviewScreen):
            return False
        self.show(session, OverviewScreen.TITLE_WORD)
        return True

    def leave(self) -> None:
        """Keep how the shown screen is left."""
        screen = self.shown
        if screen is not None and screen.is_mounted:
            self._left[screen.session.run_dir.absolute(), screen.TITLE_WORD] = screen.view()

    def _made(self, session: RunSession, name: str, came_from: str, place: Place | None) -> RunScreen:
        if name == OverviewScreen.TITLE_WORD:
            return OverviewScreen(session, came_from)
        screen = screen_of(name, session)
        screen.left_view = self._left.get((session.run_dir.absolute(), name))
        screen.pending_place = place
        return screen

    def _last_method(self, session: RunSession) -> str:
        view = self._left.get((session.run_dir.absolute(), OverviewScreen.TITLE_WORD))
        return str(view.get("method", "")) if view else ""
