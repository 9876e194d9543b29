"""The overview of a run: the digest, curves, cards, places to open, and the panel of time and tokens."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from textual import on
from textual.app import App
from textual.pilot import Pilot

from app.methods.pages import page_of
from app.runs.time_left import TimeLeft
from app.wording.verdict_text import verdict_sentence
from engine import events as ev
from engine.run.stage_state import FINISHED, SKIPPED
from screens.esm.screen import EsmScreen
from screens.messages import SystemRequested
from screens.method_progress import progress_of
from screens.overview import screen as overview
from screens.overview.card_panel import CardPanel
from screens.overview.cards import Card
from screens.overview.curve_view import CurveView
from screens.overview.screen import OverviewScreen
from screens.run_screen import POLL_SECONDS, RunScreen
from screens.tab_views import TableView
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.line_list import LineList
from tests.named_tones import parts
from tests.recorded_session import RecordedSession
from tests.screens.overview.test_digest import VERDICTS
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun, write_log
from tests.synthetic_slsm import slsm_events

SIZES = [(80, 24), (200, 60)]
VERDICT = ev.Verdict(
    method="esm", baseline="greedy", metric="accuracy", items="problems", n=25, value=0.92, baseline_value=0.6,
    difference=0.32, low=0.16, high=0.52, fixed=9, broken=1,
)  # fmt: skip


class RunApp(App[None]):
    """A screen of a run, and what it asks for."""

    def __init__(self, screen: RunScreen) -> None:
        super().__init__()
        self.first = screen
        self.asked: list[object] = []

    def on_mount(self) -> None:
        self.push_screen(self.first)

    @on(SystemRequested)
    def _asked(self, message: object) -> None:
        self.asked.append(message)

    def action_up(self) -> None:
        self.asked.append("up")


def session_of(
    tmp_path: Path, verdict: ev.Verdict | None = VERDICT, upto: int | None = None
) -> RecordedSession:
    def stated(event: ev.Event) -> ev.Event:
        evaluated = isinstance(event, ev.StageFinished) and event.stage == "eval"
        return msgspec.structs.replace(event, verdict=verdict) if evaluated else event

    events = [stated(event) for event in SyntheticRun().events()]
    return RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path, upto=upto)


def drawn(app: App[None]) -> str:
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


async def polled(pilot: Pilot[None]) -> str:
    """The screen as text, after all that was due is drawn."""
    for _ in range(3):
        await pilot.pause()
        if isinstance(screen := pilot.app.screen, RunScreen):
            screen._drawn = None
            screen.poll()
    await pilot.pause()
    return drawn(pilot.app)


def demo_session(tmp_path: Path) -> RecordedSession:
    """A finished run of five methods, as far as the digest shows it."""
    events: list[ev.Event] = [
        ev.Header(schema_version=1, name="demo", run_id="1", seed=0, stages=list(VERDICTS))
    ]
    for stage, verdict in VERDICTS.items():
        whole = msgspec.structs.replace(verdict, curve=[verdict.value, verdict.value])
        events.append(ev.StageFinished(stage=stage, seconds=1.0, verdict=whole))
    return RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path)


@pytest.mark.parametrize("size", SIZES)
async def test_every_method_has_a_line_at_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=size) as pilot:
        lines = (await polled(pilot)).split("\n")
        signs = [line for line in lines if "▲" in line]
        assert [line.split()[0 if line[0] != "›" else 1] for line in signs] == ["1", "2", "3", "4", "5"]
        assert signs[0].startswith("› 1 ESM ✓") and signs[0].rstrip().endswith("no probing")
        assert all("…" not in line for line in signs[:3])
        (heading,) = [line for line in lines if "difference" in line]
        assert heading.index("difference") == signs[0].index("▲") == signs[4].index("▲")
        assert heading.index("as good") == signs[0].index("no probing")


@pytest.mark.parametrize(
    ("size", "tiles"),
    [((80, 24), 1), ((120, 35), 1), ((121, 35), 1), ((119, 36), 1), ((120, 36), 5), ((200, 60), 5)],
)
async def test_from_120x36_on_every_method_has_its_curve(
    tmp_path: Path, size: tuple[int, int], tiles: int
) -> None:
    """Below, the method under the cursor has."""
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=size) as pilot:
        await polled(pilot)
        shown = [tile for tile in app.screen.query(Card) if tile.display]
        assert len(shown) == tiles and shown[0].method == "ESM"
        assert all(tile.query_one(CurveView).curve is not None for tile in shown)
        assert sum(tile.query_one(CurveView).region.height for tile in shown) > size[1] / 4
        await pilot.press("down")
        await polled(pilot)
        first = next(tile for tile in app.screen.query(Card) if tile.display)
        assert first.method == ("ESM" if tiles == 5 else "Evolution")


async def test_the_tile_goes_with_the_cursor_at_once(tmp_path: Path) -> None:
    """Of a finished run, in which no new event makes the screen draw again."""
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        for key, method in (("down", "Evolution"), ("up", "ESM")):
            await pilot.press(key)
            await pilot.pause()
            assert [tile.method for tile in app.screen.query(Card) if tile.display] == [method]


async def test_a_resized_terminal_shows_what_fits_now(tmp_path: Path) -> None:
    """Also where the run is finished, and no new event makes the screen draw again."""
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        for size, tiles in (((200, 60), 5), ((80, 24), 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause(2 * POLL_SECONDS)
            assert sum(tile.display for tile in app.screen.query(Card)) == tiles


@pytest.mark.parametrize(("size", "down", "tall"), [((120, 36), 3, False), ((200, 60), 2, True)])
async def test_sentences_stand_above_the_curves_where_every_row_has_room(
    tmp_path: Path, size: tuple[int, int], down: int, tall: bool
) -> None:
    """Five tiles, two abreast, are three rows, the last not full; three abreast are two. A row needs 12 lines."""
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=size) as pilot:
        await polled(pilot)
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        assert len({tile.region.y for tile in screen.query(Card)}) == down
        assert (screen.tiles.size.height >= 12 * down) == screen.tiles.has_class("-tall") == tall
        assert not screen.check_action("overview", ()), "one is there"


async def test_a_large_terminal_has_no_empty_half(tmp_path: Path) -> None:
    """At 200x60 three tiles stand side by side in two rows that fill the rest, with the sentences above the curves."""
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(200, 60)) as pilot:
        text = await polled(pilot)
        places = [tile.region for tile in app.screen.query(Card)]
        assert len({place.x for place in places}) == 3 and len({place.y for place in places}) == 2
        assert sum(place.height for place in places[::3]) >= 40
        assert "No probing does as well (96.5%)" in " ".join(text.split())


@pytest.mark.parametrize("size", SIZES)
async def test_enter_opens_the_card_and_there_the_place(tmp_path: Path, size: tuple[int, int]) -> None:
    app = RunApp(OverviewScreen(session_of(tmp_path)))
    async with app.run_test(size=size) as pilot:
        await polled(pilot)
        assert "2025-10-09T08-53-20" in drawn(app) and isinstance(app.screen.focused, LineList)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, CardPanel)
        said = app.screen.query_one(".card-verdict", LazyStatic).content
        assert said == verdict_sentence(VERDICT) and "1 ESM ✓  finished in" in drawn(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        (message,) = app.asked
        assert isinstance(message, SystemRequested) and message.name == "ESM" and message.place is not None
        assert "broken" in message.place.filter and app.screen is app.first


async def test_the_first_line_of_a_card_opens_the_method_and_escape_closes_it(tmp_path: Path) -> None:
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert "3 GFlowNet ✓" in drawn(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.first and not app.asked
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        (message,) = app.asked
        assert isinstance(message, SystemRequested) and (message.name, message.place) == ("GFlowNet", None)


async def test_the_cursor_outlives_lines_that_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they do when another moment of the run is looked at."""
    app = RunApp(screen := OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(120, 36)) as pilot:
        await polled(pilot)
        await pilot.press("down")
        for count, line in ((2, 1), (0, None), (5, 1), (1, 0), (4, 0)):
            monkeypatch.setattr(
                overview, "progress_of", lambda shown, count=count: progress_of(shown)[:count]
            )
            await polled(pilot)
            assert screen.focused is screen.lines and screen.lines.highlighted == line
            assert screen.lines.option_count == count == sum(card.display for card in screen.query(Card))
        await pilot.press("down", "enter")
        await pilot.pause()
        assert isinstance(app.screen, CardPanel) and app.screen._method == "Evolution"


async def test_without_a_verdict_the_logged_figures_speak(tmp_path: Path) -> None:
    """Runs from before stages stated verdicts, and evaluations that still run."""
    app = RunApp(OverviewScreen(session_of(tmp_path, verdict=None)))
    async with app.run_test(size=(200, 60)) as pilot:
        assert "ESM answers" in await polled(pilot)
    entries = session_of(tmp_path, verdict=None)
    running = next(
        number
        for number in range(entries.total_events)
        if isinstance(event := entries._entries[number][0], ev.MethodEvaluated)
        and event.method == "esm"
        and not event.final
    )
    app = RunApp(OverviewScreen(session_of(tmp_path, upto=running + 1)))
    async with app.run_test(size=(200, 60)) as pilot:
        text = await polled(pilot)
        assert "So far: ESM answers" in text and "▶" in text and "; so far greedy" in text


@pytest.mark.parametrize("upto", [0, 40])
async def test_a_log_that_ends_before_its_run_is_told_in_the_line_above(upto: int, tmp_path: Path) -> None:
    """Nothing is waited for where there are no events."""
    session = session_of(tmp_path, upto=upto)
    session.log_is_cut = True
    app = RunApp(OverviewScreen(session))
    async with app.run_test(size=(80, 24)) as pilot:
        lines = [line.strip() for line in (await polled(pilot)).split("\n")]
        assert "The log ends before the run did: figures and rows may be missing." in lines
        assert not any("engine has not listed" in line or "▶" in line for line in lines)


async def test_before_the_first_event_it_says_so(tmp_path: Path) -> None:
    app = RunApp(OverviewScreen(session_of(tmp_path, upto=0)))
    async with app.run_test(size=(80, 24)) as pilot:
        assert "has not listed its stages yet" in await polled(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert app.asked == ["up"]


@pytest.mark.parametrize(
    ("method", "events"),
    [
        ("Evolution", evolution_events),
        ("GFlowNet", gflownet_events),
        ("SLSM", slsm_events),
        ("Pool", pool_events),
    ],
)
async def test_every_highlight_leads_to_a_tab_of_its_screen(method: str, events, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The screens' tabs may be renamed: then this fails, and nobody is led nowhere."""
    from screens.method_screen import screen_of

    session = RecordedSession(write_log(tmp_path / "events.jsonl", list(events())), tmp_path)
    places = page_of(method).overview.highlights(session.state)
    assert places
    screen = screen_of(method, session)
    app = RunApp(screen)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 40)) as pilot:
        for highlight in places:
            screen.open_place(highlight.place)  # type: ignore[attr-defined]
            await pilot.pause()
            shown = screen.shown_name  # type: ignore[attr-defined]
            assert shown == highlight.place.tab and screen.pending_place is None, highlight  # type: ignore[attr-defined]


def test_answers_that_a_note_turned_count_under_the_verdicts_memory_only(tmp_path: Path) -> None:
    """Two kinds of memory answer the same conversations: the verdict is about the first."""
    session = RecordedSession(write_log(tmp_path / "events.jsonl", list(slsm_events())), tmp_path)
    conversations = {row.conversation_id for row in session.state.slsm.results}
    turned = next(
        p.text for p in page_of("SLSM").overview.highlights(session.state) if "turned right" in p.text
    )
    assert turned == f"{len(conversations)} answers that a note turned right (on detection)"


async def test_a_place_in_esm_is_a_filter(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    screen = EsmScreen(session)
    app = RunApp(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await polled(pilot)
        place = next(p.place for p in page_of("ESM").overview.highlights(session.state) if p.place.filter)
        screen.open_place(place)
        await polled(pilot)
        assert place.filter in drawn(app)


async def test_a_screen_is_taken_up_as_it_was_left(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    screen = EsmScreen(session)
    app = RunApp(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await polled(pilot)
        await pilot.press("1", "home", "down", "down")
        await polled(pilot)
        left = screen.view()
    again = EsmScreen(session)
    again.left_view = left
    app = RunApp(again)
    async with app.run_test(size=(120, 40)) as pilot:
        await polled(pilot)
        table = again._table()
        assert again.shown_name == "pairs" and table is not None
        assert (table.cursor, table.follow) == (2, False)


async def test_following_goes_where_the_work_is(tmp_path: Path) -> None:
    """Only while the run is looked at live, and not from the screen that already shows it."""
    events = list(SyntheticRun().events())
    at = next(n for n, event in enumerate(events) if isinstance(event, ev.StageStarted))
    app = RunApp(OverviewScreen(session_of(tmp_path, upto=at + 1)))
    async with app.run_test(size=(120, 40)) as pilot:
        await polled(pilot)
        assert not app.asked
        app.first.action_follow_work()
        await pilot.pause()
        wanted = [message for message in app.asked if isinstance(message, SystemRequested)]
        assert wanted and all((m.name, m.followed) == ("ESM", True) for m in wanted)
        app.first.action_leave_work()
        await pilot.pause()  # what was asked before that may still be on its way
        app.asked.clear()
        app.first.poll()
        await pilot.pause()
        assert not app.asked
        assert app.first.query(Card)


@pytest.mark.parametrize(
    ("stages", "seconds", "words"),
    [
        ({"mine": "", "eval": ""}, 0, "demo/1  0 of 2 stages done"),
        ({"mine": FINISHED, "eval": ""}, 62, "demo/1  1 of 2 stages done in 1:02"),
        ({"mine": FINISHED, "eval": SKIPPED}, 3_700, "demo/1  1 of 2 stages done, 1 skipped in 1:01:40"),
        ({"mine": FINISHED}, 1, "demo/1  1 of 1 stage done in 0:01"),
    ],
)
def test_the_line_above_the_methods(stages: dict[str, str], seconds: int, words: str, tmp_path: Path) -> None:
    events: list[ev.Event] = [
        ev.Header(schema_version=1, name="demo", run_id="1", seed=0, stages=list(stages), time=1_000.0),
        *(ev.StageFinished(stage=name, seconds=1.0) for name, status in stages.items() if status == FINISHED),
        ev.StagesChosen(stale=[], skipped=[name for name, status in stages.items() if status == SKIPPED]),
    ]
    events = [
        msgspec.structs.replace(event, time=1_000.0 + seconds * bool(at)) for at, event in enumerate(events)
    ]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path)
    screen = OverviewScreen(session)
    assert screen._about(list(session.state.stages.values()), 78).plain == words
    empty = OverviewScreen(RecordedSession([], tmp_path))
    assert empty._about([], 78).plain == (
        "The engine has not listed its stages yet: it starts and loads what it needs."
    )


async def test_keys_go_from_line_to_line_and_stop_at_the_ends(tmp_path: Path) -> None:
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        seen = []
        for key in ("j", "down", "k", "G", "down", "up", "home", "up", "end", "g"):
            await pilot.press(key)
            await polled(pilot)
            lines = app.screen.query_one(LineList)
            [line] = [n for n, option in enumerate(lines.options) if str(option.prompt).startswith("› ")]
            assert line == lines.highlighted
            seen.append(str(lines.options[line].prompt).split()[2])
    esm, evolution, gflownet, slsm, pool = "ESM", "Evolution", "GFlowNet", "SLSM", "Pool"
    assert seen == [evolution, gflownet, evolution, pool, pool, slsm, esm, esm, pool, esm]


async def test_a_click_on_a_line_or_a_tile_opens_the_card(tmp_path: Path) -> None:
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(120, 36)) as pilot:
        await polled(pilot)
        opened = []
        for widget, offset in (
            (app.screen.query_one(LineList), (9, 1)),
            (list(app.screen.query(Card))[2], (9, 1)),
        ):
            await pilot.click(widget, offset=offset)
            await pilot.pause()
            assert isinstance(app.screen, CardPanel)
            opened.append(app.screen._method)
            await pilot.press("q")
    assert opened == ["Evolution", "GFlowNet"]


def test_the_line_above_while_the_log_is_read_and_while_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time left stands in a line of its own; the run's name is bold."""
    header = ev.Header(schema_version=1, name="d", run_id="1", seed=0, stages=["mine"])
    session = RecordedSession([(header, 0, 1)], tmp_path)
    screen = OverviewScreen(session)
    stages = list(session.state.stages.values())
    monkeypatch.setattr(overview, "run_time_left", lambda session: TimeLeft(90.0))
    assert parts(screen._about(stages, 78)) == [("d/1", "bold"), ("  0 of 1 stage done\nabout 1:30 left", "")]
    long = RecordedSession([(structs.replace(header, name="n" * 80), 0, 1)], tmp_path)
    [line, _] = OverviewScreen(long)._about(stages, 78).plain.splitlines()
    assert line == "n" * 56 + "…/1  0 of 1 stage done" and len(line) == 78, "the count is never cut off"
    monkeypatch.setattr(RecordedSession, "reading", 0.5)
    assert screen._about([], 78).plain == "The log of the run is being read."


async def test_the_line_above_is_not_wider_than_the_screen(tmp_path: Path) -> None:
    """A sign of room at either side: of 80 columns 78 are left, 22 of them for what stands behind the name."""
    header = ev.Header(schema_version=1, name="n" * 99, run_id="1", seed=0, stages=["mine"])
    app = RunApp(OverviewScreen(RecordedSession([(header, 0, 1)], tmp_path)))
    async with app.run_test(size=(80, 24)) as pilot:
        lines = [line.strip() for line in (await polled(pilot)).splitlines()]
    assert "n" * 56 + "…/1  0 of 1 stage done" in lines


async def test_the_cursor_begins_on_the_method_that_one_came_from(tmp_path: Path) -> None:
    """What is left is the method under the cursor."""
    app = RunApp(screen := OverviewScreen(demo_session(tmp_path), "SLSM"))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        assert (screen.lines.highlighted, screen.view()) == (3, {"method": "SLSM"})
        await pilot.press("down")
        await polled(pilot)
        assert screen.view() == {"method": "Pool"}


async def test_a_tab_that_was_left_is_taken_up_with_its_rows(tmp_path: Path) -> None:
    """In one drawing: of a run that is over there may be no other."""
    screen = EsmScreen(session_of(tmp_path))
    async with RunApp(screen).run_test(size=(120, 40)) as pilot:
        await polled(pilot)
        view = TableView(2, False, (None, False))
        screen.left_view = {"tab": "pairs", "chosen": True, "panes": {"pairs": view}}
        screen.show()
        table = screen._table()
        assert screen.shown_name == "pairs" and table is not None
        assert (len(table.source) > 2, table.cursor, table.follow) == (True, 2, False)


async def test_two_methods_stand_side_by_side_in_a_terminal_for_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has half of it: there is no empty third."""
    monkeypatch.setattr(overview, "progress_of", lambda shown: progress_of(shown)[:2])
    app = RunApp(OverviewScreen(demo_session(tmp_path)))
    async with app.run_test(size=(200, 60)) as pilot:
        await polled(pilot)
        tiles = [tile.region for tile in app.screen.query(Card) if tile.display]
        assert len(tiles) == 2 and tiles[0].y == tiles[1].y and sum(tile.width for tile in tiles) > 190


async def test_the_cursor_in_a_card_stays_when_something_happens(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    app = RunApp(OverviewScreen(session))
    async with app.run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        await pilot.press("enter", "down")
        panel = app.screen
        assert isinstance(panel, CardPanel) and panel._lines.highlighted == 1
        session.seek(session.total_events - 2)
        panel.poll()
        assert panel._lines.highlighted == 1
