import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.config import Config
from engine.events import Event, StagePaused, StageProgress, StageResumed
from engine.lm.loading.load import load_model
from engine.run.gate import Gate, StopRequested
from engine.run.stage import StageContext

Wait = Callable[..., None]


def test_one_of_several_threads_tells_of_a_pause(wait_until: Wait) -> None:
    """Threads that wait for servers pass checkpoints side by side."""
    events: list[Event] = []
    gate = Gate(events.append)
    gate.pause()
    threads = [threading.Thread(target=gate.checkpoint) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: gate.state == "paused", "the pause")
    time.sleep(0.2)
    gate.unpause()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert [type(event) for event in events] == [StagePaused, StageResumed]


def test_a_stop_ends_the_pause_of_all(wait_until: Wait) -> None:
    events: list[Event] = []
    gate = Gate(events.append)
    stopped: list[int] = []

    def work(number: int) -> None:
        try:
            gate.checkpoint()
        except StopRequested:
            stopped.append(number)

    gate.pause()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: gate.state == "paused", "the pause")
    gate.stop()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(stopped) == [0, 1, 2] and [type(event) for event in events] == [StagePaused]


def test_a_pause_is_no_part_of_the_time_that_work_took(tmp_path: Path, wait_until: Wait) -> None:
    """Or pace and ETA would be those of a run that idles."""
    events: list[Event] = []
    gate = Gate(events.append)
    context = StageContext(
        "mine", Config(), tmp_path, events.append, gate.checkpoint, load_model, clock=gate.clock
    )
    context.start(2)
    gate.pause()
    threading.Timer(1.0, gate.unpause).start()
    gate.checkpoint()
    context.progress(1, 2)
    (progress,) = (event for event in events if isinstance(event, StageProgress))
    assert progress.elapsed < 0.5
    before = gate.clock()
    time.sleep(0.05)
    assert gate.clock() - before == pytest.approx(0.05, abs=0.045)


def test_a_stop_where_a_unit_of_work_ends_is_a_stop_from_then_on() -> None:
    """Of all threads; between the items of the unit nothing stops."""
    gate = Gate(lambda event: None)
    gate.stop_after()
    gate.checkpoint()
    with pytest.raises(StopRequested):
        gate.boundary()
    assert gate.stopping
    with pytest.raises(StopRequested):
        gate.checkpoint()


def test_a_run_that_is_stopped_in_a_pause_is_not_recorded_as_paused_any_more() -> None:
    states: list[str] = []
    gate = Gate(lambda event: gate.stop(), states.append)
    gate.pause()
    with pytest.raises(StopRequested):
        gate.checkpoint()
    assert states == ["paused", "running"]
