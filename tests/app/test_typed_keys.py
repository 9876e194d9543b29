"""Keys that are typed faster than the console turns, all of them in one moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.widgets import Input

from app.keys import typed_keys
from app.keys.typed_keys import KeysInOrder
from app.shell import SteerApp
from engine.run.directory import RunDirectory
from screens.esm.screen import EsmScreen
from screens.new_run import NewRunScreen
from screens.panels.help import HelpScreen
from screens.runs.screen import RunsScreen
from screens.widgets.filter_bar import FilterBar
from tests.console import until
from tests.made_run import create_run
from tests.synthetic_run import SyntheticRun, write_log

BACKSPACE = "\b"
NAMES = {BACKSPACE: "backspace", "\r": "enter", "\x10": "ctrl+p"}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = create_run(
        tmp_path / "outputs", "typed", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={}
    )
    write_log(directory.events, SyntheticRun(examples=4).events())
    return directory


def throw(app: SteerApp, text: str) -> None:
    """Type everything at once, as a terminal hands over what was typed while the console was busy."""
    for character in text:
        name = NAMES.get(character) or _character_to_key(character)
        app.post_message(Key(name, character if character.isprintable() else None))


async def test_what_is_typed_before_the_first_screen_waits_for_it(run: RunDirectory) -> None:
    app = SteerApp(outputs=run.path.parent.parent)
    throw(app, "/state:")
    async with app.run_test(size=(100, 30)):
        await until(lambda: app._began and not app.typing, "the keys")
        assert app.screen is app.home and app.home.query_one(FilterBar).input.value == "state:"


async def test_enter_takes_all_that_was_typed_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[Path, str]] = []
    monkeypatch.setattr(NewRunScreen, "_prepare", lambda self, path, changes: started.append((path, changes)))
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: isinstance(app.screen, RunsScreen), "the list")
        throw(app, "+task.eval_size=4000" + BACKSPACE + " online.L=3\r")
        await until(lambda: started, "the start")
        await pilot.pause()
    assert [changes for _, changes in started] == ["task.eval_size=400 online.L=3"]


async def test_backspaces_in_a_filter(run: RunDirectory) -> None:
    app = SteerApp(outputs=run.path.parent.parent)
    async with app.run_test(size=(120, 40)):
        app.open_run(run.path, "ESM")
        await until(lambda: isinstance(app.screen, EsmScreen) and app.screen.focused is not None, "the run")
        throw(app, "/correct orr" + BACKSPACE * 3 + "and m>=22" + BACKSPACE + "\r")
        bar = app.screen.query_one("#decisions FilterBar", FilterBar)
        await until(lambda: bar.query_one(Input).value and not bar.has_class("-open"), "enter")
        assert bar.query_one(Input).value == "correct and m>=2"


async def test_the_palette_runs_what_was_typed(run: RunDirectory) -> None:
    """`enter` waits for the search of the last letter; backspaces take what they were meant for."""
    app = SteerApp(outputs=run.path.parent.parent)
    async with app.run_test(size=(100, 30)):
        await until(lambda: isinstance(app.screen, RunsScreen) and app.screen.focused is not None, "the list")
        throw(app, "\x10" + "Helq" + BACKSPACE + "p\r")
        await until(lambda: isinstance(app.screen, HelpScreen), "what was chosen")


async def test_pasted_text_and_keys_keep_their_order(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(100, 30)):
        await until(lambda: isinstance(app.screen, RunsScreen), "the list")
        throw(app, "+a")
        app.post_message(Paste("bcd"))
        throw(app, BACKSPACE + "e")
        await until(
            lambda: isinstance(app.screen, NewRunScreen) and app.screen.query("#config-set"), "the dialog"
        )
        changes = app.screen.query_one("#config-set", Input)
        await until(lambda: changes.value.endswith("e"), "the last key")
        assert changes.value == "abce"


async def test_a_key_goes_to_the_screen_where_nothing_has_the_focus(run: RunDirectory) -> None:
    app = SteerApp(outputs=run.path.parent.parent)
    async with app.run_test(size=(100, 30)):
        await until(lambda: app._began and not app.typing, "the list")
        app.screen.set_focus(None)
        throw(app, "?")
        await until(lambda: isinstance(app.screen, HelpScreen), "the help")


class Steps(KeysInOrder[None]):
    """Tells the steps that are waited for, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Any] = []

    async def _screen_is_ready(self) -> None:
        self.steps.append("screen")

    def call_later(self, callback: Any, *arguments: Any, **more: Any) -> bool:
        self.steps.append(callback)
        return True


async def test_a_key_is_waited_for_through_all_widgets_twice_then_its_screen_then_its_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app, widgets = Steps(), [object(), object()]

    async def through(pumps: Any) -> None:
        app.steps.append(list(pumps))

    async def search() -> None:
        app.steps.append("search")
        raise TimeoutError

    monkeypatch.setattr(typed_keys, "_through", through)
    monkeypatch.setattr(app, "_search_is_over", search)
    app._handling = "something"  # type: ignore[assignment]
    await app._see_through(widgets)  # type: ignore[arg-type]
    assert app.steps == [[*widgets, *widgets], "screen", "search", app._take_key] and app._handling is None


async def test_a_search_of_the_palette_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other screens, and those that have ended, are not."""
    waited: list[Any] = []

    async def through(pumps: Any) -> None:
        waited.append(list(pumps))

    class Search:
        looks = 0

        def __init__(self, node: Any, runs_for: int) -> None:
            self.node, self.runs_for = node, runs_for

        @property
        def is_running(self) -> bool:
            self.looks += 1
            return self.looks <= self.runs_for

    palette = object.__new__(CommandPalette)
    searches = [Search(palette, 3), Search(palette, 0), Search("another", 99)]
    monkeypatch.setattr(typed_keys, "_through", through)
    monkeypatch.setattr(Steps, "workers", searches, raising=False)
    monkeypatch.setattr(Steps, "screen", palette)
    app = Steps()
    await app._search_is_over()
    assert [search.looks for search in searches] == [4, 1, 0] and waited == [[palette, app]]
    monkeypatch.setattr(Steps, "screen", object())
    await app._search_is_over()
    assert len(waited) == 1, "any other screen searches nothing"
