"""The evolution screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from engine.events import IterationBegan
from screens.evolution.screen import EvolutionScreen
from screens.panes.cases import CasesPane
from screens.widgets.charts.chart import Chart
from tests.console import drawn
from tests.recorded_session import RecordedSession
from tests.synthetic_evolution import evolution_events, published_events
from tests.synthetic_run import write_log

SMALL, WIDE = (80, 24), (200, 60)


class EvolutionApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(EvolutionScreen(self.session))


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", evolution_events()), tmp_path)


@pytest.fixture
def growing(tmp_path: Path) -> RecordedSession:
    events = evolution_events(finish=False)
    return RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path, upto=28)


async def press(pilot: Pilot[None], *keys: str) -> EvolutionScreen:
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, EvolutionScreen)
    screen.poll()
    await pilot.pause()
    return screen


def iterations(screen: EvolutionScreen) -> CasesPane:
    return screen.query_one("#iterations", CasesPane)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_an_iteration_is_shown_whole(session: RecordedSession, size: tuple[int, int]) -> None:
    """Its scores, the reflector's words, and what it changed."""
    async with EvolutionApp(session).run_test(size=size) as pilot:
        await press(pilot, "g", "down", "down", "enter")
        text = drawn(pilot.app)
        assert "iteration 2" in text and "kept as best" in text
        assert "Cluster 3 pads" in text
        item = session.state.evolution.iterations[2]
        assert item.minibatch is not None and f"{item.minibatch.composite:.3f}" in text


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_every_tab_shows_what_it_is_for(session: RecordedSession, size: tuple[int, int]) -> None:
    """`1` again shows the answers."""
    async with EvolutionApp(session).run_test(size=size) as pilot:
        for key, expected in (("2", "against the unchanged model"), ("3", "scores of the answers"), ("1", "composite"),
                              ("1", "statement-"), ("1", "★ kept as best")):  # fmt: skip
            await press(pilot, key)
            assert expected in drawn(pilot.app), key


async def test_every_tab_explains_its_emptiness(tmp_path: Path) -> None:
    empty = RecordedSession(write_log(tmp_path / "events.jsonl", list(evolution_events())[:3]), tmp_path)
    async with EvolutionApp(empty).run_test(size=SMALL) as pilot:
        await press(pilot)
        for key, expected in (("3", "Nothing has been trained"), ("2", "until then, Cases"), ("1", "No iteration"),
                              ("1", "no answers")):  # fmt: skip
            await press(pilot, key)
            assert expected in drawn(pilot.app)


async def test_the_results_are_shown_with_their_intervals(session: RecordedSession) -> None:
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "2")
        text = " ".join(drawn(pilot.app).split())
        assert "a request for short answers 12.0 −28.0 [−30.5, −25.5]" in text
        assert "a request for short answers 0.800 [0.700, 0.900] −0.100 [−0.200, 0.000] 0.250" in text
        assert "a request for short answers: Answer briefly." in text
        assert "the judge cannot tell on 7 of 30 questions" in text


async def test_it_grows_and_scrubs(growing: RecordedSession) -> None:
    async with EvolutionApp(growing).run_test(size=SMALL) as pilot:
        growing.seek(9)
        screen = await press(pilot)
        assert screen.shown_name == "iterations", "though only the unchanged model has answered yet"
        growing.seek(None)
        screen = await press(pilot)
        assert screen.shown_name == "iterations", "the stage at work"
        before = len(iterations(screen).source)
        growing.grow(40)
        await press(pilot)
        assert len(iterations(screen).source) > before
        growing.seek(10)
        await press(pilot)
        assert len(iterations(screen).source) == 0


async def test_stop_after(growing: RecordedSession) -> None:
    async with EvolutionApp(growing).run_test(size=SMALL) as pilot:
        await press(pilot)
        await pilot.app.screen.run_action("stop_after")
        await pilot.pause()
        assert growing.sent == ["stop_after"]


@pytest.mark.parametrize(
    ("status", "offered"), [("running", True), ("paused", True), ("stopped", False), ("finished", False)]
)
def test_stop_after_needs_a_worker(growing: RecordedSession, status: str, offered: bool) -> None:
    """Also one that is paused."""
    growing.state.status = status
    assert EvolutionScreen(growing).check_action("stop_after", ()) is offered


async def test_forty_columns_get_a_notice(session: RecordedSession) -> None:
    async with EvolutionApp(session).run_test(size=(40, 24)) as pilot:
        await pilot.pause()
        assert "columns are too few" in drawn(pilot.app)


async def test_from_an_iteration_to_its_answers_and_back(session: RecordedSession) -> None:
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot, "g", "down", "enter", "enter", "enter")
        assert screen.shown_name == "answers"
        table = screen._table()
        assert table is not None and table.source.cells(table.cursor)[0].text == "1"
        assert table.cursor == 0 or table.source.cells(table.cursor - 1)[0].text != "1"
        screen = await press(pilot, "backspace")
        assert screen.shown_name == "iterations" and iterations(screen).has_class("-open")


async def test_a_chart_fills_the_screen(session: RecordedSession) -> None:
    """All of the tab on a low terminal, where the tab shows the first; `z`, `esc` and another tab lead back."""
    async with EvolutionApp(session).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "3")
        first, second = screen.pane.query(Chart)
        assert first.size.height == 9 and not second.display
        for back in ("z", "escape", "1"):
            await press(pilot, "3", "z")
            assert (first.size, second.size) == ((78, 11), (78, 12))
            text = drawn(pilot.app)
            assert "scores of the answers, 0 to 1" in text and "length of an answer, tokens" in text
            assert "z Chart" in text.splitlines()[-1] and "ESM" not in text
            screen = await press(pilot, back)
            assert screen.maximized is None and (back == "1" or first.size.height == 9)
        assert screen.shown_name != "training"


async def test_a_finished_run_opens_on_its_best_iteration_and_tells_its_gain(
    session: RecordedSession,
) -> None:
    """What it gained over the best before it, and the reply that its deltas come from."""
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot, "escape")
        best = session.state.evolution.best
        row = iterations(screen).under_cursor()
        assert best is not None and row is not None and row == best
        gain = session.state.evolution.gain(best.iteration)
        assert gain is not None and best.validation is not None
        text = " ".join(drawn(pilot.app).split())
        assert f"▲ +{best.validation.composite - gain[0]:.3f} composite on the validation set" in text
        assert f"why these the reply to iteration {best.iteration - 1}: Cluster 3 pads." in text


async def test_looking_back_in_a_finished_run_follows_its_iterations(session: RecordedSession) -> None:
    """The cursor that nobody moved goes to the newest iteration of that moment."""
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot, "escape")
        began = [at for at, (event, *_) in enumerate(session._entries) if isinstance(event, IterationBegan)]
        session.seek(began[1])
        await press(pilot)
        assert iterations(screen).table.follow and iterations(screen).table.cursor == 1


async def test_as_published_the_minibatch_decides_and_nothing_else_is_shown_as_measured(
    tmp_path: Path,
) -> None:
    """One may be there for the baselines' settings: composites of other questions are no gain."""
    events = write_log(tmp_path / "events.jsonl", published_events(baseline=True))
    async with EvolutionApp(RecordedSession(events, tmp_path)).run_test(size=WIDE) as pilot:
        await press(pilot, "g", "down")
        text = " ".join(drawn(pilot.app).split())
        assert "★ iteration 1 is the best by its minibatch: 0.800 │" in text and "no deltas" not in text
        assert "not tried on the validation set" not in text and "test set" not in text
        await press(pilot, "3")
        assert "no deltas" not in drawn(pilot.app)
