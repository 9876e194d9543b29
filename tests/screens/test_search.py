"""`/` on the overview: rows of all methods by words or ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual import on
from textual.app import App
from textual.pilot import Pilot

from app.blocks.block import Paragraph, plain
from app.methods.place import OfEvent, Place
from app.methods.slsm.answers import ANSWERS
from app.methods.source import CaseSource
from app.runs.item_search import find_items
from app.state.run import RunState
from engine import events as ev
from engine.errors import RunError
from screens.event_places import event_place, kinds_with_place, place_of
from screens.messages import SystemRequested
from screens.overview.screen import OverviewScreen
from screens.panels import search
from screens.panels.search import MOST, SearchScreen, count_words
from screens.widgets.tables.rows import ListSource
from tests.console import drawn
from tests.recorded_session import RecordedSession
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun, write_log
from tests.synthetic_slsm import slsm_events


class RunApp(App[None]):
    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session
        self.asked: list[SystemRequested] = []

    def on_mount(self) -> None:
        self.push_screen(OverviewScreen(self.session))

    @on(SystemRequested)
    def _asked(self, message: SystemRequested) -> None:
        self.asked.append(message)


async def searched(pilot: Pilot[None], *keys: str) -> SearchScreen:
    await pilot.press(*keys)
    screen = pilot.app.screen
    assert isinstance(screen, SearchScreen)
    await screen.workers.wait_for_complete()
    await pilot.pause()
    return screen


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Earlier searches, which are cancelled, do not matter."""
    for _ in range(500):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError("waited in vain")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_words_are_found_in_all_methods_and_enter_goes_there(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    both = [*SyntheticRun(examples=4).events(), *pool_events()]
    events = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(both)]
    entries = write_log(tmp_path / "events.jsonl", events)
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash")
        kinds = kinds_with_place()
        counts = Counter(kinds[type(event)] for event, *_ in entries if type(event) in kinds)
        line = str(screen.line.content)
        assert line.startswith(f"{counts.total():,} rows: ")
        assert f"ESM {counts['ESM']:,}" in line and f"Pool {counts['Pool']:,}" in line
        assert "words or ids" in drawn(app) and len(screen.source) == 0

        screen = await searched(pilot, *"train-0002")
        queries = [event for event, *_ in entries if isinstance(event, ev.PoolQueryDone)]
        at = next(offset for event, offset, _ in entries if event is queries[2])
        assert "train-0002" in drawn(app) and "query train-0002" in drawn(app)
        assert "Go there" in drawn(app)
        rows = [screen.source.item(row).offset for row in range(len(screen.source))]
        await pilot.press(*["down"] * rows.index(at), "enter")
        await pilot.pause()
        [asked] = app.asked
        assert (asked.name, asked.place) == ("Pool", Place("queries", OfEvent(at), open=True))


async def test_the_turns_of_a_conversation_are_found_and_lead_to_its_first_answer(tmp_path: Path) -> None:
    """The user's first words of `editing-1`; its first answer is the second answer of all."""
    entries = write_log(tmp_path / "events.jsonl", slsm_events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash", *"rice", "space", *"eggs", "space", *"list")
        row = next(r for r in range(len(screen.source)) if "turns of" in screen.source.cells(r)[1].text)
        assert screen.source.cells(row)[1].text == "turns of conversation editing-1"
        await pilot.press(*["down"] * row, "enter")
        await pilot.pause()
        [asked] = app.asked
    state = RunState()
    for event, offset, length in entries:
        state.apply(event, offset, length)
    answers = ListSource(ANSWERS.columns)
    answers.show(ANSWERS.rows(state))
    assert asked.place is not None and isinstance(asked.place.key, OfEvent)
    at = answers.row_at(asked.place.key.offset)
    assert (asked.name, asked.place.tab, at) == ("SLSM", "answers", 1)
    turns = next(e for e, *_ in entries if isinstance(e, ev.ConversationOpened) and "rice" in e.turns[0][0])
    drawn_turns = ANSWERS.draw(turns, CaseSource(tmp_path, state, lambda offset, length: turns))
    assert [plain(block.text) for block in drawn_turns if isinstance(block, Paragraph)] == [
        "  1 user      My list is milk, rice, eggs.",
        "    assistant Noted.",
        "  2 user      Replace rice with corn.",
        "    assistant Okay.",
        "  3 user      Show my list.",
    ]


async def test_as_many_rows_of_a_method_are_listed_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.panels.search.MOST", 2)
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash", *"train")
        assert len(screen.source) == 2 and "the first 2 of a method are listed" in str(screen.line.content)


def test_what_is_listed_is_counted_for_each_method() -> None:
    """Two methods with 150 rows each are listed whole, although there are more than 200 of both."""
    assert count_words(Counter(ESM=150, Pool=150), True, True) == "300 rows: ESM 150, Pool 150"
    assert count_words(Counter(ESM=201, Pool=1), True, True) == (
        "202 rows: ESM 201, Pool 1; the first 200 of a method are listed"
    )


async def test_enter_waits_for_the_rows_of_what_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes to the first as soon as it is listed, never to one of words before; typing on takes it back."""
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    read = Event()

    def find_late(*given: Any) -> Iterator[Any]:
        read.wait(10)
        yield from find_items(*given)

    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await searched(pilot, "slash", *"train-0001")
        monkeypatch.setattr(search, "find_items", find_late)
        await pilot.press("backspace", "enter", "2")
        screen = app.screen
        read.set()
        await until(pilot, lambda: isinstance(screen, SearchScreen) and screen._listed == ["train-0002"])
        assert app.screen is screen and app.asked == [], "typed on"
        read.clear()
        await pilot.press("space", *"train", "enter")
        assert app.screen is screen and app.asked == []
        read.set()
        await until(pilot, lambda: isinstance(app.screen, OverviewScreen) and bool(app.asked))
        queries = [offset for event, offset, _ in entries if isinstance(event, ev.PoolQueryDone)]
        assert [(asked.name, asked.place) for asked in app.asked] == [
            ("Pool", Place("queries", OfEvent(queries[2]), open=True))
        ]


async def test_enter_right_behind_a_letter_is_not_forgotten(tmp_path: Path) -> None:
    """As in a paste: the key comes before the field tells that it changed."""
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash")
        screen.input.value = "train-0001"
        screen.action_accept()
        await until(pilot, lambda: isinstance(app.screen, OverviewScreen))
    assert [asked.name for asked in app.asked] == ["Pool"]


async def test_keys_go_by_one_row_and_by_ten(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", SyntheticRun(examples=20).events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash", *"esm")
        rows = []
        for key in ("pagedown", "down", "pagedown", "up", "pageup"):
            await pilot.press(key)
            rows.append(screen.table.cursor)
        assert rows == [10, 11, 21, 20, 10]


async def test_what_no_row_has_is_said(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash", *"nowhere")
        assert str(screen.line.content) == "0 rows" and "No row of a method has all these words." in drawn(
            app
        )
        assert "Go there" not in drawn(app)
        screen._show(["nowhere"], [], Counter(), False)
        assert str(screen.line.content) == "0 rows so far" and screen.table.empty == "", "not yet"
        screen._show([], [], Counter(), True)
        assert str(screen.line.content) == "0 rows so far", "of words that are not typed any more"
        await pilot.press("enter", "escape")
        assert isinstance(app.screen, OverviewScreen) and app.asked == []


async def test_where_nothing_can_be_found_it_says_so_before_one_types(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", [next(iter(SyntheticRun().events()))])
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await searched(pilot, "slash")
        assert "There is nothing to find: no method has written a row yet." in drawn(app)


def test_the_line_of_counts() -> None:
    assert count_words(Counter(ESM=2, Pool=1), True, True) == "3 rows: ESM 2, Pool 1"
    assert count_words(Counter(ESM=1), True, False) == "1 row so far: ESM 1"
    assert count_words(Counter(), True, True) == "0 rows"
    assert count_words(Counter(), False, False) == ""
    many = count_words(Counter(ESM=MOST + 1, Pool=3), True, True)
    assert many == f"{MOST + 4} rows: ESM {MOST + 1}, Pool 3; the first {MOST} of a method are listed"
    assert "listed" not in count_words(Counter(ESM=MOST), True, True)
    assert "listed" not in count_words(Counter(ESM=MOST + 1), False, True)


def test_an_answer_is_found_among_the_decisions_of_its_example() -> None:
    answer = ev.ExampleEvaluated(
        method="esm", index=0, example='a"b', question="", gold="", pred="", correct=True, tokens_used=1,
        budget_used=1, decisions=1, text="",
    )  # fmt: skip
    place = Place("decisions", filter='method:esm example:"a\\"b"')
    assert place_of(answer, 7) == ("ESM", place) and place_of(ev.Notice(text=""), 7) is None
    kinds = kinds_with_place()
    assert kinds[ev.ExampleEvaluated] == "ESM" and ev.Notice not in kinds
    assert kinds.get(ev.SamplerStep) == "GFlowNet", "it is no case, but has a place"


async def test_as_many_rows_of_every_method_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one method has does not count against another."""
    monkeypatch.setattr(search, "MOST", 2)
    both = [*SyntheticRun(examples=4).events(), *pool_events()]
    events = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(both)]
    app = RunApp(RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = await searched(pilot, "slash", *"train")
        kinds = kinds_with_place()
        rows = [screen.source.item(row) for row in range(len(screen.source))]
        assert Counter(kinds[type(row.event)] for row in rows) == {"ESM": 2, "Pool": 2}


def test_why_an_event_cannot_be_opened(tmp_path: Path) -> None:
    """It is not in the log, or no table has a row for it."""
    write_log(tmp_path / "events.jsonl", list(SyntheticRun(2, 1, 1).events())[:3])
    said = []
    for seq in (2, 99):
        with pytest.raises(RunError) as caught:
            event_place(tmp_path, seq)
        said.append((caught.value.what, caught.value.where, caught.value.hint))
    assert said == [
        ("event 2 is ModelLoaded, which no table has a row for", f"{tmp_path}@2",
         "name the event of a decision, an answer, a question, …"),
        ("the log has no event of this number", f"{tmp_path}@99", "events count from 0; y copies a row's number"),
    ]  # fmt: skip


async def test_what_was_found_so_far_is_shown_five_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock goes on by 0.15 s each time it is looked at: after the second and the fourth line, then at the end."""
    clock = count(0.0, 0.15)
    shown: list[bool] = []
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(search, "find_items", lambda *given: iter([None] * 4))
    monkeypatch.setattr(
        SearchScreen, "_show", lambda self, words, matches, counts, whole: shown.append(whole)
    )
    session = RecordedSession([], tmp_path)
    async with App[None]().run_test() as pilot:
        screen = SearchScreen(session)
        await pilot.app.push_screen(screen)
        await screen.workers.wait_for_complete()
    assert shown == [False, False, True]


async def test_at_an_earlier_moment_only_what_had_happened_is_found(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    kinds = kinds_with_place()
    rows = [seq for seq, (event, *_) in enumerate(entries) if type(event) in kinds]
    session = RecordedSession(entries, tmp_path)
    app = RunApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        session.seek(rows[1])
        screen = await searched(pilot, "slash")
        assert str(screen.line.content).startswith("2 rows: ")


async def test_a_log_that_is_gone_is_told(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", list(SyntheticRun(examples=2).events()))
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        (tmp_path / "events.jsonl").unlink()
        screen = await searched(pilot, "slash")
        assert str(screen.line.content).startswith(
            "the log cannot be read: [Errno 2] No such file or directory"
        )


async def test_what_is_found_is_marked_and_the_key_to_it_goes_with_it(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    app = RunApp(RecordedSession(entries, tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        offered = []
        for keys in (("slash",), tuple("train"), ("x",), ("backspace",)):
            screen = await searched(pilot, *keys)
            offered.append("Go there" in drawn(app).splitlines()[-1])
        assert offered == [False, True, False, True]
        assert screen.table.search_words == ("train",) and "›•" in drawn(app)
