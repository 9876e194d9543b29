"""`sweep.json` from elsewhere: its runs stand beside it, whatever it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import RunError
from engine.sweep.sweep import SweepFolder


@pytest.mark.parametrize("run_id", ["../other/run", "/etc", "..", "", "a\0b", "x" * 300])
@pytest.mark.parametrize("report", [False, True])
def test_a_run_elsewhere_is_refused(run_id: str, report: bool, tmp_path: Path) -> None:
    good = {"number": 1, "run_id": "20261122-1", "setting": {}}
    bad = good | {"run_id": run_id}
    record = {"name": "s", "created": 1.0, "specs": [], "axes": [], "points": [good]}
    sweep = SweepFolder(tmp_path)
    sweep.state.write_text(json.dumps(record | ({"report": bad} if report else {"points": [good, bad]})))
    with pytest.raises(RunError, match="not a run of this sweep"):
        sweep.read()
    sweep.state.write_text(json.dumps(record))
    assert sweep.read().points[0].run_id == "20261122-1"
