"""The evolution screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from textual import on
from textual.app import App
from textual.pilot import Pilot

from engine.events import IterationBegan, IterationFinished
from screens.evolution.branch import branch_question, total
from screens.evolution.screen import EvolutionScreen
from screens.messages import BranchRequested
from screens.panels.ask import AskScreen
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
        self.branches: list[BranchRequested] = []

    def on_mount(self) -> None:
        self.push_screen(EvolutionScreen(self.session))

    @on(BranchRequested)
    def _branch(self, message: BranchRequested) -> None:
        self.branches.append(message)


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


async def test_the_results_are_shown_with_what_they_say(session: RecordedSession) -> None:
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        await press(pilot, "2")
        text = " ".join(drawn(pilot.app).split())
        assert "On the test set the evolved deltas are ahead of every baseline, within the error." in text
        assert "a request for short answers 12.0 −28.0 [−30.5, −25.5]" in text
        assert "a request for short answers 0.800 [0.700, 0.900] −0.100 [−0.200, 0.000] 0.250" in text
        assert "a request for short answers: Answer briefly." in text
        assert "names 10 0% · · · · ·" in text and "the judge cannot tell on 7 of 30 questions" in text


async def test_it_grows_and_scrubs(growing: RecordedSession) -> None:
    async with EvolutionApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot)
        assert screen.shown_name == "iterations", "the stage at work"
        before = len(screen.iterations.source)
        growing.grow(40)
        await press(pilot)
        assert len(screen.iterations.source) > before
        growing.seek(10)
        await press(pilot)
        assert len(screen.iterations.source) == 0


async def test_branch_and_stop_after(growing: RecordedSession, session: RecordedSession) -> None:
    app = EvolutionApp(session)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("g", "down", "b")
        assert isinstance(app.screen, AskScreen) and app.branches == []
        await pilot.press("escape", "b", "ctrl+u", "x", "enter")
        assert isinstance(app.screen, AskScreen) and "A whole number" in str(app.screen.message.content)
        await pilot.press("ctrl+u", "4")
        await pilot.pause()
        assert "copies iterations 0 to 1" in str(app.screen.message.content)
        assert "4 new iterations (2 to 5)" in str(app.screen.message.content)
        await press(pilot, "enter")
        assert [(message.iteration, message.iterations) for message in app.branches] == [(1, 6)]
    async with EvolutionApp(growing).run_test(size=SMALL) as pilot:
        await pilot.app.screen.run_action("stop_after")
        await pilot.pause()
        assert growing.sent == ["stop_after"]


def test_branch_never_leads_into_nothing() -> None:
    """From the last iteration, as many new ones as the run had; else as many as are left."""
    assert branch_question("demo", 9, 10)._value == "10" and branch_question("demo", 3, 10)._value == "6"
    assert branch_question("demo", 0, 0)._value == "1"
    assert "iterations (10 to 19)" in branch_question("demo", 9, 10)._describe("10")


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
        assert screen.shown_name == "iterations" and screen.iterations.has_class("-open")


async def test_a_chart_fills_the_screen(session: RecordedSession) -> None:
    """z and back; the crosshair has the values, tab leads to the next chart."""
    from screens.panels.chart_screen import ChartScreen

    async with EvolutionApp(session).run_test(size=SMALL) as pilot:
        await press(pilot, "3")
        await pilot.press("z")
        await pilot.pause()
        chart = pilot.app.screen
        assert isinstance(chart, ChartScreen)
        await pilot.press("right", "right")
        await pilot.pause()
        item = session.state.evolution.iterations[1]
        assert item.minibatch is not None
        assert f"iteration 1   ● composite {item.minibatch.composite:.3f}" in drawn(pilot.app)
        await pilot.press("tab")
        await pilot.pause()
        assert "length of an answer, tokens" in drawn(pilot.app)
        await press(pilot, "z")


async def test_a_finished_run_opens_on_its_best_iteration_and_tells_its_gain(
    session: RecordedSession,
) -> None:
    """What it gained over the best before it, and the reply that its deltas come from."""
    async with EvolutionApp(session).run_test(size=WIDE) as pilot:
        screen = await press(pilot, "escape")
        best = session.state.evolution.best
        row = screen.iterations.under_cursor()
        assert best is not None and row is not None and row.item == best
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
        assert screen.iterations.table.follow and screen.iterations.table.cursor == 1


async def test_what_is_not_under_the_cursor_cannot_be_branched(growing: RecordedSession) -> None:
    """Nor are there branches outside the table of iterations."""
    async with EvolutionApp(growing).run_test(size=SMALL) as pilot:
        screen = await press(pilot, "G", "b")
        assert isinstance(pilot.app.screen, EvolutionScreen) and screen.check_action("branch", ()) is True
        await press(pilot, "1")
        assert screen.check_action("branch", ()) is False and screen.check_action("stop_after", ()) is True


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


async def test_an_iteration_that_was_taken_over_can_be_branched(tmp_path: Path) -> None:
    """It has no end of its own in this log."""
    events = [event for event in evolution_events() if not isinstance(event, IterationFinished)]
    inherited = [
        msgspec.structs.replace(event, inherited="demo/1")
        if isinstance(event, IterationBegan) and event.iteration == 0
        else event
        for event in events
    ]
    app = EvolutionApp(RecordedSession(write_log(tmp_path / "events.jsonl", inherited), tmp_path))
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "g", "down", "b")
        assert isinstance(app.screen, EvolutionScreen), "this one is neither finished nor taken over"
        await pilot.press("g", "b")
        assert isinstance(app.screen, AskScreen)


@pytest.mark.parametrize(
    ("iteration", "planned", "begins", "text", "copied", "new"),
    [
        (0, 6, "5", "1", "iteration 0", "1 new iteration (1)"),
        (2, 6, "3", " 3 ", "iterations 0 to 2", "3 new iterations (3 to 5)"),
        (5, 6, "6", "10000", "iterations 0 to 5", "10,000 new iterations (6 to 10005)"),
        (3, 0, "1", "2", "iterations 0 to 3", "2 new iterations (4 to 5)"),
    ],
)
def test_the_question_before_a_branch(
    iteration: int, planned: int, begins: str, text: str, copied: str, new: str
) -> None:
    """As many as are left, or as many as there were; one where nobody knows."""
    question = branch_question("demo/1", iteration, planned)
    assert (question._heading, question._value) == (f"Branch from iteration {iteration}", begins)
    assert question._describe(text) == (
        f"Starts a new run beside demo/1. It copies {copied}, takes the deltas of iteration {iteration}, and runs "
        f"{new}. demo/1 is not changed.\n\nenter starts it and shows it; esc then leads back here."
    )
    assert total(text, iteration) == iteration + 1 + int(text)
    for wrong in ("", "0", "10001", "-1", "two", "1.5", "٣"):
        with pytest.raises(ValueError, match=r"How many new iterations\? A whole number from 1 to 10,000\."):
            question._describe(wrong)
