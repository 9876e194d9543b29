"""Every letter means one thing over the whole console, and the reference of keys stays short."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import defaultdict
from typing import Any

from textual.binding import Binding
from textual.dom import DOMNode

import screens
from app.keys.commands import rank
from app.keys.key_rows import key_rows
from app.shell import SteerApp
from screens.widgets.key_line import Key, fitting
from tests.screens.readme import readme

MEANINGS = {
    "b": {"Begin again"},
    "c": {"Compare"},
    "d": {"Next"},
    "e": {"CSV"},
    "f": {"Follow"},
    "g": {"First", "First line"},
    "h": {"Column left"},
    "i": {"Stages"},
    "j": {"Down", "Below", "Line below"},
    "k": {"Up", "Choose", "Line above"},
    "l": {"Column right"},
    "m": {"Mark"},
    "n": {"Next match"},
    "o": {"Overview", "Sweep"},
    "p": {"Pause", "Continue"},
    "q": {"Quit"},
    "r": {"Resume", "Start"},
    "s": {"Sort"},
    "u": {"Undo"},
    "v": {"Kind"},
    "w": {"What if"},
    "x": {"SVG"},
    "y": {"Copy"},
    "z": {"Chart"},
    "D": {"Previous"},
    "E": {"Error"},
    "F": {"Follow work", "Stay here"},
    "G": {"Last", "Last line"},
    "L": {"Live"},
    "M": {"Notes"},
    "N": {"Previous match"},
    "O": {"Files"},
    "R": {"Report"},
    "S": {"Stop", "Stopping", "Stop and keep"},
    "W": {"Levers"},
    "Y": {"Export"},
    "Z": {"Last one"},
}
"""The labels of each letter; `v` shows what is there in another way, `b` begins from there. Of `d` and `D` the first
word: what the next one is differs from table to table."""


def nodes() -> list[type[DOMNode]]:
    """Every class of the console with keys."""
    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        importlib.import_module(module.name)
    found: list[type[DOMNode]] = [SteerApp]
    waiting: list[type[DOMNode]] = [DOMNode]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found += [each for each in below if each.__module__.startswith("screens.")]
    return found


def test_a_letter_means_one_thing() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes():
        for binding in node.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.description:
                for key in binding.key.split(","):
                    if len(key) == 1 and key.isalpha() and key.isascii() and binding.action != "close":
                        word = binding.description.split()[0] if key in "dD" else binding.description
                        found[key].add(word)
    assert dict(found) == MEANINGS


def test_the_reference_has_few_rows_of_keys() -> None:
    assert sum(line.startswith("| `") for line in readme().splitlines()) <= 110


def test_commands_of_one_key_and_keys_of_one_command_are_one_row() -> None:
    rows = key_rows(
        [
            (Binding("space", "freeze", "Freeze", tooltip="Still."), ["space"]),
            (Binding("up", "move(-1)", "Choose", tooltip="Choose one."), ["↑↓"]),
            (Binding("space", "thaw", "Unfreeze", tooltip="On."), ["space"]),
            (Binding("down", "move(1)", "Below", tooltip="Below."), ["↓"]),
            (Binding("left", "turn(-1)", "Left", tooltip="To the left."), ["←"]),
            (Binding("right", "turn(1)", "Other", tooltip="To others."), ["←→"]),
            (Binding("b", "choose('again')", "Again"), ["b"]),
            (Binding("minus", "choose('skip')", "Skip"), ["-"]),
            (Binding("home,g,end,G", "far(1)", "Far"), ["home", "g", "end", "G"]),
            *((Binding(str(n), f"tab({n})", f"T{n}", tooltip="A tab."), [str(n)]) for n in range(1, 6)),
        ]
    )
    assert [(row.shown_keys, row.label, row.help) for row in rows] == [
        (["space"], "Freeze, Unfreeze", "Still. On."),
        (["↑↓"], "Choose", "Choose one."),
        (["←→"], "Other", "To others."),
        (["b"], "Again", ""),
        (["-"], "Skip", ""),
        (["home", "g", "end", "G"], "Far", ""),
        (["1 … 5"], "T1, T2, T3, T4, T5", "A tab."),
    ]


def test_what_the_footer_keeps_of_an_opened_decision_at_80_columns() -> None:
    """Sign, word and three cells each: 10 + 16 + 12 + 11 + 10 + 8 + 8 are 75 of 80; `pgdn More` would take 11 more."""
    shown = [
        ("pgdn", "More", "page_down"), ("/", "Filter", "filter"), ("d", "Next notable", "differ(1)"),
        ("← →", "Others", "beside(-1)"), ("m", "Mark", "mark_item"), ("o", "Overview", "overview"),
        ("w", "What if", "what_if"), ("esc", "Back", "pane_back"), ("x", "SVG", "app.picture"),
        ("?", "Help", "app.explain"), ("q", "Quit", "app.leave"),
    ]  # fmt: skip
    anything: Any = None
    keys = [Key(display, word, anything, rank(action)) for display, word, action in shown]
    kept = ["Filter", "Next notable", "Others", "What if", "Back", "Help", "Quit"]
    assert [key.word for key in fitting(keys, 78)] == kept
    assert "Overview" in [key.word for key in fitting(keys, 98)]


BACK = {
    "up", "left", "pageup", "shift+left", "shift+tab", "left_square_bracket", "left_curly_bracket", "left_parenthesis",
    "home", "k", "h", "ctrl+b",
}  # fmt: skip
ON = {
    "down", "right", "pagedown", "shift+right", "tab", "right_square_bracket", "right_curly_bracket",
    "right_parenthesis", "end", "j", "l", "ctrl+f",
}  # fmt: skip


def test_keys_that_lead_back_and_on_lead_there() -> None:
    """What a key moves by is below 0 for those to the left and above, above 0 for the others. Not of those that name a
    place instead of a way: the first and the last point of a chart; and `up` recalls an earlier filter."""
    moved: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes():
        for binding in node.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding):
                by = re.fullmatch(r"(?!end|recall)\S+\((-?\d+)\)", binding.action)
                for key in binding.key.split(",") if by else ():
                    moved["back" if int(by[1]) < 0 else "on"].add(key)  # type: ignore[index]
    assert not moved["on"] & BACK and not moved["back"] & ON
    assert {"up", "left", "pageup"} <= moved["back"] and {"down", "right", "pagedown"} <= moved["on"]
