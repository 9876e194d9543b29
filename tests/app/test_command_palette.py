"""The palette: which commands it has, under which names; and how soon the footer drops a key."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit
from textual.screen import Screen
from textual.widgets import Button

from app.keys.command_palette import BoundCommands
from app.keys.commands import Command, bindings, commands_without_key, rank
from screens.method_screen import screen_of
from screens.overview.screen import OverviewScreen
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class Commands(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,f11", "do('a')", "Sort", tooltip="By the column."),
        Binding("f3", "do('b')", "Sort", tooltip="Once more."),
        Binding("f4", "do('c')", "Down", show=False),
        Binding("f5", "do('d')", "Hidden", show=False, tooltip="Not in the footer."),
        Binding("f6", "do('e')", ""),
        Binding("f7", "refused", "Refused", tooltip="Not now."),
        Binding("f8", "app.interrupt", "Stop and quit", tooltip="At once."),
        Binding("f9", "app.command_palette", "Commands", tooltip="This."),
        Binding("f12", "do('f')", "Method", show=False, tooltip="By number.", key_display="f12 … 19"),
        Binding("f10", "grey", "Grey", tooltip="Shown in the footer, but cannot be used now."),
    ]
    PALETTE = (
        Command("", "report", "Report", "Write it."),
        Command("", "refused", "Never", "Not now."),
        Command("", "do('d')", "Never twice", "It has a key."),
    )

    def compose(self) -> ComposeResult:
        yield Button("x")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if action == "grey" else action != "refused"

    def names_of_actions(self) -> dict[str, str]:
        return {"do('f')": "ESM"}

    def action_do(self, what: str) -> None:
        self.app.done.append(what)  # type: ignore[attr-defined]

    def action_report(self) -> None:
        self.app.done.append("report")  # type: ignore[attr-defined]


class PaletteApp(App[None]):
    PALETTE = (
        Command("", "app.theme", "Theme", "Choose a theme."),
        Command("", "report", "Report", "Again."),
    )

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []


OURS = (
    "ESM",
    "Method",
    "Sort",
    "Down",
    "Hidden",
    "Refused",
    "Stop and quit",
    "Commands",
    "Report",
    "Theme",
    "Never",
    "Grey",
)


async def test_commands_by_name_with_their_keys() -> None:
    """Each command once, by the name that the screen has for it; not those that only move, have no name, or cannot be
    used now. Choosing one does it."""
    app = PaletteApp()
    async with app.run_test() as pilot:
        await app.push_screen(screen := Commands())
        await pilot.pause()
        found = [hit async for hit in BoundCommands(screen).discover() if isinstance(hit, DiscoveryHit)]
        shown = [(str(hit.display), hit.help) for hit in found if str(hit.display).startswith(OURS)]
        assert shown == [
            ("Sort  (f2)", "By the column."), ("Sort  (f3)", "Once more."), ("Hidden  (f5)", "Not in the footer."),
            ("ESM  (f12)", "By number."), ("Report", "Write it."), ("Theme", "Choose a theme."), ("Report", "Again."),
        ]  # fmt: skip
        for hit in found:
            if str(hit.display) in ("Sort  (f3)", "Report"):
                await hit.command()  # type: ignore[misc]
        assert app.done[:2] == ["b", "report"]
        alone = [command.label for command, node in commands_without_key(screen) if node is screen]
        assert alone == ["Report"], "what a key does is listed with its key"
        hits = [hit async for hit in BoundCommands(screen).search("column") if isinstance(hit, Hit)]
        assert next((str(hit.match_display), hit.help) for hit in hits) == ("Sort  (f2)", "By the column.")
        name = [hit async for hit in BoundCommands(screen).search("Hidden") if isinstance(hit, Hit)]
        by_help = [hit async for hit in BoundCommands(screen).search("footer") if isinstance(hit, Hit)]
        assert name[0].score > by_help[0].score > 0, "a name counts for more than a sentence"


@pytest.mark.parametrize(
    ("action", "order"),
    [
        ("close", 0),
        ("app.up", 0),
        ("select", 1),
        ("differ(1)", 1),
        ("copy", 2),
        ("sort", 3),
        ("stop_at(-1)", 3),
    ],
)
def test_what_the_footer_drops_first(action: str, order: int) -> None:
    assert rank(action) == order


def test_a_command_as_it_is_bound() -> None:
    [plain, special] = bindings(
        (Command("x", "act", "Act", "Acts."),),
        (Command("y", "b(1)", "B", "Bs.", shown=False, display="Y", priority=True),),
    )
    assert isinstance(plain, Binding) and isinstance(special, Binding)
    assert (plain.key, plain.action, plain.description, plain.tooltip, plain.show, plain.key_display) == (
        "x", "act", "Act", "Acts.", True, None,
    )  # fmt: skip
    assert (special.show, special.key_display, special.priority, plain.priority) == (False, "Y", True, False)


async def test_the_palette_names_methods_and_tabs(tmp_path: Path) -> None:
    """By their titles, each once, though alt and the number and, on the overview, the number alone lead there."""
    session = RecordedSession(
        write_log(tmp_path / "events.jsonl", SyntheticRun(examples=4).events()), tmp_path
    )
    async with App[None]().run_test(size=(80, 24)) as pilot:
        for screen, expected in (
            (OverviewScreen(session), ["ESM"]),
            (screen_of("ESM", session), ["ESM", "Cases", "Results", "Training"]),
        ):
            await pilot.app.push_screen(screen)
            await pilot.pause()
            found = [hit async for hit in BoundCommands(screen).discover() if isinstance(hit, DiscoveryHit)]
            names = [str(hit.display).partition("  (")[0] for hit in found]
            assert [name for name in names if name in expected] == expected
            assert len(names) == len(set(names)) and not {"Method", "Tab"} & set(names)
