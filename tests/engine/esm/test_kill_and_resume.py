"""A run that was killed and resumed leaves the same files as one that was left alone."""

import random
from pathlib import Path

from tests.kill_and_resume import artefacts, prepared, run_killed, run_whole


def test_killed_run_equals_whole_run(tmp_path: Path) -> None:
    whole = prepared(tmp_path, "whole")
    seconds = run_whole(whole)
    killed = prepared(tmp_path, "killed")
    assert run_killed(killed, seconds, random.Random(3)) > 0
    assert artefacts(killed) == artefacts(whole)
