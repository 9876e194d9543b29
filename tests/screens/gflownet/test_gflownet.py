"""The GFlowNet screen over a recorded run, driven by keys, at the smallest and a wide size."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from screens.gflownet.screen import GFlowNetScreen
from textual.app import App
from textual.pilot import Pilot

from engine import events as ev
from tests.recorded_session import RecordedSession
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_run import write_log

SMALL, WIDE = (80, 24), (200, 60)
each_size = pytest.mark.parametrize("size", [SMALL, WIDE])


class GFlowNetApp(App[None]):
    """Just the screen."""

    def __init__(self, session: RecordedSession) -> None:
        super().__init__()
        self.session = session

    def on_mount(self) -> None:
        self.push_screen(GFlowNetScreen(self.session))


@pytest.fixture
def session(tmp_path: Path) -> RecordedSession:
    return RecordedSession(write_log(tmp_path / "events.jsonl", gflownet_events()), tmp_path)


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Press, let the screen draw, and give it as text."""
    await pilot.press(*keys)
    await pilot.pause()
    screen = pilot.app.screen
    if isinstance(screen, GFlowNetScreen):
        screen.poll()
    await pilot.pause()
    return drawn(pilot.app)


def drawn(app: App[None]) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@each_size
async def test_a_training_step_is_shown_whole(session: RecordedSession, size: tuple[int, int]) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "2", "g", "enter")
        assert "step 10 of 200" in text
        assert "δ 5%" in text and "retriever prior α" in text
        # the backward head's losses: 1.5 e^-0.15 and so on; what does not learn has no such rows
        for row in (
            "−log P_B of the walks 1.2911",
            "−entropy, weighted −0.0011",
            "entropy of P_B, nats 1.144",
        ):
            assert row in " ".join(text.split()), row


@each_size
async def test_the_step_whose_weights_are_kept_is_marked(tmp_path: Path, size: tuple[int, int]) -> None:
    """The last of the evaluations on validation that were the best so far: after step 100, with a success of 0.6."""

    def judged(event: ev.Event) -> ev.Event:
        looked = isinstance(event, ev.SamplerEvaluated) and event.split == "validation"
        return msgspec.structs.replace(event, best=event.step <= 100) if looked else event  # type: ignore[attr-defined]

    log = write_log(tmp_path / "events.jsonl", map(judged, gflownet_events()))
    session = RecordedSession(log, tmp_path)
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "2")
        assert (text.count("★") > text.count("★ best on validation")) == (size == WIDE), (
            "a point of the chart"
        )
        kept = session.state.gflownet.kept
        assert kept is not None and kept.step == 100
        text = await press(pilot, "g", "enter")
        for _ in range(12 if size == SMALL else 0):
            text += await press(pilot, "down")
        assert "★ best on validation: step 100, success 0.600" in text


async def test_a_run_that_kept_its_last_weights_marks_no_step(session: RecordedSession) -> None:
    async with GFlowNetApp(session).run_test(size=WIDE) as pilot:
        assert "★" not in await press(pilot, "2") + await press(pilot, "g", "enter")
        assert session.state.gflownet.kept is None


@each_size
async def test_a_question_is_shown_with_its_paths(session: RecordedSession, size: tuple[int, int]) -> None:
    """Frequency, probability, reward, answers, edges of shortest paths, and the prompt."""
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "3", "g", "enter")
        assert "×16" in text and "P_F 0.790" in text and "R 1.000" in text
        assert "✓ Sella" in text and "━capital━▶" in text and "STOP at once" in text
        await press(pilot, "G")
        assert "what the language model gets" in drawn(pilot.app)


@each_size
async def test_paths_say_how_they_were_drawn(session: RecordedSession, size: tuple[int, int]) -> None:
    """Independent samples have a frequency, distinct paths have none."""
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "3", "g", "enter")
        assert "20 independent samples of P_F" in text and "×16" in text
        text = await press(pilot, "escape", "G", "enter")
        assert "3 paths drawn without replacement from P_F" in text and "×" not in text


@each_size
async def test_a_method_tells_its_settings_and_its_distance_from_r(
    session: RecordedSession, size: tuple[int, int]
) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "4", "g", "down", "enter")
        assert "temperature 1, chosen on validation" in text
        text = await press(pilot, "escape", "up", "enter")
        assert "each path drawn for itself: the figures of the overview" in " ".join(text.split())
        assert "total variation from R: over the 98 questions whose paths can all be listed" in text


@each_size
async def test_methods_stand_side_by_side(session: RecordedSession, size: tuple[int, int]) -> None:
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "4")
        for method in ("independent draws", "distinct paths", "greedy", "beam", "prior"):
            assert method in text
        assert "0.870" in text  # success@1 of the sampler


@each_size
async def test_data_and_answers_are_shown(session: RecordedSession, size: tuple[int, int]) -> None:
    """What was kept and dropped of each split; then both kinds of evidence for a question."""
    async with GFlowNetApp(session).run_test(size=size) as pilot:
        text = await press(pilot, "1") + await press(pilot, "end")
        assert "answer out of reach 3" in text and "recall@10" in text and "0.870" in text
        text = await press(pilot, "5", "g", "enter")
        assert "from sampled paths" in text and "from the best-scored triples" in text and "Sella" in text


async def test_an_empty_run_says_what_will_come(tmp_path: Path) -> None:
    events = list(gflownet_events())[:2]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", iter(events)), tmp_path)
    async with GFlowNetApp(session).run_test(size=SMALL) as pilot:
        words = (
            "No graph has been built",
            "Training has not started",
            "No paths have been sampled",
            "Nothing has been measured",
            "No question has been answered",
        )
        for key, expected in enumerate(words, 1):
            assert expected in await press(pilot, str(key))


async def test_a_missed_question_says_where_its_paths_went_wrong(tmp_path: Path) -> None:
    """How many left the shortest paths, where and by which relation; a finished run opens there."""
    steps = [
        ev.PathStep(head="Oslo", relation="capital", tail="Ostrel", score=0.9, gt=True),
        ev.PathStep(head="Ostrel", relation="twinned with", tail="Lima", score=0.2),
    ]
    paths = [
        ev.SampledPath(steps=steps, count=1, probability=0.5, reward=0.001),
        ev.SampledPath(steps=steps[:1], count=1, probability=0.3, reward=0.001),
    ]
    met = next(e for e in gflownet_events() if isinstance(e, ev.QuestionSampled))
    missed = msgspec.structs.replace(met, sample_id="missed", paths=paths)
    events = [e for e in gflownet_events() if not isinstance(e, ev.QuestionSampled)]
    log = write_log(tmp_path / "events.jsonl", [*events[:-2], met, missed, *events[-2:]])
    async with GFlowNetApp(RecordedSession(log, tmp_path)).run_test(size=WIDE) as pilot:
        text = await press(pilot, "3")
        assert "✗ none of 2 paths meets an answer" in text and "1 missed" in text
        assert (
            "1 left the shortest paths at step 2 by twinned with" in text
            and "1 stopped before an answer" in text
        )
        assert "Ostrel ≠ ─twinned with─▶ Lima" in text
