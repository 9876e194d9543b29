"""2,000 events a second for 10 seconds, while the console follows them and somebody types.

`python tests/bench/bench_event_flood.py [events/s] [seconds]` prints how late keys were answered, how late the
event loop was, and how old the newest event on the screen was. Goal: keys and events within 100 ms.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from tests.made_run import create_run

sys.path.insert(0, str(Path(__file__).parents[2]))

from textual.events import Key
from textual.screen import Screen

from app import garbage
from app.shell import SteerApp
from engine.events import (
    DecisionTaken,
    ExampleEvaluated,
    Header,
    MethodEvaluated,
    StageProgress,
    StageStarted,
)
from engine.run.directory import RunDirectory
from engine.run.event_log import EventLog
from screens.esm.screen import EsmScreen
from tests.bench.loop_lag import LoopLag
from tests.synthetic_run import SyntheticRun

GOAL_MS = 100
_KEYS = ("up", "pageup", "G", "g", "G")
_FLOOD = (DecisionTaken, ExampleEvaluated, MethodEvaluated, StageProgress)


def write_flood(path: Path, rate: int, seconds: float) -> None:
    """The writing process: decisions, answers and running figures, evenly spread."""
    run = [event for event in SyntheticRun(examples=400).events() if isinstance(event, _FLOOD)]
    log = EventLog(path, Header(schema_version=1, name="flood", run_id="flood", seed=0, stages=["eval"]))
    log.emit(StageStarted(total=int(rate * seconds), unit="events"), "eval")
    began, written = time.monotonic(), 0
    source = cycle(run)
    while written < rate * seconds:
        while written < (time.monotonic() - began) * rate:
            log.emit(next(source), "eval")
            written += 1
        time.sleep(0.005)
    log.close()


async def type_and_measure(directory: RunDirectory, rate: int, seconds: float) -> None:
    """Open the run and type a key ten times a second."""
    app = SteerApp(outputs=directory.path.parent.parent)
    keys: list[float] = []
    drawn: list[float] = []
    ages: list[float] = []
    async with app.run_test(size=(160, 50)) as pilot:
        app.open_run(directory.path, "ESM")
        await pilot.pause(0.5)
        screen, session = app.screen, app.session
        assert isinstance(screen, EsmScreen) and session is not None
        show = screen.show

        def show_and_note() -> None:
            show()
            if session.cursor is None and session.state.time:
                ages.append((time.time() - session.state.time) * 1000)

        screen.show = show_and_note
        lag = LoopLag()
        app.set_interval(lag.every, lag.tick)
        paints = note_paints(app)
        table = screen.decisions.table
        table.focus()
        writer = subprocess.Popen(
            [sys.executable, __file__, "--write", str(directory.events), str(rate), str(seconds)]
        )
        while table.cursor < 200:
            await asyncio.sleep(0.05)
        ages.clear()
        pressed = cycle(_KEYS)
        while writer.poll() is None:
            before, began, processor = table.cursor, time.perf_counter(), time.thread_time()
            key = next(pressed)
            app.post_message(Key(key, key if len(key) == 1 else None))
            while table.cursor == before:
                await asyncio.sleep(0.001)
            moved = time.perf_counter()
            while paints[-1] < moved:
                await asyncio.sleep(0.001)
            keys.append((paints[-1] - began) * 1000)
            drawn.append((time.thread_time() - processor) * 1000)
            await asyncio.sleep(0.1)
        total = session.total_events
        print(f"{total:,} events in {seconds:g} s; log {directory.events.stat().st_size / 1e6:.1f} MB")
        print("key to paint:     ", quantiles(keys), f"of {len(keys)} (goal {GOAL_MS} ms)")
        print("  processor time: ", quantiles(drawn), "of the thread that draws")
        print("loop late:        ", lag)
        print("age of last event:", quantiles(ages), f"at {len(ages)} drawings (goal {GOAL_MS} ms)")
        print(f"{session.unread_bytes:,} bytes unread")


def note_paints(app: SteerApp) -> list[float]:
    """When the screen was painted."""
    display, paints = app._display, [0.0]

    def display_and_note(screen: Screen[object], renderable: object) -> None:
        display(screen, renderable)  # type: ignore[arg-type]
        paints.append(time.perf_counter())

    app._display = display_and_note  # type: ignore[method-assign]
    return paints


def quantiles(values: Sequence[float]) -> str:
    """p50, p95 and the most, in ms."""
    p95 = sorted(values)[int(0.95 * len(values))]
    return f"p50 {statistics.median(values):.0f}, p95 {p95:.0f}, max {max(values):.0f} ms"


def main() -> None:
    if sys.argv[1:2] == ["--write"]:
        write_flood(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
        return
    rate = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(
            Path(folder), "flood", seed=0, stages=["eval"], config={}, config_text="{}\n", versions={}
        )
        sys.setswitchinterval(0.001)  # as `run_console` has it
        with garbage.put_off():
            asyncio.run(type_and_measure(run, rate, seconds))


if __name__ == "__main__":
    main()
