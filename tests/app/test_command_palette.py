"""What the command palette lists of a screen, and how it is searched; over a screen that is acted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.binding import ActiveBinding, Binding
from textual.command import DiscoveryHit, Hit

from app.keys.command_palette import BoundCommands
from app.keys.commands import Command


class Screen:
    """With these bindings, and commands that have no key; knows what was run."""

    def __init__(self, *bindings: tuple[Binding, bool], palette: tuple[Command, ...] = ()) -> None:
        self.ran: list[tuple[str, Any]] = []
        self.PALETTE = palette
        self.app: Any = SimpleNamespace(
            get_key_display=lambda binding: binding.key.upper(),
            check_action=lambda *_: True,
            run_action=self.run,
        )
        self.active_bindings = {
            str(at): ActiveBinding(self, binding, enabled, "")  # type: ignore[arg-type]
            for at, (binding, enabled) in enumerate(bindings)
        }

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        return action != "never"

    def run(self, action: str, node: Any) -> None:
        self.ran.append((action, node))


@pytest.fixture
def screen() -> Screen:
    return Screen(
        (Binding("p", "pause", "Pause", tooltip="Hold the engine."), True),
        (Binding("q", "app.leave", "Quit"), True),
        (Binding("x", "off", "Off", tooltip="Not now."), False),
        (Binding("up", "move", "Up", show=False), True),
        (Binding("f1", "explain", "Help", show=False, tooltip="Explain."), True),
        (Binding("h", "", ""), True),
        (Binding("ctrl+p", "app.command_palette", "Commands", tooltip="Find."), True),
        (Binding("P", "pause", "Pause", tooltip="Again."), True),
        (Binding("p", "other", "Pause", tooltip="The same name and key."), True),
        palette=(
            Command("", "write_report", "Report", "Write it."), Command("", "pause", "Pause", "Known."),
            Command("", "never", "Never", "Not here."),
        ),
    )  # fmt: skip


def palette_of(screen: Screen) -> BoundCommands:
    return BoundCommands(screen)  # type: ignore[arg-type]


async def test_every_command_that_can_be_done_is_listed_with_its_key_once(screen: Screen) -> None:
    """Not arrows and the like, nor the palette itself; commands without a key come last."""
    hits = [hit async for hit in palette_of(screen).discover()]
    assert all(isinstance(hit, DiscoveryHit) for hit in hits)
    assert [(str(hit.display), hit.help) for hit in hits] == [
        ("Pause  (P)", "Hold the engine."), ("Quit  (Q)", None), ("Help  (F1)", "Explain."), ("Report", "Write it."),
    ]  # fmt: skip
    for hit in hits:
        hit.command()
    assert [action for action, _ in screen.ran] == ["pause", "app.leave", "explain", "write_report"]
    assert all(node is screen for _, node in screen.ran)


async def test_names_and_sentences_are_searched_names_count_more(screen: Screen) -> None:
    async def found(query: str) -> dict[str, float]:
        hits = [hit async for hit in palette_of(screen).search(query)]
        assert all(isinstance(hit, Hit) for hit in hits)
        return {str(hit.text): hit.score for hit in hits if isinstance(hit, Hit)}

    assert list(await found("engine")) == ["Pause  (P)"] and list(await found("Quit")) == ["Quit  (Q)"]
    assert list(await found("Write it")) == ["Report"] and await found("zzz") == {}
    by_name, by_help = (await found("Report"))["Report"], (await found("Write"))["Report"]
    assert by_name > by_help > 0
