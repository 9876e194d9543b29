"""The help panel: `/` leaves the keys whose lines have the words; the footer says where there is more below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from screens.panels.help import HelpScreen
from screens.widgets.key_line import KeyLine, keys_of

PLACES = ("while typing", "on this screen", "everywhere")


class Little(App[None]):
    BINDINGS = [
        Binding("s", "sort", "Sort", tooltip="Sort by the marked column."),
        Binding("n", "note", "Note", tooltip="Write a note on the row."),
    ]

    def action_sort(self) -> None: ...

    def action_note(self) -> None: ...

    def compose(self) -> ComposeResult:
        yield KeyLine()


class Near(Screen[None]):
    BINDINGS = [Binding("f9", "tick", "Tick", tooltip="Tick the stage.")]

    def action_tick(self) -> None: ...

    def compose(self) -> ComposeResult:
        yield Input()


async def test_the_nearest_keys_stand_first() -> None:
    async with Little().run_test(size=(100, 40)) as pilot:
        await pilot.app.push_screen(Near())
        await pilot.pause()
        screen = await help_of(pilot)
        assert [line for line in keys(screen) if line in PLACES] == list(PLACES)


async def help_of(pilot: Pilot[None]) -> HelpScreen:
    screen = HelpScreen(pilot.app.screen)
    await pilot.app.push_screen(screen)
    await pilot.pause()
    return screen


def keys(screen: HelpScreen) -> Sequence[str]:
    console = Console(width=100, force_terminal=False)
    with console.capture() as capture:
        console.print(screen.query_one(".help-keys", Static).content)
    return [" ".join(line.split()) for line in capture.get().splitlines() if line.strip()]


async def test_a_slash_finds_keys_by_words_of_their_lines() -> None:
    async with Little().run_test(size=(100, 40)) as pilot:
        screen = await help_of(pilot)
        assert "s Sort Sort by the marked column." in keys(screen)
        assert "n Note Write a note on the row." in keys(screen)
        await pilot.press("slash", *"ROW", "space", *"note")
        assert keys(screen) == ["everywhere", "n Note Write a note on the row."]
        await pilot.press("q")  # a letter of a word, not the key that closes
        assert screen.query_one(Input).value == "ROW noteq" and keys(screen) == []
        await pilot.press("escape")
        assert pilot.app.screen is not screen


async def test_the_footer_says_that_there_is_more_below() -> None:
    def more() -> bool:
        return "pgdn More" in screen._compositor.render_strips()[-1].text

    async with Little().run_test(size=(100, 12)) as pilot:
        screen = await help_of(pilot)
        screen.query_one(".help-keys", Static).update("\n".join(map(str, range(14))))
        await pilot.pause()
        assert more() and any(key.word == "More" for key in keys_of(screen))
        await pilot.press("end")
        await pilot.pause()
        assert not more()
        await pilot.press("up")
        await pilot.pause()
        assert more()
        screen.query_one(".help-keys", Static).update("short")
        await pilot.pause()
        assert not more()
        screen.query_one(".help-keys", Static).update("\n".join(map(str, range(14))))
        await pilot.pause()
        assert more()
