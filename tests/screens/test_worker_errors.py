"""What a screen or pane passes on when its worker ends with an error that nobody foresaw."""

from __future__ import annotations

from textual.app import App, ComposeResult

from screens.messages import ErrorUnforeseen
from screens.panes.pane import Pane


class PaneApp(App[None]):
    """A pane, and the errors that it passes on."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []

    def compose(self) -> ComposeResult:
        yield Pane()

    def on_error_unforeseen(self, message: ErrorUnforeseen) -> None:
        self.errors.append(repr(message.error))


async def test_an_error_is_passed_on_once_and_another_one_after_it() -> None:
    """A worker that reads again and again fails in the same way each time, until something else is the matter."""

    async def fails(text: str) -> None:
        raise ValueError(text)

    async with PaneApp().run_test(size=(80, 24)) as pilot:
        pane = pilot.app.query_one(Pane)
        for text in ("no room", "no room", "no [such] file", "no [such] file", "no room"):
            pane.run_worker(fails(text), exit_on_error=False)
            await pilot.pause()
        assert isinstance(pilot.app, PaneApp)
        assert pilot.app.errors == [
            "ValueError('no room')", "ValueError('no [such] file')", "ValueError('no room')",
        ]  # fmt: skip
