"""`/` everywhere: finds rows of a table; where there is none, takes what is typed so that no letter is a command."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from app.shell import SteerApp
from screens.find import FindScreen
from screens.method_screen import MethodScreen
from screens.panels.search import SearchScreen
from screens.widgets.tables.virtual_table import VirtualTable
from tests.console import drawn
from tests.recorded_session import RecordedSession
from tests.synthetic_pool import pool_events
from tests.synthetic_run import write_log


async def opened(pilot: Pilot[None], folder: Path) -> RecordedSession:
    session = RecordedSession(write_log(folder / "events.jsonl", pool_events()), folder)
    await pilot.app.push_screen(MethodScreen(session, "Pool"))
    await pilot.pause()
    return session


async def test_rows_of_a_list_are_found_by_words(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, tmp_path)
        table = app.screen.query("#queries VirtualTable").first(VirtualTable)
        await pilot.press("1", "g", "slash", *"0002")
        lines = drawn(app).splitlines()
        assert "╭─ Find queries ─" in drawn(app)
        assert lines[-2].startswith("╰"), "it stands above the keys, where it hides no first row"
        await pilot.press("enter")
        assert not isinstance(app.screen, FindScreen)
        assert "train-0002" in table.source.cells(table.cursor)[0].text
        assert "find 0002" in drawn(app)
        await pilot.press("g", "n")
        assert "train-0002" in table.source.cells(table.cursor)[0].text
        await pilot.press("escape")
        assert isinstance(app.screen, MethodScreen) and "find 0002" not in drawn(app)
        table.go_to(1)
        await pilot.press("slash", *"train", "enter")
        assert table.cursor == 1, "every row has this word: the one under the cursor is the next"
        await pilot.press("n")
        assert table.cursor == 2


async def test_words_of_no_row_are_told(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, tmp_path)
        table = app.screen.query("#queries VirtualTable").first(VirtualTable)
        await pilot.press("1", "slash", *"nowhere", "enter")
        assert isinstance(app.screen, FindScreen) and "None of these queries has these words." in drawn(app)
        assert app.screen.message.has_class("-wrong")
        assert table.search_words == ()
        await pilot.press("escape")
        assert isinstance(app.screen, MethodScreen) and table.search_words == ()
        assert "find nowhere" not in drawn(app)


async def test_a_word_typed_after_a_slash_is_no_command(tmp_path: Path) -> None:
    """`S` would stop the run, `p` pause it, `q` leave."""
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        session = await opened(pilot, tmp_path)
        for keys in (("2",), ("1", "1", "enter")):  # results, and an opened query
            await pilot.press(*keys, "slash", *"Spq")
            assert session.sent == [] and isinstance(app.screen, SearchScreen)
            assert app.screen.input.value == "Spq"
            await pilot.press("escape")
            assert isinstance(app.screen, MethodScreen)


async def test_what_the_line_says_and_how_it_closes(tmp_path: Path) -> None:
    """Words of before are there again; without any, enter closes it, and nothing is marked any more."""
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, tmp_path)
        await pilot.press("1", "g")
        table = app.screen.query("#queries VirtualTable").first(VirtualTable)
        seen: list[tuple[str, str, tuple[str, ...]]] = []
        for keys in ("slash", "T r a i n space 0 0 0 2", "enter slash", "x", "enter", "ctrl+u", "enter"):
            await pilot.press(*keys.split())
            await pilot.pause()
            if isinstance(app.screen, FindScreen):
                line = app.screen
                seen.append((line.input.value, str(line.message.render()), table.search_words))
        assert isinstance(app.screen, MethodScreen) and table.search_words == () and table.cursor == 2
        app.push_screen(FindScreen(None))
        await pilot.pause()
        line = app.screen
        assert isinstance(line, FindScreen)
        nowhere = str(line.message.render())
        await pilot.press("x", "enter")
        assert isinstance(app.screen, MethodScreen)
    how = "⏎ next row with these words · then n next, N previous · esc ends"
    assert seen == [
        ("", how, ()),
        ("Train 0002", how, ("train", "0002")),
        ("train 0002", how, ("train", "0002")),
        ("x", how, ("x",)),
        ("x", "None of these queries has these words.", ()),
        ("", how, ()),
    ]
    assert nowhere == "There is nothing to find here: esc closes this line."
