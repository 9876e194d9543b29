"""What all full screens have in common."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Input

from screens.console_screen import ConsoleScreen, TooNarrow
from screens.widgets.key_line import KeyLine


class Two(ConsoleScreen[None]):
    def compose_content(self) -> ComposeResult:
        yield Input(id="first")
        yield Input(id="second")
        yield KeyLine()


async def test_from_sixty_columns_on_it_is_drawn_and_the_focus_comes_back() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        screen = Two()
        await pilot.app.push_screen(screen)
        screen.query_one("#second").focus()
        seen: list[tuple[bool, bool, str]] = []
        words: list[str] = []
        for width in (80, 60, 59, 60, 120, 119):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            narrow, wide = screen.query_one(TooNarrow).display, screen.has_class("-wide")
            seen.append((narrow, wide, "" if screen.focused is None else str(screen.focused.id)))
            if width == 59:
                words.append(str(screen.query_one(TooNarrow).render()))
                screen.set_focus(None)
        assert words == ["59 columns are too few.\nMake it 60 or more.\n\nThe run continues."]
        assert [(narrow, wide) for narrow, wide, _ in seen] == [
            (False, False), (False, False), (True, False), (False, False), (False, True), (False, False),
        ]  # fmt: skip
        assert [focus for _, _, focus in seen][3:] == ["second"] * 3
        for height, high in ((29, False), (30, True)):
            await pilot.resize_terminal(80, height)
            await pilot.pause()
            assert screen.has_class("-high") == high != screen.has_class("-low")
