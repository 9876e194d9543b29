"""Panels: what they ask, what they say, and what closes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Input, Static

from app.runs.item_search import ItemMatch
from engine import events as ev
from engine.errors import ConfigError, Problem, RunError
from engine.events import StageFailed
from screens.confirm import ConfirmScreen
from screens.panels import session_panel
from screens.panels.ask import AskScreen
from screens.panels.error_panel import ErrorPanel, Fault, fault_table
from screens.panels.help import HelpScreen, _keys, _sections, _title, _words
from screens.panels.search import COLUMNS, SearchScreen
from screens.panels.session_panel import SessionPanel
from tests.named_tones import Parts, parts
from tests.recorded_session import RecordedSession
from tests.synthetic_run import write_log


def cells(table: Any) -> list[list[str]]:
    """Of a grid: its rows."""
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return [[cell.plain if isinstance(cell, Text) else str(cell) for cell in row] for row in rows]


def number(text: str) -> str:
    if not text.strip().isdigit():
        raise ValueError(f"found {text!r}")
    return f"{text} it is"


async def test_only_what_is_right_is_accepted() -> None:
    """What is wrong is said with a sign; blanks around the text are none of it; esc has no result."""
    results: list[str | None] = []
    async with App[None]().run_test(size=(80, 24)) as pilot:
        screen = AskScreen("How many?", number, "7")
        await pilot.app.push_screen(screen, results.append)
        await pilot.pause()
        said = [str(screen.message.content)]
        assert screen.input.has_focus and not screen.message.has_class("-wrong")
        await pilot.press("end", "x", "enter")
        said.append(str(screen.message.content))
        assert pilot.app.screen is screen and screen.message.has_class("-wrong")
        await pilot.press("backspace", "space")
        said.append(str(screen.message.content))
        await pilot.press("enter")
        await pilot.app.push_screen(AskScreen("How many?", number, "7"), results.append)
        await pilot.press("escape")
    assert said == ["7 it is", "✗ found '7x'", "7  it is"] and results == ["7", None]


@pytest.mark.parametrize(("key", "result"), [("enter", True), ("escape", False)])
async def test_what_is_about_to_be_done_is_done_with_enter_alone(key: str, result: bool) -> None:
    results: list[bool | None] = []
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(ConfirmScreen("Begin", "[b]text[/b]"), results.append)
        await pilot.pause()
        assert str(pilot.app.screen.query_one(Static).render()) == "[b]text[/b]"
        await pilot.press(key)
    assert results == [result]


def test_what_an_error_is_line_by_line() -> None:
    problems = [Problem("online.L", "x", "a whole number"), Problem("task.name", "", "a name")]
    wrong = Fault.of_error("Not started", ConfigError(problems[:1]))
    assert wrong.what == "1 value in the configuration is wrong"
    both = fault_table(Fault.of_error("Not started", ConfigError(problems)))
    assert cells(both)[:3] == [
        ["what", "2 values in the configuration are wrong"],
        ["   1", "online.L\nfound x, expected a whole number"],
        ["   2", "task.name\nexpected a name"],
    ]
    problem: Any = list(both.columns[1].cells)[1]
    assert parts(problem) == [
        ("online.L", "bold"), ("\nfound ", "dim"), ("x", ""), (", expected ", "dim"), ("a whole number", ""),
    ]  # fmt: skip
    bug = Fault.of_error("Not started", ZeroDivisionError("a bug"))
    assert (bug.what, bug.hint) == (
        "ZeroDivisionError: a bug",
        "this is a bug in steer-tui: please report it",
    )
    failure = StageFailed(stage="eval", what="no disk", where="/a", hint="make room", traceback="line 1\n")
    fault = Fault.of_failure(failure)
    assert cells(fault_table(fault)) == [
        ["what", "no disk"], ["where", "/a"], ["how to fix", "make room"], ["trace", "line 1"],
    ]  # fmt: skip
    assert [str(cell.style) for cell in fault_table(fault).columns[1].cells if isinstance(cell, Text)] == [
        "", "", "bold", "dim",
    ]  # fmt: skip
    assert fault.title == "Stage eval failed"
    assert Fault.of_failure(StageFailed(what="no disk")).title == "The run failed"
    assert fault.as_text() == "Stage eval failed\nno disk\nwhere: /a\nhow to fix: make room\nline 1\n"


async def test_the_panel_of_an_error_is_copied() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        panel = ErrorPanel(
            Fault.of_error("Not started", RunError(what="no room", where="a/b", hint="make some"))
        )
        await pilot.app.push_screen(panel)
        await pilot.press("y")
        assert pilot.app.clipboard == "Not started\nno room\nwhere: a/b\nhow to fix: make some"
        assert [note.message for note in pilot.app._notifications] == ["Copied."]
        assert panel._heading == "✗ Not started" and panel.has_class("-error")
        await pilot.press("escape")
        assert pilot.app.screen is not panel


class Keys(App[None]):
    BINDINGS = [
        Binding("f2", "sort", "Sort", tooltip="By the column."),
        Binding("f3", "nothing", "", tooltip="Without a word."),
        Binding(
            "f4",
            "screen.maximize",
            "Large",
        ),
        Binding("f5", "focus_next", "Next"),
        Binding("f6", "app.focus('a')", "There"),
        Binding("f7", "quit", "Stop", system=True),
    ]

    def compose(self) -> ComposeResult:
        yield Input()


async def test_which_keys_are_explained_and_where_they_work() -> None:
    """Not those without a word, nor those that every widget has."""
    async with Keys().run_test(size=(80, 24)) as pilot:
        pilot.app.query_one(Input).focus()
        await pilot.pause()
        sections = dict(_sections(pilot.app.screen))
        assert list(sections)[-3:] == ["everywhere", "in ^p, without a key", "while typing"]
        labels = [label for _, label, _ in sections["everywhere"]]
        assert "Sort" in labels and not {"Large", "Next", "There", "Stop", ""} & set(labels)
        assert ("f2", "Sort", "By the column.") in sections["everywhere"]

        class CasesOfMethod(Static):
            pass

        screen = pilot.app.screen
        assert [_title(node, screen) for node in (screen, pilot.app, CasesOfMethod())] == [
            "on this screen", "everywhere", "in the cases of method",
        ]  # fmt: skip
    assert _words("DecisionsPane") == "decisions pane"


def test_rows_of_help_in_which_all_words_stand() -> None:
    """Below the heading of their section, which is left out without any; a line is free behind each section."""
    keys = [("s", "Sort", "By the column."), ("n", "Note", "On the ROW.")]
    sections = [("here", keys), ("there", [("x", "SVG", "")])]
    here, free = ["", "here", ""], ["", "", ""]
    note, sort = ["n", "Note", "On the ROW."], ["s", "Sort", "By the column."]
    assert cells(_keys(sections, [])) == [here, sort, note, free, ["", "there", ""], ["x", "SVG", ""], free]
    assert cells(_keys(sections, ["row", "note"])) == [here, note, free]
    assert cells(_keys(sections, ["row", "sort"])) == []


async def test_help_without_a_text_of_its_own_has_keys_alone() -> None:
    async with Keys().run_test(size=(80, 24)) as pilot:
        screen = HelpScreen(pilot.app.screen)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        assert (
            screen.query_one(Input).placeholder == "/ finds keys by the words of their lines; end: all keys"
        )
        assert screen._texts == [] and screen._heading == "Help"
        for key in ("question_mark", "f1", "q"):
            await pilot.press(key)
            assert pilot.app.screen is not screen
            await pilot.app.push_screen(screen := HelpScreen(pilot.app.screen))


async def test_a_found_row_is_chosen_and_the_first_ten_are_skipped(tmp_path: Path) -> None:
    """By arrows and pages; without a row there is nothing to choose. A row says its method and what it is."""
    session = RecordedSession(write_log(tmp_path / "events.jsonl", []), tmp_path)
    answer = ev.ExampleEvaluated(
        method="esm", index=0, example="test-7", question="", gold="", pred="", correct=True, tokens_used=1,
        budget_used=1, text="",
    )  # fmt: skip
    found = [ItemMatch(event=answer, offset=at, excerpt=f"text {at}") for at in range(20)]
    async with App[None]().run_test(size=(100, 30)) as pilot:
        screen = SearchScreen(session)
        await pilot.app.push_screen(screen)
        await screen.workers.wait_for_complete()
        assert [bool(screen.check_action(name, ())) for name in ("accept", "move", "close")] == [
            False,
            False,
            True,
        ]
        screen.input.value = "text"
        await screen.workers.wait_for_complete()
        await pilot.pause()
        screen._show(["text"], found, Counter(ESM=20), True)
        await pilot.pause()
        seen = []
        for key in ("down", "pagedown", "up", "pageup", "pageup", "pagedown", "pagedown"):
            await pilot.press(key)
            seen.append(screen.table.cursor)
        assert screen.check_action("accept", ()) and screen.input.has_focus
        await pilot.press("escape")
        assert pilot.app.screen is not screen
    assert seen == [1, 11, 10, 0, 0, 10, 19]
    shown: Parts = [(column.label, str(column.value(found[3]))) for column in COLUMNS]
    assert shown[0] == ("method", "ESM") and shown[2] == ("text", "text 3") and "test-7" in shown[1][1]
    assert shown[1][0] == "row"


async def test_a_panel_over_a_run_is_drawn_again_when_something_happened(tmp_path: Path) -> None:
    """And in another size."""
    events = [ev.Notice(seq=at, text="x") for at in range(3)]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=1)
    drawn: list[int] = []

    class Panel(SessionPanel):
        def draw(self, session: Any) -> None:
            drawn.append(session.total_events)

    async with App[None]().run_test(size=(80, 24)) as pilot:
        panel = Panel(session)
        await pilot.app.push_screen(panel)
        await pilot.pause()
        drawn.clear()
        panel._drawn = session.revision
        panel.poll()
        session.grow(1)
        panel.poll()
        panel.poll()
        assert drawn == [2]
        panel.on_resize()
        panel.poll()
        assert drawn == [2, 2]
    assert session_panel._POLL_SECONDS <= 1, "whoever has it open waits a second at most"


def drawn(table: Any, width: int) -> tuple[list[str], set[str]]:
    """Its lines, and the words that are bold."""
    console = Console(width=width, force_terminal=False)
    lines = console.render_lines(table, console.options.update(width=width), pad=False)
    bold = {
        segment.text.strip() for line in lines for segment in line if segment.style and segment.style.bold
    }
    return ["".join(segment.text for segment in line).rstrip() for line in lines], bold - {""}


def test_the_columns_of_help_and_of_an_error() -> None:
    """Keys end where their column does, two cells part columns, and the last one takes what is left."""
    rows = [("s", "Sort", "By the marked column of the table."), ("home", "First", "The first row.")]
    assert drawn(_keys([("here", rows)], []), 36) == (
        [
            "      here", "   s  Sort   By the marked column of",
            "             the table.", "home  First  The first row.", "",
        ],
        {"here", "s", "home"},
    )  # fmt: skip
    fault = Fault("Not started", "no room on this disk", where="a/b", hint="make some")
    assert drawn(fault_table(fault), 26) == (
        ["what        no room on", "            this disk", "where       a/b", "how to fix  make some"],
        {"what", "where", "how to fix", "make some"},
    )
