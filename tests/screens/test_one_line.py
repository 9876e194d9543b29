"""Where a text has one line, what is too long ends with `…`; it is not wrapped, which would hide its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from app.runs.start_form import StartForm
from screens.compare.screen import CompareScreen
from screens.slsm.chat import ChatPane
from screens.start_form import StartFormScreen
from screens.sweep.screen import SweepScreen
from screens.widgets.model_line import ModelLine
from screens.widgets.tab_line import Tab, TabLine
from tests.recorded_session import RecordedSession

DEMO = Path(__file__).resolve().parents[2] / "configs" / "demo.yaml"
LONG = "twelve words " * 20


def line_of(widget: Widget) -> str:
    return widget.render_line(0).text.rstrip()


@pytest.mark.parametrize(
    ("make", "id"),
    [
        (lambda: SweepScreen(Path("none")), "#sweep-title"),
        (lambda: CompareScreen(Path("a"), Path("b")), "#compare-title"),
        (lambda: StartFormScreen(StartForm(DEMO, [])), "#form-head"),
    ],
)
async def test_titles(make: Any, id: str) -> None:
    async with App[None]().run_test(size=(70, 24)) as pilot:
        screen: Screen[Any] = make()
        await pilot.app.push_screen(screen)
        await pilot.app.workers.wait_for_complete()
        title = screen.query_one(id, Static)
        title.update(Text(LONG))
        await pilot.pause()
        assert line_of(title).endswith("…") and len(line_of(title)) == 70


class Lines(App[None]):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.session = RecordedSession([], folder)

    def compose(self) -> ComposeResult:
        yield TabLine([Tab("a", LONG)])
        yield ModelLine(self.session)
        yield ChatPane(self.session, id="talk")


async def test_lines_of_widgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelLine, "_loading", LONG)
    app = Lines(tmp_path)
    async with app.run_test(size=(70, 24)) as pilot:
        app.query_one(ModelLine).update()
        mode = app.query_one("#chat-mode", Static)
        mode.update(Text(LONG))
        await pilot.pause()
        for widget in (app.query_one(TabLine), app.query_one(ModelLine), mode):
            assert line_of(widget).endswith("…"), widget
