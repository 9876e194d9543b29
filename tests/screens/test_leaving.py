"""How a run was left, in the line that the terminal keeps."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.run.directory import RunDirectory
from engine.run.lock import RunLock
from screens.leaving import LeftRun, states_now
from tests.two_runs import make_run


def test_where_each_run_is_kept_and_how_to_resume_it(tmp_path: Path) -> None:
    runs = [
        RunDirectory(make_run(tmp_path, name, [], status=status))
        for name, status in (("a", "finished"), ("b", "stopped"), ("c", "running"), ("d", "stopped"))
    ]
    lock = RunLock(runs[2].lock)
    shutil.rmtree(runs[3].path)
    a, b, c, d = (run.path for run in runs)
    assert [left.line for left in states_now(runs)] == [
        f"finished; everything is in {a}",
        f"stopped; kept in {b}; to resume: steer-tui batch --resume {b}",
        f"no answer from the engine yet: it stops after its current item; kept in {c}; "
        f"to resume: steer-tui batch --resume {c}",
        f"gone; kept in {d}; to resume: steer-tui batch --resume {d}",
    ]
    lock.release()
    assert not LeftRun(runs[3], "gone", False).alive
