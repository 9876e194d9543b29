"""An evolution that was killed and resumed has the same history as one that was left alone."""

import random
from pathlib import Path

from tests.kill_and_resume import SMALL_EVOLUTION, artefacts, prepared, run_killed, run_whole

SMALL = (*SMALL_EVOLUTION, "evolution.iterations=2", "evolution.validation_size=8", "evolution.test_size=4")


def test_killed_run_equals_whole_run(tmp_path: Path) -> None:
    whole = prepared(tmp_path, "whole", SMALL)
    seconds = run_whole(whole)
    killed = prepared(tmp_path, "killed", SMALL)
    assert run_killed(killed, seconds, random.Random(5)) > 0
    assert artefacts(killed) == artefacts(whole)
    assert "evolution/history.json" in artefacts(whole)
