"""The names beyond Textual's public ones that the console rests on are there, and no other module has any."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import random
import re
import threading
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.segment import Segment
from textual import screen, scroll_view, widget
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.events import Key
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from app import textual_internals
from app.shell import SteerApp

HOME = Path(textual_internals.__file__)
ROOT = HOME.parents[1]
MODULES = [path for room in ("app", "screens") for path in (ROOT / room).rglob("*.py") if path != HOME]


def test_scrolling_views_and_screens() -> None:
    assert list(inspect.signature(widget.Widget._scroll_update).parameters) == ["self", "virtual_size"]
    assert "virtual_size = self.virtual_size" in inspect.getsource(scroll_view.ScrollView._size_updated)
    assert inspect.signature(screen.Screen._refresh_layout).bind(object())
    assert "class ToastRack(" in inspect.getsource(importlib.import_module("textual.widgets._toast"))


def test_a_console_without_markup() -> None:
    console = Console(markup=True)
    assert console.render_str("[bold]").plain == ""
    textual_internals.without_markup(console)
    assert console.render_str("[bold]").plain == "[bold]"


def test_escape_and_a_digit_are_alt_and_the_digit() -> None:
    """Without a sign that a field would take; who types such a sign means it."""
    keys = [event for text in ("\x1b1", "\x1b5", "\x1b9", "¡") for event in XTermParser().feed(text)]
    assert [(key.key, key.character) for key in keys if isinstance(key, Key)] == [
        ("alt+1", None), ("alt+5", None), ("alt+9", None), ("inverted_exclamation_mark", "¡"),
    ]  # fmt: skip


class SlowFile(io.StringIO):
    """A terminal that takes what was written only while `ready` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.taking, self.ready = threading.Event(), threading.Event()

    def flush(self) -> None:
        self.taking.set()
        self.ready.wait()


def test_a_terminal_is_busy_while_something_waits_for_it() -> None:
    app, file = App[None](), SlowFile()
    assert not textual_internals.terminal_busy(app), "no terminal yet"
    writer = WriterThread(file)
    app._driver = SimpleNamespace(_writer_thread=writer)  # type: ignore[assignment]
    writer.start()
    writer.write("first")
    assert file.taking.wait(30)
    assert not textual_internals.terminal_busy(app), "it is on its way"
    writer.write("second")
    assert textual_internals.terminal_busy(app)
    file.ready.set()
    writer.stop()
    assert not textual_internals.terminal_busy(app) and file.getvalue() == "firstsecond"
    assert "_writer_thread = WriterThread(" in inspect.getsource(linux_driver.LinuxDriver)


# ---------------------------------------------------------------- what stands on the terminal is not sent again


WIDTH, HEIGHT = 12, 3


def draw(update: ChopsUpdate | None, terminal: list[list[str]]) -> str:
    """Put the characters of an update where the terminal would; what was sent."""
    sent = update.render_segments(Console(color_system=None)) if update else ""
    for line, column, text in re.findall(r"\x1b\[(\d+);(\d+)H([^\x1b\n]*)", sent):
        row, start = terminal[int(line) - 1], int(column) - 1
        row[start : start + len(text)] = text
    return sent


def update_of(picture: list[str], widths: list[int], spans: list[tuple[int, int, int]]) -> ChopsUpdate:
    """The picture in strips of these widths, with a segment for each run of one letter."""
    starts = [sum(widths[:i]) for i in range(len(widths))]
    chops = [
        {
            start: Strip([Segment(run[0]) for run in re.finditer(r"(.)\1*", line[start : start + width])])
            for start, width in zip(starts, widths, strict=True)
        }
        for line in picture
    ]
    ends = [[start + width for start, width in zip(starts, widths, strict=True)]] * len(picture)
    return ChopsUpdate(chops, spans, ends)


def test_only_parts_that_do_not_stand_on_the_terminal_are_sent() -> None:
    app, whole = SteerApp(), [(y, 0, WIDTH) for y in range(HEIGHT)]
    terminal = [[" "] * WIDTH for _ in range(HEIGHT)]

    def sent(picture: list[str], spans: list[tuple[int, int, int]]) -> list[tuple[str, str]]:
        sequence = draw(app._what_differs(update_of(picture, [5, 7], spans)), terminal)
        assert ["".join(line) for line in terminal] == picture
        return re.findall(r"\[(\d+;\d+)H(\w*)", sequence)

    first, second = (
        ["aabbbccccccc", "aabbbccccccc", "aabbbccccccc"],
        ["aabbbccccccc", "aabddcccczzc", "aabbbccccccc"],
    )
    assert [place for place, _ in sent(first, whole)] == ["1;1", "1;6", "2;1", "2;6", "3;1", "3;6"]
    assert sent(second, whole) == [("2;3", "bdd"), ("2;6", "cccczzc")]
    assert app._what_differs(update_of(second, [5, 7], whole)) is None
    assert sent(["aabbbccccccc", "aabddcccczzc", "xxbbbccccccc"], [(2, 0, 3)]) == [("3;1", "xx")]


def test_after_another_drawing_all_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is after a batch, in which Textual drops what is drawn."""
    assert "app._display(" in inspect.getsource(screen.Screen)
    assert "self._batch_count" in inspect.getsource(App._display)
    sent: list[bool] = []
    monkeypatch.setattr(App, "_display", lambda app, screen, drawn: sent.append(drawn is not None))
    app, update = SteerApp(), update_of(["ab"], [2], [(0, 0, 2)])
    for drawn in (update, update, LayoutUpdate([], Region()), update, update):
        app._display(Screen(), drawn)
    assert sent == [True, False, True, True, False]
    with app.batch_update():
        app._display(Screen(), update)
    app._display(Screen(), update)
    assert sent[5:] == [True, True]


def test_the_picture_is_that_of_textual_alone() -> None:
    dice = random.Random(5)
    app, plain, spared = SteerApp(), *([[" "] * WIDTH for _ in range(HEIGHT)] for _ in "ab")
    picture = ["a" * WIDTH] * HEIGHT
    for turn in range(2_000):
        spans = [(y, 0, WIDTH) for y in range(HEIGHT)]
        if turn:
            lines = sorted(dice.sample(range(HEIGHT), dice.randint(1, HEIGHT)))
            spans = [(y, (left := dice.choice([0, 4, 7])), dice.choice([WIDTH, left + 3])) for y in lines]
        for y, left, right in spans:
            changed = "".join(dice.choice("ab") for _ in range(right - left))
            picture[y] = picture[y][:left] + changed + picture[y][right:]
        update = update_of(picture, dice.choice([[12], [4, 8], [7, 5], [3, 3, 6]]), spans)
        draw(update, plain)
        draw(app._what_differs(update), spared)
        assert ["".join(line) for line in spared] == ["".join(line) for line in plain] == picture


# ---------------------------------------------------------------- no other module


def private(names: set[str]) -> set[str]:
    return {name for name in names if re.match("_[a-z]", name)}


@cache
def names_in(kind: type) -> set[str]:
    """The private names that a class defines or sets."""
    return private({*vars(kind), *re.findall(r"self\.(\w+)\b(?:: [^=\n]+)? = ", inspect.getsource(kind))})


def is_theirs(kind: type) -> bool:
    return kind.__module__.startswith(("textual", "rich"))


def names_taken(path: Path) -> set[str]:
    """Private names of modules, and private attributes of other objects that no module of ours defines."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("textual", "rich")):
            names |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            names |= {node.attr} - defined_here()
    return private(names)


@cache
def defined_here() -> set[str]:
    texts = "".join(path.read_text() for path in MODULES)
    return {
        *re.findall(
            r"(?:def |self\.|^ +)(\w+)\b(?:\(|: [^=\n]+ = |: [\w\[\], |]+\n| = |, )", texts, re.MULTILINE
        )
    }


NOT_THEIRS = {"_asdict", "_replace", "_fields", "_actions", "_fill_text", "_exit"}
"""Of the standard library."""
MADE_BY_TEXTUAL = {"_abc_impl", "_default_auto_links", *vars(type("Made", (widget.Widget,), {}))}
"""In every class of a widget, with abstract methods, or with another default of a public reactive."""


@pytest.mark.parametrize("room", ["app", "screens"])
def test_no_other_module_uses_private_names(room: str) -> None:
    for path in (path for path in MODULES if path.is_relative_to(ROOT / room)):
        assert not names_taken(path) - NOT_THEIRS, path
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for kind in vars(importlib.import_module(name)).values():
            if inspect.isclass(kind) and kind.__module__ == name:
                theirs = set().union(*map(names_in, filter(is_theirs, kind.__mro__)))
                assert not names_in(kind) & theirs - MADE_BY_TEXTUAL, kind
