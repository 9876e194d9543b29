"""A kind of cases: a table, the case under the cursor in full, and the line between them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from app.blocks.block import Paragraph, Span, Table, Target
from app.methods.cases import Cases
from app.methods.chart import Series
from app.methods.page import Chart as ChartOf
from app.methods.source import CaseSource
from app.table.column import ListColumn
from engine import events as ev
from engine.errors import DataError
from screens.panes.blocks import BlocksPane
from screens.panes.cases import CasesPane
from screens.widgets.charts.chart import Chart
from screens.widgets.detail_pane import DetailPane
from tests.recorded_session import RecordedSession


class Letters:
    """Rows a, b, c, … of which some are notable, each with three steps; what is drawn is the letter and its step."""

    def __init__(self, letters: str, notable: str = "", **changes: Any) -> None:
        self.letters = letters
        rows = [SimpleNamespace(letter=letter, place=(at, 1)) for at, letter in enumerate("abcde")]
        self.cases: Cases[Any] = Cases(
            "letters", (
                ListColumn("letter", "letter", 6, help="of the alphabet", value=lambda row: row.letter),
                ListColumn("plain", "plain", 5, value=lambda row: row.place[0]),
            ),
            lambda state: rows[: len(self.letters)], ev.Notice, lambda event: event.text, self._draw, "Nothing yet.",
            **({"notable": lambda state, row: row.letter in notable, "notable_words": "vowel"} if notable else {}),
            **changes,
        )  # fmt: skip

    def _draw(self, event: ev.Notice, source: CaseSource) -> list[Any]:
        return [Paragraph(f"{event.text} at step {source.step}")]


class PaneApp(App[None]):
    CSS = ".pane-status { height: 1; } CasesPane { layout: vertical; } VirtualTable { height: 8; }"

    def __init__(self, letters: Letters, folder: Path) -> None:
        super().__init__()
        events = [ev.Notice(seq=at, text=letter) for at, letter in enumerate("abcde")]
        self.session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], folder)
        self.pane = CasesPane(self.session, letters.cases, id="letters")

    def compose(self) -> ComposeResult:
        yield self.pane


async def shown(pilot: Pilot[None], over: bool = False) -> list[str]:
    """The line under the table, and the lines of the case."""
    pane = pilot.app.query_one(CasesPane)
    pane.table.set_over(over)
    pane.show()
    await pilot.pause()
    return [str(pane.line.content), *case(pane)]


def case(pane: CasesPane) -> list[str]:
    detail = pane.query_one(DetailPane)
    return [line.text.rstrip() for line in detail._drawn(detail.scrollable_content_region.width)]


async def test_a_table_is_followed_and_at_its_end_begins_at_the_first_notable_case(tmp_path: Path) -> None:
    """Once: whoever has moved stays. Without a notable case it begins at the first."""
    seen: list[list[str]] = []
    for letters, over in (("abcde", False), ("abcde", True), ("ab", True), ("", True)):
        app = PaneApp(Letters(letters, "c"), tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            seen.append(await shown(pilot, over))
            if over and letters == "abcde":
                await pilot.press("end")
                app.pane.table.go_to(0)
                assert (await shown(pilot, over))[1] == "a at step None"
            if not letters:
                assert app.pane.table.empty == "Nothing yet."
    explain = "  │  ← → explain a column"
    assert seen == [
        [f"5 letters  │  following{explain}", "e at step None"], [f"5 letters{explain}", "c at step None"],
        [f"2 letters{explain}", "a at step None"], ["0 letters"],
    ]  # fmt: skip


async def test_a_finished_table_stands_in_its_own_order(tmp_path: Path) -> None:
    app = PaneApp(
        Letters("abc", "b", order=("letter", True), remark=lambda state: "all are letters"), tmp_path
    )
    async with app.run_test(size=(80, 24)) as pilot:
        assert (await shown(pilot, over=True))[0] == (
            "3 letters  │  all are letters  │  sorted by letter ↓  │  ← → explain a column"
        )
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        pane = app.pane
        assert str(pane.line.content) == "3 letters  │  all are letters  │  sorted by letter ↓", (
            "whole or not at all"
        )
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert [cell.text for cell in pane.source.cells(0)] == ["c", "2"] and pane.table.cursor == 1
        pane.table.look_for(["B", "2"])
        pane.table.action_column(1)
        await pilot.pause()
        parts = str(pane.line.content).split("  │  ")
        assert [parts[0], *parts[3:]] == [
            "letter: of the alphabet", "find b 2: n next, esc ends", "sorted by letter ↓",
        ]  # fmt: skip
        assert pane.line.has_class("-explains")
        pane.table.action_column(1)
        await pilot.pause()
        count = "3 letters  │  all are letters"
        assert str(pane.line.content) == (f"{count}  │  find b 2: n next, esc ends  │  sorted by letter ↓"), (
            "this column has no help"
        )
        pane.table.look_for(())
        await pilot.pause()
        assert str(pane.line.content) == f"{count}  │  sorted by letter ↓"


async def test_keys_lead_to_notable_cases_to_steps_and_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps stop at the first and the last; another case begins at its last one, and is read from its top."""
    app = PaneApp(Letters("abcde", "be", steps=lambda row: 3), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot)
        pane = app.pane
        pane.table.focus()
        pane.table.go_to(0)
        cases: list[str] = []
        await pilot.pause()
        tops: list[bool] = []
        show = pane.detail.show
        monkeypatch.setattr(
            pane.detail, "show", lambda draw, top=True, **more: [tops.append(top), show(draw, top, **more)]
        )
        back, on = "left_parenthesis", "right_parenthesis"
        for key in ("d", "d", "d", "D", back, back, back, on, "d"):
            await pilot.press(key)
            await pilot.pause()
            cases += case(pane)
        assert cases == [
            "b at step None", "e at step None", "b at step None", "e at step None", "e at step 1", "e at step 0",
            "e at step 0", "e at step 1", "b at step None",
        ]  # fmt: skip
        assert tops == [True, True, True, True, False, False, False, True]
        assert pane.check_action("beside", (1,)) and pane.check_action("step", (1,))
        pane.detail.focus()
        await pilot.press("right", "left")
        await pilot.pause()
        assert case(pane) == ["b at step None"] and not pane.has_class("-open"), (
            "the case before has the same key"
        )
        pane.table.focus()
        await pilot.press("enter")
        await pilot.pause()
        assert pane.has_class("-open") and pane.detail.has_focus and pane.check_action("beside", (1,))
        await pilot.press("right")
        await pilot.pause()
        assert case(pane) == ["c at step None"]
        await pilot.press("left", "left")
        await pilot.pause()
        assert case(pane) == ["a at step None"]
        pane.table.look_for(["a"])
        assert pane.close_one() and not pane.has_class("-open") and pane.table.search_words == ("a",)
        assert pane.close_one() and pane.table.search_words == () and not pane.close_one()


async def test_what_a_kind_without_steps_or_notable_cases_offers(tmp_path: Path) -> None:
    app = PaneApp(Letters("ab"), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot)
        pane = app.pane
        assert [bool(pane.check_action(name, ())) for name in ("step", "differ", "other")] == [
            False,
            False,
            True,
        ]
        pane.action_step(1)
        assert case(pane) == ["b at step None"]
        pane.cases = Letters("ab", "e").cases
        pane.action_differ(1)
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["There is no vowel"]


async def test_on_the_only_notable_case_the_key_says_that_there_is_no_other(tmp_path: Path) -> None:
    """It went from the row to itself, without a word."""
    app = PaneApp(Letters("abc", "b"), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot)
        app.pane.table.go_to(1)
        for by in (1, -1):
            app.pane.action_differ(by)
        await pilot.pause()
        assert app.pane.table.cursor == 1
        assert [note.message for note in app._notifications] == ["There is no other vowel"] * 2


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError("gone"), "gone"), (DataError(what="no line", where="", hint=""), "no line"),
     (KeyError("x"), "The log lacks an event that this would be drawn from.")],
)  # fmt: skip
async def test_a_case_that_cannot_be_read_says_why(
    error: Exception, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = PaneApp(Letters("ab"), tmp_path)

    def refuse(*place: int) -> None:
        raise error

    monkeypatch.setattr(app.session, "read", refuse)
    async with app.run_test(size=(80, 24)) as pilot:
        assert words in (await shown(pilot))[1]


class BlocksApp(App[None]):
    def __init__(self, session: RecordedSession, charts: list[ChartOf], blocks: list[Any]) -> None:
        super().__init__()
        self.pane = BlocksPane(session, charts, lambda state: blocks, "Not measured.", id="results")

    def compose(self) -> ComposeResult:
        yield self.pane


async def test_charts_stand_above_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third and the fourth are for wide terminals; what the page says while there is nothing, and while the log is
    read."""
    line = [Series("a", [0, 1], [0.0, 1.0])]
    session = RecordedSession([], tmp_path)
    for count, series in ((0, line), (4, []), (4, line)):
        charts = [ChartOf(f"y {at}", f"x {at}", lambda state, series=series: series) for at in range(count)]
        table, words = Table(("a",), [("1",)]), Paragraph("Measured.")
        app = BlocksApp(session, charts, [words, table] if series else [])
        async with app.run_test(size=(80, 24)) as pilot:
            app.pane.show()
            await pilot.pause()
            drawn = [chart.has_class("-third") for chart in app.pane.query(Chart)]
            assert drawn == [False, False, True, True][:count]
            assert [(chart.y_title, chart.x_title) for chart in app.pane.query(Chart)] == [
                (f"y {at}", f"x {at}") for at in range(count)
            ]
            assert app.pane.has_class("-empty") == (count == 0 or not series)
            detail = app.pane.page
            lines = [line.text.rstrip() for line in detail._drawn(60)]
            assert lines[0] == ("Measured." if series else "Not measured.")
            assert app.pane.tables() == ([table] if series else []) and not app.pane.close_one()
            monkeypatch.setattr(RecordedSession, "reading", 0.25)
            app.pane.show()
            await pilot.pause()
            lines = [line.text.rstrip() for line in detail._drawn(59)]
            assert lines[:3] == ["The log is still being read (25%): more may stand here", "soon.", ""]
            monkeypatch.setattr(RecordedSession, "reading", None)


async def test_the_page_stays_where_one_reads_when_something_was_measured(tmp_path: Path) -> None:
    """Its ids can be chosen."""
    words = [Paragraph(Span(f"line {at}\n", "", Target("line", str(at)))) for at in range(60)]
    app = BlocksApp(RecordedSession([], tmp_path), [], words)
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show()
        await pilot.pause()
        app.pane.page.scroll_to(y=12, animate=False)
        await pilot.pause()
        app.pane.show()
        await pilot.pause()
        assert app.pane.page.scroll_y == 12 and app.pane.page.check_action("link", (1,))


async def test_a_page_without_ids_leads_nowhere(tmp_path: Path) -> None:
    """The footer does not offer it."""
    app = BlocksApp(RecordedSession([], tmp_path), [], [Paragraph("no id")])
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show()
        await pilot.pause()
        page = app.pane.page
        assert not page.check_action("follow", ()) and not page.check_action("link", (1,))


async def test_who_reads_an_opened_case_stays_there_when_the_run_ends(tmp_path: Path) -> None:
    """The newest one is followed as before."""
    app = PaneApp(Letters("abcde", "c"), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        assert (await shown(pilot))[1] == "e at step None"
        await pilot.press("tab", "enter")
        app.pane.open()
        assert app.pane.table.follow and app.pane.has_class("-open")
        assert (await shown(pilot, over=True))[1] == "e at step None"


async def test_the_newest_case_of_a_run_that_is_over_can_be_read(tmp_path: Path) -> None:
    """Nothing leads back to where it began, and nothing is followed any more."""
    app = PaneApp(Letters("abcde", "c"), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        assert (await shown(pilot, over=True))[1] == "c at step None"
        app.pane.table.go_to(4)
        assert app.pane.table.follow
        assert await shown(pilot, over=True) == ["5 letters  │  ← → explain a column", "e at step None"]


async def test_a_case_that_was_away_is_drawn_again(tmp_path: Path) -> None:
    """As it is away at an earlier moment of the run."""
    letters = Letters("ab")
    app = PaneApp(letters, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        cases = []
        for there in ("ab", "", "ab"):
            letters.letters = there
            cases.append((await shown(pilot))[1:])
        assert cases == [["b at step None"], [], ["b at step None"]]
