"""A text that is drawn again only where it differs."""

from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult

from screens.widgets.lazy_static import LazyStatic


class OneText(App[None]):
    def compose(self) -> ComposeResult:
        yield LazyStatic(Text("0.5", "green"))


async def test_the_same_words_in_another_tone_are_another_text() -> None:
    async with OneText().run_test() as pilot:
        text = pilot.app.query_one(LazyStatic)
        text.update(Text("0.5", "red"))
        assert isinstance(text.content, Text) and text.content.style == "red"
