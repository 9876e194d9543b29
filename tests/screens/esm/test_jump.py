"""Going to an id with enter and coming back with backspace: decision, entry, pair, example."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from app.blocks.block import Target
from app.methods.place import Place
from screens.esm.screen import EsmScreen
from screens.panes.cases import CasesPane
from screens.tab_views import TableView
from screens.widgets.detail_pane import DetailPane
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class EsmApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.esm = EsmScreen(session)

    def on_mount(self) -> None:
        self.push_screen(self.esm)


@pytest.fixture
def app(tmp_path: Path) -> EsmApp:
    return EsmApp(RecordedSession(write_log(tmp_path / "events.jsonl", SyntheticRun().events()), tmp_path))


async def press(pilot: Pilot[None], *keys: str) -> EsmScreen:
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, EsmScreen)
    screen.poll()
    await pilot.pause()
    return screen


async def test_from_a_decision_to_its_entry_to_its_decisions_and_back(app: EsmApp) -> None:
    """All with enter; backspace goes the same way back, to the same rows, filter included."""
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await press(pilot)
        screen.decisions.filter_by("method:esm gate:chosen")
        screen = await press(pilot, "g", "down", "enter")
        row = screen.decisions.source.view.decision(1)
        entry = screen.session.state.esm.decisions.text("chosen", row)
        targets = [found.target for found in screen.decisions.detail.links()]
        assert Target("entry", entry) in targets
        screen = await press(pilot, *["tab"] * (targets.index(Target("entry", entry)) + 1), "enter")
        assert screen.shown_name == "entries"
        shown = screen.query_one("#entries", CasesPane).under_cursor()
        assert shown is not None and shown.pick.entry == entry

        screen = await press(pilot, "enter", "enter", "enter")  # opens it, chooses its decisions, goes there
        assert screen.shown_name == "decisions"
        view = screen.decisions.source.view
        used = screen.session.state.esm.ledger[entry].used
        assert len(view) == used and view.find(row) is not None

        screen = await press(pilot, "backspace", "backspace")
        assert screen.shown_name == "decisions" and screen.decisions.has_class("-open")
        assert screen.decisions.filter_text == "method:esm gate:chosen"
        assert screen.decisions.source.view.decision(screen.decisions.table.cursor) == row
        assert not screen.check_action("go_back", ())


async def test_a_hidden_decision_is_shown_without_the_filter(app: EsmApp) -> None:
    """The chain leads to segments that the filter hides."""
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await press(pilot)
        screen.decisions.filter_by("m:2")
        screen = await press(pilot, "g", "enter")
        detail = screen.decisions.detail
        first = next(found.target for found in detail.links() if found.target.kind == "decision")
        detail.post_message(DetailPane.Followed(first))
        screen = await press(pilot)
        assert screen.decisions.has_class("-open") and not screen.decisions.filter_text
        number = screen.decisions.source.view.decision(screen.decisions.table.cursor)
        decisions = screen.session.state.esm.decisions
        named = f"{decisions.text('method', number)} {decisions.text('example', number)} 1"
        assert (decisions.column("m")[number], named) == (1, first.name)


async def test_what_is_not_there_yet_is_said(app: EsmApp) -> None:
    """At an earlier moment an entry may not have been picked."""
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await press(pilot)
        screen.follow(Target("entry", "wrong-9999"))
        screen = await press(pilot)
        assert screen.shown_name == "decisions"
        assert any("wrong-9999" in note.message for note in pilot.app._notifications)


async def test_a_chosen_id_stays_chosen_when_the_page_is_drawn_again(app: EsmApp) -> None:
    """As it is while a run goes on: enter still goes there."""
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await press(pilot, "2", "tab")
        screen.show()
        screen = await press(pilot, "enter")
        assert screen.shown_name == "decisions" and screen.decisions.filter_text


async def test_a_decision_that_the_filter_shows_is_gone_to_within_it(app: EsmApp) -> None:
    """One that it hides is shown without it; other targets have their own filter."""
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await press(pilot)
        decisions = screen.session.state.esm.decisions
        method, example = decisions.text("method", 0), decisions.text("example", 0)
        screen.decisions.filter_by("m:2")
        await press(pilot)
        kept = {m: screen.place_of(Target("decision", f"{method} {example} {m}")) for m in (1, 2)}
        assert [place and place.filter for place in kept.values()] == ["", "m:2"]
        whole = screen.place_of(Target("example", f"{method} {example}"))
        assert whole is not None and whole.filter == f'method:{method} example:"{example}"'


async def test_who_presses_a_key_is_not_moved_to_a_row_that_comes_late(tmp_path: Path) -> None:
    """Who waits is."""
    entries = write_log(tmp_path / "events.jsonl", SyntheticRun().events())
    for keys, moved in (((), True), (("k",), False)):
        session = RecordedSession(entries, tmp_path, upto=260)
        async with EsmApp(session).run_test(size=(80, 24)) as pilot:
            screen = await press(pilot)
            late = len(screen.decisions.source) + 2
            screen.open_place(Place("decisions", late, open=True))
            await press(pilot, *keys)
            session.grow(60)
            screen = await press(pilot)
            assert len(screen.decisions.source) > late + 1
            assert (screen.decisions.table.cursor == late) == screen.decisions.has_class("-open") == moved


async def test_a_place_that_is_asked_for_goes_before_a_row_that_was_left(tmp_path: Path) -> None:
    """Which comes late: without another place one is taken to it."""
    entries = write_log(tmp_path / "events.jsonl", SyntheticRun().events())
    for asked in (False, True):
        session = RecordedSession(entries, tmp_path, upto=260)
        async with EsmApp(session).run_test(size=(80, 24)) as pilot:
            screen = await press(pilot)
            late = len(screen.decisions.source) + 2
            view = TableView(late, False, (None, False))
            screen.left_view = {"tab": "decisions", "chosen": True, "panes": {"decisions": view}}
            if asked:
                screen.open_place(Place("decisions", 1))
            session.grow(60)
            screen.poll()
            assert len(screen.decisions.source) > late + 1
            assert screen.decisions.table.cursor == (1 if asked else late)
