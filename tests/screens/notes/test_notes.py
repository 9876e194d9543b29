"""RUN@EVENT, marks, notes and their list, and the export of an item, by keys in the console."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from app.cli import main
from app.cli.run import at_event
from app.methods.place import Place
from app.runs.notes import Entry, Notes, read_notes
from app.shell import First, SteerApp
from engine.errors import RunError
from engine.events import (
    AnswerJudged,
    ConversationAnswered,
    DecisionTaken,
    EntryPicked,
    Event,
    EvidenceAnswered,
    IterationBegan,
    PairMined,
    PoolQueryDone,
    QuestionSampled,
    SamplerStep,
    SelectorPicked,
    StageStarted,
)
from engine.run.find_event import find_event
from screens.esm.screen import EsmScreen
from screens.event_places import event_place
from screens.item_marks import BOTH, NOTED
from screens.notes.screen import NotesScreen
from screens.noting import ask_for_note, change_notes, note_help
from screens.overview.screen import OverviewScreen
from screens.panels.ask import AskScreen
from screens.tabbed_screen import TabbedScreen
from screens.widgets.key_line import keys_of
from screens.widgets.tables.column_layout import place
from screens.widgets.tables.virtual_table import VirtualTable
from tests.console import until
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events
from tests.two_runs import decided, make_run

ITEMS = (
    *(DecisionTaken, PairMined, EntryPicked, IterationBegan, AnswerJudged, QuestionSampled),
    *(ConversationAnswered, PoolQueryDone, SelectorPicked),
)


def all_events() -> list[Event]:
    """All methods in one log."""
    parts = [
        list(SyntheticRun(8, 6, 8).events()), list(evolution_events(3)), list(gflownet_events(60)), list(slsm_events()),
        list(pool_events()),
    ]  # fmt: skip
    return [parts[0][0], *chain.from_iterable(events[1:] for events in parts)]


@asynccontextmanager
async def opened(run: Path, seq: int | None = None) -> AsyncIterator[tuple[SteerApp, Pilot[None]]]:
    app = SteerApp(run.parent.parent, First(run, seq))
    async with app.run_test(size=(120, 40)) as pilot:
        yield app, pilot
    if app.session is not None:
        app.session.close()


def shown_offset(app: SteerApp) -> int | None:
    """Where the event of the row under the cursor of the opened item begins."""
    screen = app.screen
    opened = isinstance(screen, TabbedScreen) and screen.pending_place is None and screen.query(".-open")
    return screen.noted_offset() if opened and isinstance(screen, TabbedScreen) else None


async def test_every_kind_of_item_is_opened_by_the_number_of_its_event(tmp_path: Path) -> None:
    events = all_events()
    run = make_run(tmp_path, "all", events)
    first = {type(event): seq for seq, event in reversed(list(enumerate(events)))}
    async with opened(run, first[DecisionTaken]) as (app, _):
        for kind in ITEMS:
            seq = first[kind]
            entry = find_event(run / "events.jsonl", seq)
            assert entry is not None
            app.open_event(run, seq)
            await until(lambda at=entry.offset: shown_offset(app) == at, f"{kind.__name__} is open")
        answered = next(
            seq for seq, event in enumerate(events) if isinstance(event, EvidenceAnswered) and seq
        )
        question = find_event(run / "events.jsonl", first[QuestionSampled])
        assert question is not None and events[answered].sample_id == question.event.sample_id  # type: ignore[attr-defined]
        app.open_event(run, answered)
        await until(lambda: shown_offset(app) == question.offset, "the question of an answer is open")


async def test_marks_notes_list_and_export(tmp_path: Path) -> None:
    events = list(SyntheticRun(6, 4, 4).events())
    run = make_run(tmp_path, "r", events)
    seq = next(i for i, e in enumerate(events) if isinstance(e, DecisionTaken) and e.chosen)
    async with opened(run, seq) as (app, pilot):
        await until(lambda: shown_offset(app) is not None, "the decision is open")
        await pilot.press("m", "semicolon")
        await until(lambda: isinstance(app.screen, AskScreen), "the question for a note")
        app.screen.query_one(Input).value = "why [this] entry?"
        await pilot.press("enter")
        await until(lambda: read_notes(run).notes, "the note is kept")
        written = read_notes(run)
        assert list(written.marks) == [seq] and written.notes[0].seq == seq
        assert "decision of" in written.notes[0].item

        await pilot.press("Y")
        await until(lambda: len(list(run.glob("exports/*.md"))) == 1, "the files are written")
        (page,) = run.glob("exports/*.html")
        assert "why [this] entry?" in page.read_text() and f"{run}@{seq}" in page.read_text()

        await pilot.press("escape")
        Notes(run).add(seq + 1, "", "from another console")  # a row that has only a note
        table = app.screen.query_one("#decisions VirtualTable", VirtualTable)
        await until(lambda: sorted(table.signs.values()) == [NOTED, BOTH], "both signs")
        lines = ["".join(part.text for part in table.render_line(y)) for y in range(1, table.size.height)]
        assert sum(line[1] == BOTH for line in lines) == 1

        await pilot.press("o")
        await until(lambda: isinstance(app.screen, OverviewScreen), "the overview")
        await pilot.press("M")
        await until(lambda: isinstance(app.screen, NotesScreen), "the list of notes")
        await pilot.press(
            "delete", "enter"
        )  # the newest, from another console, is taken back; the other one is opened
        await until(lambda: isinstance(app.screen, EsmScreen) and shown_offset(app) is not None, "back there")
        assert [note.text for note in read_notes(run).notes] == ["why [this] entry?"]
        await pilot.press("m")
        await until(lambda: not read_notes(run).marks, "the mark is taken away")


async def test_a_note_on_a_run_in_the_list_of_runs(tmp_path: Path) -> None:
    run = make_run(tmp_path, "r", list(SyntheticRun(2, 1, 1).events()))
    app = SteerApp(outputs=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.home.selected is not None, "the run is listed")
        await pilot.press("semicolon")
        await until(lambda: isinstance(app.screen, AskScreen), "the question")
        app.screen.query_one(Input).value = "slow disk"
        await pilot.press("enter", "M")
        await until(lambda: isinstance(app.screen, NotesScreen), "the list")
        assert [(n.seq, n.text) for n in read_notes(run).notes] == [(None, "slow disk")]
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, OverviewScreen), "the run is open")
    if app.session is not None:
        app.session.close()


async def test_ids_and_notes_of_others_are_only_text(tmp_path: Path) -> None:
    hostile = "q[/foo] [bold\x1b[2J\u202e"
    run = make_run(tmp_path, "r", [decided(hostile, 1)])
    notes = Notes(run)
    notes.add(0, hostile, hostile)
    notes.toggle_mark(0, hostile)
    async with opened(run, 0) as (app, pilot):
        await until(lambda: shown_offset(app) is not None, "the decision is open")
        await pilot.press("semicolon")
        await until(lambda: isinstance(app.screen, AskScreen), "the question for a note")
        await pilot.press("escape", "M")
        await until(lambda: isinstance(app.screen, NotesScreen), "the list")
        await pilot.pause()
        picture = app.export_screenshot()
        assert "[/foo]" in picture.replace("&#x27;", "'") and "\x1b" not in picture
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, EsmScreen), "back there")


def test_notes_of_several_runs_name_the_run_at_eighty_columns() -> None:
    columns = NotesScreen([Path("a"), Path("b")])._source.columns
    assert [placed.column.key for placed in place(columns, 78)] == ["marked", "item", "note", "run"]


def test_runat_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = all_events()
    run = make_run(tmp_path, "r", events)
    assert at_event(f"{run}@12") == (str(run), 12)
    (tmp_path / "a@1").mkdir()
    monkeypatch.chdir(tmp_path)
    for text in ("a@1", "demo", "x@y", "@5", ""):
        assert at_event(text) == (text, None)
    with pytest.raises(RunError, match="no event of this number"):
        event_place(run, len(events))
    step = next(i for i, e in enumerate(events) if isinstance(e, SamplerStep))
    assert event_place(run, step) == ("GFlowNet", Place("training"))
    with pytest.raises(RunError, match="StageStarted, which no table"):
        event_place(run, next(i for i, e in enumerate(events) if isinstance(e, StageStarted)))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main([f"{run}@{len(events)}"]) == 2
    assert "no event of this number" in capsys.readouterr().err


async def test_the_list_of_notes_word_for_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest first, its text below; what cannot be read is counted; a note is taken back before a mark."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    runs = [make_run(tmp_path, "r", []).rename(tmp_path / "r" / name) for name in ("1", "2")]
    at = 1_760_000_000.0  # 2025-10-09 08:53:20
    lines = [
        Entry(what="mark", time=at, author="ann", seq=4, item="pair 1"),
        Entry(what="note", time=at + 100, author="ben", id="x", text="slow disk"),
        Entry(what="note", time=at + 200, author="ann", id="y", seq=7, text="why?"),
        Entry(what="mark", time=at + 300, author="ann", seq=7),
    ]
    (runs[0] / "notes.jsonl").write_bytes(
        b"".join(msgspec.json.encode(line) + b"\n" for line in lines) + b"none\n"
    )
    screen = NotesScreen(runs)
    seen: list[tuple[str, list[str], str]] = []
    offered: list[set[str]] = []
    keys = ("", "down", "down", "home delete", "delete", "delete", "delete")
    async with App[None]().run_test(size=(120, 24)) as pilot:
        await pilot.app.push_screen(screen)
        for some in keys:
            await pilot.press(*some.split())
            await pilot.pause()
            source = screen._source
            rows = [" ".join(cell.text for cell in source.cells(row)) for row in range(len(source))]
            title, text = (str(screen.query_one(name).render()) for name in ("#notes-title", "#note-text"))
            seen.append((title, rows, text))
            offered.append({key.word for key in keys_of(screen)} & {"Open", "Sort", "Take back"})
        await pilot.press("escape")
        assert pilot.app.screen is not screen
    rows = [
        "◆ 2025-10-09 08:56 UTC ann event 7 why? r/1",
        "  2025-10-09 08:55 UTC ben the run slow disk r/1",
        "◆ 2025-10-09 08:53 UTC ann pair 1  r/1",
    ]
    only_marked = "◆ 2025-10-09 08:58 UTC ann event 7  r/1"
    title, broken = "marks and notes on 2 runs", "1 line that is none"
    event, run, pair = (
        "event 7  ann, 2025-10-09 08:56 UTC\nwhy?",
        "the run  ben, 2025-10-09 08:55 UTC\nslow disk",
        "pair 1  ann, 2025-10-09 08:53 UTC\nmarked",
    )
    assert seen == [
        (f"3 {title}, {broken}", rows, event),
        (f"3 {title}, {broken}", rows, run),
        (f"3 {title}, {broken}", rows, pair),
        (f"3 {title}, {broken}", [only_marked, *rows[1:]], "event 7  ann, 2025-10-09 08:58 UTC\nmarked"),
        (f"2 {title}, {broken}", rows[1:], run),
        (f"1 mark on 2 runs, {broken}", rows[2:], pair),
        (f"0 {title}, {broken}", [], ""),
    ]
    assert offered == [{"Open", "Sort", "Take back"}] * 6 + [set()], "no keys for a row where there is none"


def test_what_is_said_of_a_note_while_it_is_typed() -> None:
    assert note_help(" ") == "Type a note; it is kept beside the log."
    assert note_help("x" * 4_000) == "enter keeps it in notes.jsonl of the run"
    with pytest.raises(ValueError, match="a note has at most 4,000 characters"):
        note_help("x" * 4_001)


async def test_the_last_three_notes_stand_above_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of this item alone; what cannot be kept is told, and what is not typed is not kept."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    run = make_run(tmp_path, "r", [])
    lines = [
        Entry(
            what="note", time=1_760_000_000.0 + 60 * at, author="ann", id=str(at), seq=seq, text=f"note {at}"
        )
        for at, seq in enumerate((7, 7, 8, 7, 7))
    ]
    path = run / "notes.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    kept: list[str] = []
    async with App[None]().run_test(size=(80, 24)) as pilot:
        for keys in ("escape", "enter", "n e w enter"):
            ask_for_note(pilot.app.screen, Notes(run), 7, "pair 1", "pair [1]", lambda: kept.append("looked"))
            await pilot.pause()
            ask = pilot.app.screen
            assert isinstance(ask, AskScreen) and ask._heading == "A note on pair [1]"
            if not kept:
                assert str(ask.message.render()) == (
                    "ann, 2025-10-09 08:54 UTC: note 1\nann, 2025-10-09 08:56 UTC: note 3\n"
                    "ann, 2025-10-09 08:57 UTC: note 4\nType a note; it is kept beside the log."
                )
            await pilot.press(*keys.split())
        assert kept == ["looked"] and [note.text for note in read_notes(run).of(7)][-1] == "new"
        path.unlink()
        path.mkdir()
        change_notes(pilot.app.screen, lambda: Notes(run).add(7, "pair 1", "x"))
        await pilot.pause()
        [told] = list(pilot.app._notifications)
        assert (told.title, told.severity) == ("Not kept", "error") and str(path) in told.message


async def test_of_a_long_note_the_begin_stands_above_a_new_one(tmp_path: Path) -> None:
    """Two hundred signs of it."""
    run = make_run(tmp_path, "r", [])
    Notes(run).add(7, "pair 1", "a" * 199 + "b" + "c" * 199)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        ask_for_note(pilot.app.screen, Notes(run), 7, "pair 1", "pair 1", lambda: None)
        await pilot.pause()
        ask = pilot.app.screen
        assert isinstance(ask, AskScreen)
        known, below = str(ask.message.render()).splitlines()
    assert known.endswith(": " + "a" * 199 + "b") and below.startswith("Type a note")


@pytest.mark.parametrize(("runs", "named"), [(1, False), (2, True)])
def test_a_notes_run_is_named_where_there_are_several(runs: int, named: bool) -> None:
    screen = NotesScreen([Path(f"/demo/{number}") for number in range(runs)])
    assert [column.key for column in screen._source.columns] == [
        "marked", "time", "author", "item", "note", *(["run"] if named else []),
    ]  # fmt: skip


async def test_a_note_that_cannot_be_taken_back_stays_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one that another console has written meanwhile."""
    run = make_run(tmp_path, "r", [])
    Notes(run).add(7, "pair [1]", "why?")
    screen = NotesScreen([run])
    async with App[None]().run_test(size=(120, 24)) as pilot:
        await pilot.app.push_screen(screen)
        Notes(run).add(8, "pair 2", "slow")

        def fails(notes: Notes, entry: Entry) -> None:
            raise OSError("no room [there]")

        monkeypatch.setattr(Notes, "remove", fails)
        await pilot.press("delete")
        await pilot.pause()
        [shown] = list(pilot.app._notifications)
        assert (shown.message, shown.severity) == ("no room [there]", "error")
        assert str(screen.query_one("#notes-title").render()) == "2 marks and notes on 1 run"
