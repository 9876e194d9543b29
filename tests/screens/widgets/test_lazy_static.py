"""A text that is drawn again only where it differs."""

from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult
from textual.geometry import Region

from screens.widgets.lazy_static import LazyStatic


class OneText(App[None]):
    def compose(self) -> ComposeResult:
        yield LazyStatic()


async def test_the_same_words_in_another_tone_are_another_text() -> None:
    async with OneText().run_test() as pilot:
        text = pilot.app.query_one(LazyStatic)
        text.update(Text("0.5", "green"))
        text.update(Text("0.5", "red"))
        assert isinstance(text.content, Text) and text.content.style == "red"


async def test_the_screen_is_laid_out_anew_only_for_more_or_fewer_lines() -> None:
    class TwoTexts(App[None]):
        CSS = "LazyStatic { height: auto; }"

        def compose(self) -> ComposeResult:
            yield LazyStatic()
            yield LazyStatic()

    async with TwoTexts().run_test() as pilot:
        first, below = pilot.app.query(LazyStatic)
        first.update("one")
        below.update("below")
        await pilot.pause()
        layouts: list[str] = []
        refresh = first.refresh

        def noted(*regions: Region, **more: bool) -> LazyStatic:
            layouts.extend(["layout"] if more.get("layout") else [])
            return refresh(*regions, **more)

        first.refresh = noted  # type: ignore[method-assign,assignment]
        seen = []
        for text in ("two", "two\nlines", "two\nothers", "one"):
            first.update(text)
            await pilot.pause()
            seen.append((bool(layouts), first.size.height, below.region.y))
            layouts.clear()
    assert seen == [(False, 1, 1), (True, 2, 2), (False, 2, 2), (True, 1, 1)]
