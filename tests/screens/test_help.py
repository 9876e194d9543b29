"""The help panel: the text, then the keys, last those of a field; `/` leaves the keys whose lines have the words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Markdown, Static

from app.keys.key_rows import key_rows
from screens.method_screen import MethodScreen
from screens.panels.help import HelpScreen
from screens.widgets.key_line import KeyLine, keys_of
from tests.screens.readme import readme

PLACES = ("on this screen", "everywhere", "while typing")


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
    HELP = "# Near\n\nWhat stands here."
    BINDINGS = [Binding("f9", "tick", "Tick", tooltip="Tick the stage.")]

    def action_tick(self) -> None: ...

    def compose(self) -> ComposeResult:
        yield Input()


async def test_the_text_stands_first_then_the_nearest_keys_last_how_a_field_is_edited() -> None:
    """The field's own twenty keys are one row, and no label leaves the explanations less than half of 80 columns.
    Where keys are looked for, the text is away."""
    async with Little().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(Near())
        await pilot.pause()
        screen = await help_of(pilot)
        assert [line for line in keys(screen) if line in PLACES] == list(PLACES)
        assert keys(screen).index("while typing") >= len(keys(screen)) - 3
        assert not any("Move cursor" in line for line in keys(screen))
        text, shown = screen.query_one(Markdown), screen.query_one(".help-keys")
        assert text.region.y < shown.region.y
        assert max(len(label) for _, rows in screen._sections for _, label, _ in rows) <= 20
        await pilot.press("slash", *"tick")
        assert not text.display and keys(screen) == ["on this screen", "f9 Tick Tick the stage."]
        await pilot.press(*["backspace"] * 4)
        assert text.display


def test_what_is_said_of_keys_in_one_row_is_said_once() -> None:
    assert "| `?` `f1` | Help | Explain this screen and all its keys; while typing, f1 does. |" in readme()
    bound = [each for each in MethodScreen.BINDINGS if isinstance(each, Binding) and "tab(" in each.action]
    rows = key_rows([(each, [each.key]) for each in bound])
    assert [(row.label, row.help) for row in rows] == [
        ("Tab", "Show the tab of this number; again: its next kind.")
    ]


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
