"""The GFlowNet screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from textual.app import App
from textual.pilot import Pilot

from app.methods.place import Place
from engine import events as ev
from screens.method_screen import MethodScreen
from tests.recorded_session import RecordedSession
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_run import write_log

SMALL, WIDE = (80, 24), (200, 60)
each_size = pytest.mark.parametrize("size", [SMALL, WIDE])


class GFlowNetApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.method_screen = MethodScreen(session, "GFlowNet")

    def on_mount(self) -> None:
        self.push_screen(self.method_screen)


def recorded(tmp_path: Path, *events: ev.Event, upto: int | None = None) -> RecordedSession:
    log = write_log(tmp_path / "events.jsonl", iter(events or gflownet_events()))
    return RecordedSession(log, tmp_path, upto)


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return recorded(tmp_path)


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press, let the screen draw, and give it as text."""
    await pilot.press(*keys)
    await pilot.pause()
    if isinstance(screen := pilot.app.screen, MethodScreen):
        screen.poll()
    await pilot.pause()
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


@each_size
async def test_a_finished_run_opens_on_an_answer(session: RecordedSession, size: tuple[int, int]) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot)
        assert "1 Cases 3   2 Results   3 Training" in text
        assert "3 questions  │  ▲ 3 right from paths only, ▼ 0 from triples only" in text
        assert "from sampled paths            ✓ Sella   5 triples, 58 tokens" in text
        assert "from the best-scored triples  ✗ unknown" in text


@each_size
async def test_a_question_is_shown_with_its_paths(session: RecordedSession, size: tuple[int, int]) -> None:
    """Frequency, probability, reward, answers, edges of shortest paths, and the prompt."""
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "g", "enter")
        assert "20 independent draws from P_F" in text
        assert "━━━━━━━━──     16  0.790  1.000" in text and "1 Vordania ━capital━▶ Ostrel" in text
        assert "Question:⏎" in await press(pilot, "end")
        text = await press(pilot, "escape", "G", "enter")
        assert "3 paths drawn without replacement from P_F" in text


@each_size
async def test_results_say_the_answers_first(session: RecordedSession, size: tuple[int, int]) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "2")
        assert "Answers of the reader, against triples" in text and "sampled paths" in text
        assert "[+0.400, +1.000]" in text
        if size == WIDE:
            assert "answers that the first K paths meet, share" in text
            assert "independent draws (GFlowNet)" in text
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen)
        await press(pilot, "tab", "enter")
        assert screen.shown_name == "questions"


@each_size
async def test_the_training_is_charted(session: RecordedSession, size: tuple[int, int]) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "3")
        assert "step 200 of 200" in text and "loss" in text
        assert ("residual δ and log Z, nats" in text) == (size == WIDE)
        assert "answer out of reach 3" in await press(pilot, "end")


async def test_the_step_whose_weights_are_kept_is_marked(tmp_path: Path) -> None:
    """The last of the evaluations on validation that were the best so far: after step 100, 0.6 of its paths meet an
    answer."""

    def judged(event: ev.Event) -> ev.Event:
        looked = isinstance(event, ev.SamplerEvaluated) and event.split == "validation"
        return msgspec.structs.replace(event, best=event.step <= 100) if looked else event  # type: ignore[attr-defined]

    async with GFlowNetApp(recorded(tmp_path, *map(judged, gflownet_events()))).run_test(size=WIDE) as pilot:
        text = await press(pilot, "3")
        assert (
            "★ best on validation, kept: step 100, 0.600 of its paths meet an answer" in text
            and "★ best 0.600" in text
        )


async def test_a_run_that_kept_its_last_weights_marks_no_step(session: RecordedSession) -> None:
    async with GFlowNetApp(session).run_test(size=WIDE) as pilot:
        text = await press(pilot, "3")
        assert "★ best 0" not in text and "kept: step" not in text


async def test_an_empty_run_says_what_will_come(tmp_path: Path) -> None:
    async with GFlowNetApp(recorded(tmp_path, *list(gflownet_events())[:2])).run_test(size=SMALL) as pilot:
        assert "No paths have been sampled" in await press(pilot)
        assert "The results appear here" in await press(pilot, "2")
        assert "Nothing has been trained" in await press(pilot, "3")


async def test_a_run_without_answers_opens_on_a_missed_question(tmp_path: Path) -> None:
    events = [event for event in gflownet_events() if event.stage != "answer"]
    at = [number for number, event in enumerate(events) if isinstance(event, ev.QuestionSampled)][1]
    stopped = [msgspec.structs.replace(path, answers=[]) for path in events[at].paths]  # type: ignore[attr-defined]
    events[at] = msgspec.structs.replace(events[at], paths=stopped)
    async with GFlowNetApp(recorded(tmp_path, *events)).run_test(size=WIDE) as pilot:
        text = await press(pilot)
        assert "3 questions  │  1 whose paths meet no answer" in text
        assert "✗ none of 3 paths meets an answer" in text and "Mara Quint" in text


async def test_the_stage_is_followed(tmp_path: Path) -> None:
    """While the sampler is trained its training is shown; the questions when the reader answers."""
    events = list(gflownet_events(finish=False))
    began = msgspec.structs.replace(
        next(event for event in events if isinstance(event, ev.StageStarted)), stage="answer"
    )
    session = recorded(
        tmp_path, *events, ev.StageFinished(seconds=1.0, stage="gflownet"), began, upto=len(events)
    )
    async with GFlowNetApp(session).run_test(size=SMALL) as pilot:
        await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen) and screen.shown_name == "training"
        session.grow(2)
        await press(pilot)
        assert screen.shown_name == "questions"


async def test_the_place_of_an_event_is_opened(session: RecordedSession) -> None:
    async with GFlowNetApp(session).run_test(size=SMALL) as pilot:
        await press(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MethodScreen)
        screen.open_place(Place("questions", 2, open=True))
        text = await press(pilot)
        assert "test-2" in text and "✓ tin" in text
