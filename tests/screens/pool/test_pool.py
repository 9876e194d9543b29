"""The pool screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot

from app.blocks.block import Target
from app.blocks.terminal import draw
from app.methods.place import Place
from app.methods.pool.candidates import pool_blocks
from app.methods.pool.results import accuracy_curves
from app.state.pool import PoolState
from app.state.run import RunState
from engine import events as ev
from screens.method_screen import MethodScreen
from screens.panes.blocks import BlocksPane
from screens.panes.cases import CasesPane
from screens.widgets.charts.chart import Chart
from screens.widgets.tab_line import TabLine
from screens.widgets.tables.virtual_table import VirtualTable
from tests.console import drawn
from tests.recorded_session import RecordedSession
from tests.synthetic_pool import improved, pool_events
from tests.synthetic_run import write_log

SMALL, WIDE = (80, 24), (200, 60)
QUERIES = ("1",)
"""From the picks, which are shown first, to the queries."""
each_size = pytest.mark.parametrize("size", [SMALL, WIDE])


class PoolApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(MethodScreen(self.session, "Pool"))


def recorded(tmp_path: Path, **options: bool) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", pool_events(**options)), tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return recorded(tmp_path)


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press, let the screen draw, and give it as text."""
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, MethodScreen)
    screen.poll()
    await pilot.pause()
    return drawn(pilot.app)


async def scrolled(pilot: Pilot[None], *keys: str) -> str:
    """All that an opened detail shows, page by page."""
    text = await press(pilot, *keys)
    for _ in range(8):
        text += "\n" + await press(pilot, "pagedown")
    return text


@each_size
async def test_queries_are_listed_with_what_became_of_them(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    async with PoolApp(session).run_test(size=size) as pilot:
        rows = {line[2:12]: line[14:] for line in (await press(pilot, *QUERIES, "g")).splitlines()}
        assert rows["train-0000"].split()[:8] == ["0.30", "→", "1.00", "▲", "0", "→", "1", "2"]
        assert "2/6" in rows["train-0000"] and "0/0" in rows["train-0001"]
        assert rows["train-0001"].split()[3:7] == ["3", "→", "3", "0"]
        assert "!" in rows["train-0002"] and "!" not in rows["train-0000"][:50]


@each_size
async def test_a_pool_is_shown_whole(session: RecordedSession, size: tuple[int, int]) -> None:
    """New candidates, the ones pointed to, those that went, and why each trajectory was kept or not."""
    async with PoolApp(session).run_test(size=size) as pilot:
        text = await scrolled(pilot, *QUERIES, "g", "enter")
        assert "+•100" in text and "+•101" in text and " •0 " in text and "  63" in text
        assert "7 → 100" in text and "24 → 101" in text
        assert 'people answered 9× "7", 1× "1"' in text and "pool 70 → 64   6 removed   0 added" in text
        assert "6 pairs asked, 1 failed" in text and "2 dropped, trajectory: same pair as another" in text
        for line in (
            ("◐ 0.30", "0 1", "kept", "beam"),
            ("✗ 0.00", "0 24°", "beam"),
            ("✓ 1.00", "100 101", "kept 2×", "higher maximum", "7"),
            ("◐ 0.60", "101 1", "reserve", "no improvement"),
            ("✗ 0.00", "130° 1", "wrong, and not"),
            ("–", "5 6", "never scored"),
        ):
            found = [row for row in text.splitlines() if all(part in row for part in line)]
            assert found, line


async def test_the_pool_is_a_grid_of_rows(session: RecordedSession) -> None:
    async with PoolApp(session).run_test(size=SMALL) as pilot:
        text = await press(pilot, *QUERIES, "g", "down", "enter")
        lines = [line for line in text.splitlines() if line.strip().startswith(("0 ", "8 ", "16 "))]
        assert len(lines) == 3 and "•0" in lines[0] and "15" in lines[1]
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot, *QUERIES, "g")
        assert "+•100" in text and "similarity 0.915" in text


@pytest.mark.parametrize(("width", "first"), [(57, 0), (57, 30_000), (77, 500_000), (76, 9_000_000)])
def test_every_row_is_legible(width: int, first: int) -> None:
    """However long the numbers of a table's rows are, each stands whole within the width."""
    event = improved()
    pool = [first + row for row in event.pool_after]
    event = msgspec.structs.replace(
        event, pool_before=[first + row for row in event.pool_before], pool_after=pool
    )
    console = Console(width=width, file=io.StringIO(), record=True)
    palette = {name: Style.null() for name in ("dim", "strong", "accent", "heading")}
    console.print(draw(pool_blocks(event), palette, width))
    text = console.export_text()
    words = text.replace("+", " ").replace("•", " ").split()
    assert all(str(row) in words for row in pool)
    assert all(len(line) <= width for line in text.splitlines())


@each_size
async def test_results(session: RecordedSession, size: tuple[int, int]) -> None:
    """The methods on the held-out queries, the pools' best pairs, the warnings."""
    async with PoolApp(session).run_test(size=size) as pilot:
        text = await scrolled(pilot, "2")
        for shown in ("Best known pair of a pool, 3 queries", "after injection", "0.867", "[0.208, 0.939]",
                      "1 query with a warning", "0.900", "+0.090", "[+0.040, +0.140]", "random pairs",
                      "similarity (RICES)"):  # fmt: skip
            assert shown in text, shown


async def test_the_tables_of_a_page_are_files_named_by_their_titles(
    session: RecordedSession, tmp_path: Path
) -> None:
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "2", "e")
        await pilot.app.workers.wait_for_complete()
    files = {path.name[:-20]: path.read_text().splitlines() for path in (tmp_path / "exports").glob("*.csv")}
    assert {"demonstrations-picked", "best-known-pair-of-a-pool"} <= set(files)
    assert files["best-known-pair-of-a-pool"][:2] == [
        "oracle@64,mean,fully right,share,95%", 'original data,0.633,1/3,0.333,"[0.061, 0.792]"',
    ]  # fmt: skip


@each_size
async def test_the_training_of_the_selector(session: RecordedSession, size: tuple[int, int]) -> None:
    async with PoolApp(session).run_test(size=size) as pilot:
        text = await scrolled(pilot, "3")
        assert "policy gradient" in text and "accuracy on held-out queries" in text and "selector" in text


@each_size
async def test_picks_of_every_method(session: RecordedSession, size: tuple[int, int]) -> None:
    async with PoolApp(session).run_test(size=size) as pilot:
        rows = {line[2:14]: line for line in (await press(pilot, "g")).splitlines()}
        assert "▲" in rows["heldout-0000"] and "▼" in rows["heldout-0001"]
        text = await scrolled(pilot, "enter")
        for shown in ("4, 5", "0.169", "similarity (RICES)", "✗ 0.00  4", "12, 13"):
            assert shown in text, shown


async def test_from_a_count_to_the_first_pick_it_counts_and_back(session: RecordedSession) -> None:
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "2")
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen) and isinstance(screen.pane, BlocksPane)
        links = [link.target for link in screen.pane.page.links()]
        assert [(link.kind, link.name) for link in links][:2] == [
            ("better", "selector"),
            ("worse", "selector"),
        ]
        text = await press(pilot, "tab", "tab", "enter")
        assert screen.shown_name == "picks" and "heldout-0001" in text
        await press(pilot, "backspace")
        assert screen.shown_name == "results"


async def test_every_tab_explains_its_emptiness(tmp_path: Path) -> None:
    events = list(pool_events())[:2]
    empty = RecordedSession(write_log(tmp_path / "events.jsonl", iter(events)), tmp_path)
    results = "The results appear here when they are measured; until then, Cases shows each case as it comes."
    words = {"1": "No query is finished", "2": results, "3": "Nothing has been trained"}
    async with PoolApp(empty).run_test(size=SMALL) as pilot:
        assert "There are no picks" in await press(pilot)
        for key, expected in words.items():
            assert expected in " ".join((await press(pilot, key)).split())


async def test_it_grows_and_scrubs(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    growing = RecordedSession(entries, tmp_path, upto=4)
    async with PoolApp(growing).run_test(size=SMALL) as pilot:
        await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen)
        assert screen.shown_name == "queries" and screen.tabs._counts["cases"] == "1"
        growing.grow(len(entries))
        await press(pilot)
        assert screen.tabs._counts["cases"] == "3"
        growing.seek(3)
        await press(pilot)
        assert screen.tabs._counts["cases"] == "1"


async def test_a_log_that_cannot_be_read_is_told(
    session: RecordedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(offset: int, length: int) -> ev.Event:
        raise OSError("the log is gone")

    monkeypatch.setattr(session, "read", gone)
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        for kind in ("1", "1"):
            assert "the log is gone" in await press(pilot, kind, "g")


def test_what_is_told_twice_counts_once(tmp_path: Path) -> None:
    """A worker that was killed between telling a query and keeping it tells it again."""
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    state = RunState()
    for entry in [*entries[:4], entries[3], *entries[4:], *entries[-3:-1]]:
        state.apply(*entry)
    once: PoolState = state.pool
    assert len(once.queries) == 3 and len(once.picks) == 2
    assert once.totals is not None and once.totals.injected == 3


def test_a_copy_is_not_touched_by_what_follows(tmp_path: Path) -> None:
    entries = write_log(tmp_path / "events.jsonl", pool_events())
    state = RunState()
    for entry in entries[:3]:
        state.apply(*entry)
    early = state.share()
    for entry in entries[3:]:
        state.apply(*entry)
    assert not len(early.pool.queries) and not early.pool.compared and early.pool.totals is None
    for entry in entries[3:]:
        early.apply(*entry)
    assert list(early.pool.queries) == list(state.pool.queries)


def test_a_pick_the_model_failed_on_is_no_zero() -> None:
    state = RunState()
    picks = [
        ev.SelectorPick(method="selector", pointer=[0, 1], pair=[0, 1], answer="", score=None),
        ev.SelectorPick(method="random", pointer=[0, 1], pair=[0, 1], answer="", score=None),
        ev.SelectorPick(method="random", pointer=[1, 0], pair=[1, 0], answer="7", score=0.5),
    ]
    state.apply(ev.SelectorPicked(query_id="q", question="", answers={}, pool=[0, 1], picks=picks))
    (row,) = state.pool.picks
    assert row.selector is None and row.rices is None and row.random == 0.5


@each_size
async def test_a_query_tells_which_pair_was_committed_and_what_it_improved(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    async with PoolApp(session).run_test(size=size) as pilot:
        text = await press(pilot, *QUERIES, "enter")
        assert "committed 100 + 101  ✓ 1.00 answered 7  ▲ best before 0.30" in text
        assert "committed 1 + 100  ◐ 0.60 answered 1  a new score; best before 1.00" in text


def test_baselines_lie_at_their_accuracy_on_the_held_out_chart() -> None:
    """The mean VQA accuracy, which the table shows, too: not the share of answers that are fully right."""
    state = RunState()
    step = ev.SelectorStep(
        step=50, steps=300, phase="policy_gradient", loss=1.0, expected_score=0.5, gradient_norm=1.0, pairs=8,
        heldout_accuracy=0.75,
    )  # fmt: skip
    rices = ev.SelectorCompared(
        method="rices",
        n=10,
        accuracy=0.625,
        low=0.5,
        high=0.7,
        asked=10,
    )
    for offset, event in enumerate((step, rices)):
        state.apply(event, offset, 1)
    selector, baseline = accuracy_curves(state)
    assert (list(selector.x), list(selector.y)) == ([50], [0.75])
    assert (baseline.label, list(baseline.x), list(baseline.y)) == ("similarity", [0, 300], [0.625, 0.625])


async def test_clicks_and_keys_lead_to_tabs_kinds_and_charts(session: RecordedSession) -> None:
    """`1` goes round the kinds, a click to one; a click on a chart fills the screen with that one."""
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen)
        tabs, kinds = screen.query(TabLine)
        seen: list[tuple[str, int, int, bool]] = []

        async def look() -> None:
            await press(pilot)
            seen.append((screen.shown_name, tabs.active, kinds.active, kinds.has_class("-away")))

        for key in ("1", "1", "1", "2", "3", "4", "1"):
            await press(pilot, key)
            await look()
        clicks = ((tabs, "Training"), (tabs, "Cases"), (kinds, "Picks"), (tabs, "Cases"), (tabs, "Results"))
        for line, word in (*clicks, (tabs, "Training")):
            await pilot.click(line, offset=(line.render().plain.index(word) + 2, 0))
            await look()
        chart = list(screen.pane.query(Chart))[-1]
        await pilot.click(chart)
        await pilot.pause()
        assert screen.maximized is chart and chart.outer_size == (WIDE[0], WIDE[1] - 1)
        await pilot.click(chart)
        await pilot.pause()
        assert screen.maximized is None
        assert not screen.action_named("nowhere") and screen.shown_name == "training"
        assert screen.look_at(Place("nowhere")), "there is nothing to wait for"
    queries, picks, results, training = (
        ("queries", 0, 1, False), ("picks", 0, 0, False), ("results", 1, 1, True), ("training", 2, 1, True)
    )  # fmt: skip
    assert seen == [
        queries, picks, queries, results, training, training, queries,
        training, queries, picks, queries, results, training,
    ]  # fmt: skip


async def test_what_cannot_be_done_is_told(tmp_path: Path) -> None:
    """Without a row, a chart or an id there is nothing to mark, copy, write or follow."""
    empty = RecordedSession(write_log(tmp_path / "events.jsonl", pool_events())[:1], tmp_path)
    async with PoolApp(empty).run_test(size=WIDE) as pilot:
        await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen)
        assert screen.noted_offset() is None and not screen.check_action("mark_item", ())
        screen.action_mark_item()
        screen.action_copy()
        screen.action_export()
        screen.action_what_if()
        screen.follow(Target("query", "q9"))
        screen.action_named("training")
        screen.action_enlarge()
        await pilot.pause()
        told = [note.message for note in pilot.app._notifications]
        assert pilot.app.screen is screen
    assert told == [
        "This row is not in the log: it cannot be marked. Press ; for a note on the run.",
        "This tab has no row to copy.",
        "This tab has no rows to export.",
        "No case is shown.",
        "There is no query q9 at this moment of the run.",
        "There is nothing to draw yet.",
    ]


async def test_the_line_under_the_table(session: RecordedSession) -> None:
    """How many there are, what is looked for, how it is sorted, whether it follows, and what a column means."""
    async with PoolApp(session).run_test(size=WIDE) as pilot:
        said = []
        for keys in ("", "1", "g", "right", "s", "s", "s f", "find", "escape"):
            if keys == "find":
                pilot.app.screen.query_one("#queries VirtualTable", VirtualTable).look_for(["0002"])
            else:
                await pilot.press(*keys.split())
            await press(pilot)
            screen = pilot.app.screen
            assert isinstance(screen, MethodScreen)
            pane = screen.pane
            assert isinstance(pane, CasesPane)
            said.append(str(pane.line.content))
    about = "3 queries  │  1 improved ▲"
    assert said == [
        "2 picks  │  ← → explain a column",
        f"{about}  │  ← → explain a column",
        f"{about}  │  ← → explain a column",
        about,
        f"{about}  │  sorted by query ↑",
        f"{about}  │  sorted by query ↓",
        about,
        f"{about}  │  find 0002: n next, esc ends",
        about,
    ]
