"""The table of commands: how each is bound, how soon the footer drops it, and what only the palette has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.binding import Binding

from app.keys import commands
from app.keys.commands import (
    EVERYWHERE,
    METHOD_KEYS,
    NEW_RUN,
    NOTING,
    RUN,
    SEARCH,
    STAGES,
    TIMELINE,
    WHAT_IF,
    Command,
    bindings,
    commands_without_key,
    rank,
)
from app.keys.key_rows import key_rows


@pytest.mark.parametrize(
    ("action", "place"),
    [
        ("stopping", 0), ("app.leave", 0), ("app.explain", 0), ("seek_live", 0), ("back", 0), ("close", 0),
        ("select", 1), ("step(1)", 1), ("differ(-1)", 1), ("app.new_run", 1), ("move(1)", 2), ("app.picture", 2),
        ("overview", 2), ("sort", 3), ("app.find", 3), ("levers", 3), ("stop_at(-1)", 3),
    ],
)  # fmt: skip
def test_how_soon_the_footer_drops_a_command(action: str, place: int) -> None:
    assert rank(action) == place


def test_a_command_as_it_is_bound() -> None:
    command = Command("a,b", "do(1)", "Do", "Do it.", shown=False, display="ab", priority=True)
    assert command.binding() == Binding(
        "a,b", "do(1)", "Do", show=False, key_display="ab", priority=True, tooltip="Do it."
    )
    plain = Command("a", "do", "Do", "Do it.").binding()
    assert (plain.show, plain.key_display, plain.priority) == (True, None, False)
    assert bindings((command,), (command, command)) == [command.binding()] * 3


@pytest.mark.parametrize(
    ("table", "hidden", "first"),
    [
        (EVERYWHERE, ["f1", "slash", "ctrl+p", "ctrl+c"], ["ctrl+c"]), (RUN, [], []), (NOTING, [], []),
        (STAGES, ["down,j"], ["up,k", "down,j"]),
        (SEARCH, ["down", "pageup", "pagedown"], ["enter", "up", "down", "pageup", "pagedown"]),
        (NEW_RUN, ["down", "pageup"], ["enter", "up", "down", "pagedown", "pageup", "ctrl+o"]),
        (WHAT_IF, ["pageup"], ["enter", "pagedown", "pageup"]),
        (TIMELINE, ["right_square_bracket", "right_curly_bracket", "full_stop", "0"], []),
    ],
)  # fmt: skip
def test_which_keys_stand_in_no_footer_and_which_go_before_those_of_widgets(
    table: tuple[Command, ...], hidden: list[str], first: list[str]
) -> None:
    bound = [one for one in bindings(table) if isinstance(one, Binding)]
    assert [one.key for one in bound if not one.show] == hidden
    assert [one.key for one in bound if one.priority] == first
    assert all(command.help.endswith(".") and command.label for command in table)


def test_methods_have_numbers() -> None:
    """Terminals that send escape and a digit are understood, too."""
    assert [one.key.partition(",")[0] for one in bindings(METHOD_KEYS) if isinstance(one, Binding)] == [
        f"alt+{n}" for n in range(1, 10)
    ]
    assert [command.action for command in METHOD_KEYS] == [f"method({n})" for n in range(1, 10)]
    assert [command.display for command in METHOD_KEYS][:2] == ["alt+1 … 9", "alt+2"]
    assert [command.key.partition(",")[2] for command in METHOD_KEYS] == [
        "inverted_exclamation_mark", "trade_mark_sign", "pound_sign", "cent_sign", "infinity", "section_sign",
        "pilcrow_sign", "bullet", "ª",
    ]  # fmt: skip
    assert not any(command.shown for command in METHOD_KEYS)


def test_of_commands_without_a_key_those_that_can_be_done_are_offered() -> None:
    """The screen's first, each with who does it; actions of the app are asked for without their prefix."""
    asked: list[str] = []

    def node(*commands: Command) -> Any:
        def check_action(action: str, parameters: tuple[object, ...]) -> bool:
            asked.append(action)
            return action != "no"

        bound = {"R": SimpleNamespace(binding=SimpleNamespace(action="report"))}
        return SimpleNamespace(PALETTE=commands, check_action=check_action, active_bindings=bound)

    yes, no, ours = (Command("", action, "L", "H.") for action in ("yes", "no", "app.ours"))
    screen = node(yes, no, Command("", "report", "L", "A key does it."))
    screen.app = node(ours)
    assert commands_without_key(screen) == [(yes, screen), (ours, screen.app)] and asked == [
        "yes",
        "no",
        "ours",
    ]
    del screen.PALETTE
    assert commands_without_key(screen) == [(ours, screen.app)]


def test_of_five_keys_the_first_and_the_last_are_shown() -> None:
    def shown(count: int) -> list[str]:
        [row] = key_rows([(Binding("a", "do", "Do"), [str(n) for n in range(count)])])
        return row.shown_keys

    assert shown(4) == ["0", "1", "2", "3"] and shown(5) == ["0 … 4"]


def test_a_display_of_several_keys_stands_for_each_of_them() -> None:
    """`↑↓` has `↓`, whatever other key does the same; where it comes later it takes the row."""
    up, down = (
        (Binding("up,k", "move(-1)", "Choose", tooltip="C."), ["↑↓"]),
        (Binding("down,j", "move(1)", "Below"), ["↓", "j"]),
    )
    for order in ((up, down), (down, up)):
        [row] = key_rows(order)
        assert (row.keys, row.label, row.help) == (["↑↓"], "Choose", "C.")


def test_every_command_is_a_sentence() -> None:
    tables = [value if isinstance(value, tuple) else (value,) for value in vars(commands).values()]
    bound = [one for table in tables for one in bindings(*[(c,) for c in table if isinstance(c, Command)])]
    assert len(bound) > 100
    for one in bound:
        assert isinstance(one, Binding) and one.description == one.description.strip() != ""
        assert one.tooltip[0].isupper() and one.tooltip.endswith(".") and "  " not in one.tooltip, one


def test_a_command_of_some_of_a_rows_keys_stands_in_that_row_and_says_nothing_twice() -> None:
    """Two keys move, and one of them does something else, too."""
    move = [Binding(key, f"move({by})", "Move", tooltip="Go on.") for key, by in (("a", -1), ("b", 1))]
    also = Binding("b", "open", "Open", tooltip="Go on.")
    [row] = key_rows([(move[0], ["a"]), (move[1], ["b"]), (also, ["b"])])
    assert (row.keys, row.label, row.help) == (["a", "b"], "Move, Open", "Go on.")
