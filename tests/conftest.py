"""Runs of tiny stages in real worker processes, and waiting with a deadline instead of for a while."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from app.runs.client import prepare_run, start_worker
from engine.events import Event
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from tests import idle

idle.use_it()
gc.set_threshold(50_000)  # Python's 700 make the tests a third slower
settings.register_profile(
    "shared-machine", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

LONGEST = (
    "test_kill_and_resume",
    "test_evolve",
    "test_failing_roles",
    "test_replicas",
    "test_declared_inputs",
    "test_killed_in_a_batch",
    "test_ready_configs_run",
    "test_outside_method",
    "test_import_rules",
)
"""Modules that begin first: whichever process takes the last one, the others do not wait long for it."""
_NUMBERS = itertools.count()
STAGES = Path(__file__).parent / "stages"
ROOT = Path(__file__).parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_collection_finish() -> None:
    gc.freeze()  # the tests and what they import stay for good


@pytest.fixture(autouse=True)
def threads_of_this_test() -> None:
    idle.begin_test()


@pytest.fixture(autouse=True)
def no_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console remembers nothing from outside of a test, and nothing there is changed; the terminal that the tests
    are started from, which may be none, says nothing either."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("COLORTERM", "FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    of_this_test = tmp_path_factory.getbasetemp() / f"test-{next(_NUMBERS)}"  # made by what writes there
    monkeypatch.setenv("XDG_CONFIG_HOME", str(of_this_test / "settings"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(of_this_test / "cache"))


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """`wait_until(condition, what)`: fails when the condition has not come true in two minutes."""

    def wait(condition: Callable[[], object], what: str = "", seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain: {what}"
            time.sleep(0.01)

    return wait


@pytest.fixture
def example_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find `example_stages`."""
    monkeypatch.setenv("PYTHONPATH", f"{STAGES}{os.pathsep}{ROOT}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def make_config(tmp_path: Path, example_stages: None) -> Callable[..., Path]:
    """`make_config("Count", ..., items=20)`: a configuration file that runs these example stages."""

    def make(*stages: str, items: int = 5) -> Path:
        path = tmp_path / "config.yaml"
        names = ", ".join(f'"example_stages:{stage}"' for stage in stages)
        path.write_text(
            f"run: {{name: test, outputs: {tmp_path / 'outputs'}, seed: 3, stages: [{names}]}}\n"
            f"task: {{train_size: {items}}}\n"
        )
        return path

    return make


@pytest.fixture
def make_run(make_config: Callable[..., Path]) -> Callable[..., RunDirectory]:
    """`make_run("Count", items=20)`: a prepared run."""
    return lambda *stages, items=5: prepare_run(make_config(*stages, items=items))


@pytest.fixture
def worker() -> Iterator[Callable[[RunDirectory], subprocess.Popen[bytes]]]:
    """`worker(run)` starts a worker; whatever still lives at the end of the test is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(run: RunDirectory) -> subprocess.Popen[bytes]:
        started.append(start_worker(run))
        return started[-1]

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait(10)


@pytest.fixture
def events_of() -> Callable[[RunDirectory], list[Event]]:
    """All events in a run's log so far."""
    return lambda run: [entry.event for entries in iter(LogReader(run.events).poll, []) for entry in entries]
