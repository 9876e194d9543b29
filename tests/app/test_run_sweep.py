"""How `steer-tui sweep` follows its process: lines, exit code and reasons at the end, over a process that is acted."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from app.sweep import run_sweep as module
from engine.errors import RunError
from engine.run.directory import StageRecord
from engine.sweep.sweep import Point, SweepFolder
from tests.engine.sweep.test_results import make_sweep

ASKING = "asking the runs to stop; what is finished is kept (Ctrl+C again leaves at once)"


@dataclass
class Queue:
    """Works until it was looked at `looks` times, then ends with `returncode`."""

    returncode: int
    looks: int
    terminated: int = 0

    def poll(self) -> int | None:
        self.looks -= 1
        return self.returncode if self.looks < 0 else None

    def wait(self, timeout: float) -> int:
        raise subprocess.TimeoutExpired("queue", timeout)

    def terminate(self) -> None:
        self.terminated += 1


@dataclass
class Ended:
    code: int
    out: list[str]
    err: list[str]
    queue: Queue
    asked: int


Sweep = Callable[..., Ended]


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """`sweep(folder, 0, looks=2, interrupts=1, reached=True)`: `reached`: whether a stop finds the process."""

    def ended(
        folder: SweepFolder, code: int, looks: int = 0, interrupts: int = 0, reached: bool = True
    ) -> Ended:
        queue, asked = Queue(code, looks), list[Path]()

        def begin(self: module.Interrupts) -> None:
            self.count = interrupts

        def stop(path: Path) -> bool:
            asked.append(path)
            return reached

        monkeypatch.setattr(module.Interrupts, "__init__", begin)
        monkeypatch.setattr(module, "start_queue", lambda path: queue)
        monkeypatch.setattr(module, "stop_queue", stop)
        out, err = (Console(file=io.StringIO(), width=60) for _ in range(2))
        code = module.run_sweep(folder, out, err)
        written = [console.file.getvalue().splitlines() for console in (out, err)]  # type: ignore[attr-defined]
        return Ended(code, written[0], written[1], queue, len(asked))

    return ended


def test_a_finished_sweep(tmp_path: Path, sweep: Sweep) -> None:
    """Each run has a line as soon as it is seen; then the table."""
    folder = make_sweep(tmp_path, [20, 38])
    ended = sweep(folder, 0, looks=2)
    assert (ended.code, ended.err, ended.asked, ended.out[0]) == (0, [], 0, f"sweep: {folder.path}")
    assert [line[9:] for line in ended.out[1:5]] == [
        "1/4 online.L=1 seed=0: finished; done eval",
        "2/4 online.L=1 seed=1: finished; done eval",
        "3/4 online.L=2 seed=0: finished; done eval",
        "4/4 online.L=2 seed=1: finished; done eval",
    ]
    assert all(re.match(r"\d\d:\d\d:\d\d \S", line) for line in ended.out[1:5])
    assert sum("finished; done eval" in line for line in ended.out) == 4, (
        "once, though it was looked at twice"
    )


def test_what_is_at_work_is_said_now_and_then(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and not again within ten seconds."""
    monkeypatch.setattr(module, "work_words", lambda results, progress: ["At work: online.L=1, eval 3 of 9"])
    monkeypatch.setattr(module, "left_words", lambda progress: "48%, about 3:20 left")
    lines = [line[9:] for line in sweep(make_sweep(tmp_path, [20, 38], done=1), 0, looks=2).out]
    words = (
        "At work: online.L=1, eval 3 of 9; 1 of 4 runs finished (2 settings × 2 seeds), 48%, about 3:20 left"
    )
    assert lines.count(words) == 1


def test_stages_that_were_taken_over_and_runs_that_failed(tmp_path: Path, sweep: Sweep) -> None:
    folder = make_sweep(tmp_path, [20, 38])
    for number, point in enumerate(folder.read().points[:3]):
        run = folder.run(point)
        record = run.read()
        record.stages["mine"] = StageRecord(status="finished", shared_from="1" if number else "")
        if number:
            record.status, record.stages["eval"].status, record.failure = "failed", "failed", "no room"
        run.write(record)
    ended = sweep(folder, 1)
    resume = f"kept in {folder.path}; to resume: steer-tui sweep --resume {folder.path}"
    assert (ended.code, ended.err) == (1, ["failed runs: 2; no room", resume])
    assert [line[9:].partition(": ")[2] for line in ended.out[1:4]] == [
        "finished; done eval, mine", "failed; taken over mine", "failed; taken over mine",
    ]  # fmt: skip


@pytest.mark.parametrize(("reached", "terminated", "asked"), [(True, 0, 1), (False, 2, 2)])
def test_ctrl_c_asks_until_the_process_is_reached(
    tmp_path: Path, sweep: Sweep, reached: bool, terminated: int, asked: int
) -> None:
    """One that has not taken its lock yet is ended."""
    ended = sweep(make_sweep(tmp_path, [20]), 130, looks=2, interrupts=1, reached=reached)
    assert (ended.code, ended.queue.terminated, ended.asked) == (130, terminated, asked)
    assert sum(ASKING in line for line in ended.out) == asked
    assert "to resume: steer-tui sweep --resume" in " ".join(ended.err)


def test_a_process_that_left_only_a_log(tmp_path: Path, sweep: Sweep) -> None:
    folder = make_sweep(tmp_path, [20], done=0)
    folder.log.write_text("first words\nlast words\n")
    ended = sweep(folder, -9)
    assert ended.code == 1 and ended.err[0] == "last words" and "to resume" in ended.err[1]


def test_a_second_ctrl_c_leaves_and_anything_else_stops_the_runs(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: type[BaseException]) -> Callable[..., int]:
        def follow(*given: object) -> int:
            raise error

        return follow

    folder = make_sweep(tmp_path, [20])
    monkeypatch.setattr(module, "_follow", raising(KeyboardInterrupt))
    ended = sweep(folder, 0)
    assert (ended.code, ended.asked) == (130, 0)
    assert ended.err[0] == "left; the runs at work stop after their current item"
    monkeypatch.setattr(module, "_follow", raising(BrokenPipeError))
    with pytest.raises(BrokenPipeError):
        sweep(folder, 0)


def test_a_record_that_cannot_be_read_is_said(
    tmp_path: Path, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_sweep(tmp_path, [20])
    read, errors = module.SweepReader.read, [RunError(what="torn", where="sweep.json", hint="wait")]

    def torn(self: module.SweepReader) -> module.SweepResults:
        if errors:
            raise errors.pop()
        return read(self)

    monkeypatch.setattr(module.SweepReader, "read", torn)
    assert any("torn" in line for line in sweep(folder, 0).out)


def test_runs_are_numbered_without_the_run_that_reports() -> None:
    """Three settings are tried, then the chosen one is run once more: that is no fourth of four."""
    points = [Point(number=number, setting={}, run_id=str(number)) for number in (1, 2, 3)]
    report = Point(number=4, setting={}, run_id="4")
    results: Any = SimpleNamespace(
        record=SimpleNamespace(points=points, report=report, all_points=[*points, report])
    )
    assert [module._number(point, results) for point in (*points, report)] == ["1/3", "2/3", "3/3", "report"]


def test_reasons_are_red_on_a_terminal_each_once(tmp_path: Path) -> None:
    errors = Console(
        file=io.StringIO(), width=30, force_terminal=True, color_system="standard", no_color=False
    )
    failed = [SimpleNamespace(state=state, failure=why) for state, why in (
        ("failed", "no room"), ("failed", "no room"), ("failed", "a bug"), ("stopped", "x"), ("failed", ""),
    )]  # fmt: skip
    results: Any = SimpleNamespace(runs=dict(enumerate(failed)), counts={})
    folder: Any = SimpleNamespace(log=tmp_path / "log")
    (tmp_path / "log").write_text("last words\n")
    module._explain(folder, results, errors)
    lines = errors.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.removeprefix("\x1b[31m").removesuffix("\x1b[0m") for line in lines] == [
        "failed runs: 2; no room", "failed runs: 1; a bug",
    ]  # fmt: skip
    assert all(line.startswith("\x1b[31m") for line in lines)
    results.runs, errors.file = {}, io.StringIO()
    module._explain(folder, results, errors)
    assert errors.file.getvalue() == "\x1b[31mlast words\x1b[0m\n"
    results.counts, errors.file = {"eval": (1, 0)}, io.StringIO()
    module._explain(folder, results, errors)
    assert errors.file.getvalue() == "", "stages were done: the log says nothing new"
