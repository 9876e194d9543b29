"""A key whose command cannot be done now says so, once."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from app.keys.refused_keys import RefusedKeys
from screens.overview.screen import OverviewScreen
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class Refusing(RefusedKeys[None]):
    BINDINGS = [
        Binding("r,R", "resume", "Resume", tooltip="Start a worker again."),
        Binding("t", "nothing", "Nothing"),
        Binding("o", "overview", "Overview", tooltip="Back to the overview."),
        Binding("escape", "resume", "Back", tooltip="Back to the list."),
        Binding("f9", "resume", "Start", tooltip="Start a run.", priority=True),
    ]
    done = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("resume", "nothing")

    def action_overview(self) -> None:
        self.done += "o"

    def messages(self) -> list[str]:
        return [shown.message for shown in self._notifications]


class Box(ModalScreen[None]):
    BINDINGS = [Binding("S", "stop", "Stop", tooltip="Stop the engine.")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "stop"


class Typing(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield Input()


async def test_a_refused_key_is_named_once_in_three_seconds() -> None:
    app = Refusing()
    async with app.run_test(notifications=True) as pilot:
        await pilot.press("r", "r")
        assert app.messages() == ["r Resume: not possible here now."]
        await pilot.press("R")
        assert app.messages()[1:] == ["R Resume: not possible here now."]
        text, at = app._refused
        app._refused = text, at - 3.5
        await pilot.press("R")
        assert len(app.messages()) >= 2 and app._refused[1] > at


async def test_keys_that_are_done_or_unknown_or_without_a_sentence_say_nothing() -> None:
    app = Refusing()
    async with app.run_test(notifications=True) as pilot:
        await pilot.press("o", "t", "u", "down", "e", "f9")
        assert app.done == "o" and app.messages() == []


async def test_over_a_dialog_only_its_keys_count() -> None:
    app = Refusing()
    async with app.run_test(notifications=True) as pilot:
        await app.push_screen(Box())
        await pilot.press("r", "S")
        assert app.messages() == ["S Stop: not possible here now."]
        await app.push_screen(Typing())
        app.screen.query_one(Input).focus()
        await pilot.press("r", "S")
        assert app.screen.query_one(Input).value == "rS" and len(app.messages()) == 1


async def test_what_has_to_be_done_first_is_said(tmp_path: Path) -> None:
    """In a run at rest the time line is not there before `[`; on it, a key that is refused has nothing to do."""
    session = RecordedSession(
        write_log(tmp_path / "events.jsonl", SyntheticRun(examples=4).events()), tmp_path
    )
    app = Refusing()
    async with app.run_test(notifications=True, size=(80, 24)) as pilot:
        await app.push_screen(OverviewScreen(session))
        await pilot.press("0", "comma", "L", "E", "left_square_bracket", "right_square_bracket", "L", "L")
        first = "not possible here now, press [ first."
        assert app.messages() == [
            f"0 To the start: {first}",
            f", Replay: {first}",
            f"L Live: {first}",
            "E Error: not possible here now.",
            f"L Live: {first}",
        ]
