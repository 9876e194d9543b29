"""Opening a run with a million events: until it is usable, until all is there, memory.

`python -m tests.bench.bench_long_log [events] [FOLDER]` writes a run into FOLDER (some minutes for a million; one that
is there is taken), then opens it in a console of its own.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from textual.events import Key

from app import garbage
from app.shell import SteerApp
from engine import events as ev
from screens.esm.screen import EsmScreen
from tests.made_run import create_run
from tests.synthetic_run import SyntheticRun

PER_EXAMPLE = 15
"""Events of an example of the synthetic run, all methods together."""
_SEEKS = (0.5, 0.001, 0.999, 0.25, 0.75)


def write_run(folder: Path, events: int) -> None:
    """A finished run with about that many events."""
    run = create_run(folder, "long", seed=0, stages=["eval"], config={}, config_text="{}\n", versions={})
    with run.events.open("wb") as log:
        for event in SyntheticRun(examples=events // PER_EXAMPLE).events():
            log.write(ev.encode(event))
    record = run.read()
    record.status = "finished"
    run.write(record)


async def open_run(path: Path) -> None:
    """Open the run on ESM's screen, look back at some moments, press keys."""
    size = (path / "events.jsonl").stat().st_size
    before = memory()
    app = SteerApp(outputs=path.parent.parent)
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.pause(1.0)
        began, processor = time.perf_counter(), time.process_time()
        app.open_run(path, "ESM")
        session, usable, keys = app.session, 0.0, []
        assert session is not None
        while not (session.caught_up and session.state.seq == session.total_events - 1 > 0):
            await asyncio.sleep(0.02)
            screen = app.screen
            if isinstance(screen, EsmScreen) and screen.is_mounted and len(session.state.esm.decisions) > 50:
                usable = usable or time.perf_counter() - began
                keys.append(await key(app, screen))
        whole, processor = time.perf_counter() - began, time.process_time() - processor
        seeks = [await seek(app, int(part * session.total_events)) for part in _SEEKS]
        print(f"{session.total_events:,} events, {size / 1e6:.0f} MB")
        print(
            f"  the first decisions can be read after {usable or whole:.2f} s, everything after {whole:.2f} s"
        )
        print(f"  {processor:.2f} s of processor time until then, drawing included")
        if len(keys) > 20:
            print(
                f"  a key meanwhile: p50 {statistics.median(keys):.0f} ms, p95 {sorted(keys)[-len(keys) // 20]:.0f} ms"
            )
        print(
            f"  another moment is shown after {statistics.median(seeks):.0f} ms (at most {max(seeks):.0f} ms)"
        )
        print(f"  memory: {memory() - before:.0f} MB beside the console's own {before:.0f} MB")


async def key(app: SteerApp, screen: EsmScreen) -> float:
    """Milliseconds until the cursor of the table has moved."""
    table = screen.decisions.table
    table.focus()
    before, began = table.cursor, time.perf_counter()
    app.post_message(Key("up" if before else "down", None))
    while table.cursor == before and time.perf_counter() - began < 5.0:
        await asyncio.sleep(0.001)
    return (time.perf_counter() - began) * 1000


async def seek(app: SteerApp, seq: int) -> float:
    """Milliseconds until event `seq` is shown."""
    session, began = app.session, time.perf_counter()
    assert session is not None
    session.seek(seq)
    while session.state.seq != seq:
        await asyncio.sleep(0.002)
        session.update()
    return (time.perf_counter() - began) * 1000


def memory() -> float:
    """The most that this process held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    if sys.argv[1:2] == ["--open"]:
        sys.setswitchinterval(0.001)  # as `run_console` has it
        with garbage.put_off():
            asyncio.run(open_run(Path(sys.argv[2])))
        return
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(made)
        if not list(folder.glob("long/*/run.json")):
            write_run(folder, events)
        path = next(folder.glob("long/*"))
        subprocess.run([sys.executable, "-m", __spec__.name, "--open", str(path)], check=True)


if __name__ == "__main__":
    main()
