"""`sweep.json` from elsewhere: its runs stand beside it, whatever it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import RunError
from engine.sweep.sweep import VERSION, SweepFolder, find_sweep, is_folder_name


@pytest.mark.parametrize("run_id", ["../other/run", "/etc", "..", "", "a\0b", "x" * 300])
@pytest.mark.parametrize("report", [False, True])
def test_a_run_elsewhere_is_refused(run_id: str, report: bool, tmp_path: Path) -> None:
    good = {"number": 1, "run_id": "20261122-1", "setting": {}}
    bad = good | {"run_id": run_id}
    record = {"name": "s", "created": 1.0, "specs": [], "axes": [], "points": [good]}
    sweep = SweepFolder(tmp_path)
    sweep.state.write_text(json.dumps(record | ({"report": bad} if report else {"points": [good, bad]})))
    with pytest.raises(RunError) as caught:
        sweep.read()
    said = f"{run_id[:80]!a} is not a run of this sweep: runs stand beside it"
    assert str(caught.value) == f"{said} ({sweep.state}): restore the file, or start a new sweep"
    sweep.state.write_text(json.dumps(record))
    assert sweep.read().points[0].run_id == "20261122-1"
    sweep.state.write_text(json.dumps(record | {"version": VERSION + 1}))
    with pytest.raises(RunError) as caught:
        sweep.read()
    versions = f"a sweep of version {VERSION + 1}, this program knows {VERSION}"
    assert str(caught.value) == f"{versions} ({sweep.state}): update steer-tui"


def test_a_sweep_is_meant_by_its_folder_its_name_or_its_experiment(tmp_path: Path) -> None:
    """Of several sweeps of an experiment the newest is."""
    for name in ("a/sweep-20261122-1", "b/sweep-20261122-2", "b/sweep-20261123-1", "b/sweep-20261121-1"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "sweep.json").touch()
    found = {text: find_sweep(text, tmp_path).path.name for text in ("a", "b", "sweep-20261121-1")}
    assert found == {"a": "sweep-20261122-1", "b": "sweep-20261123-1", "sweep-20261121-1": "sweep-20261121-1"}
    folder = tmp_path / "b" / "sweep-20261122-2"
    assert find_sweep(str(folder), tmp_path / "elsewhere").path == folder
    with pytest.raises(RunError) as caught:
        find_sweep("c", tmp_path)
    assert str(caught.value) == (f"there is no such sweep (c (also looked below {tmp_path})): {NAME_IT}")


NAME_IT = "name a sweep's folder, `<outputs>/<name>/sweep-<id>`"


def test_what_is_no_sweep_is_told(tmp_path: Path) -> None:
    sweep = SweepFolder(tmp_path)
    with pytest.raises(RunError) as caught:
        sweep.read()
    assert str(caught.value) == (f"this is not a sweep: No such file or directory ({sweep.state}): {NAME_IT}")
    sweep.state.write_text("{}")
    with pytest.raises(RunError) as caught:
        sweep.read()
    assert str(caught.value) == (
        f"this is not the state of a sweep: Object missing required field `name` ({sweep.state}): restore the file, or "
        "start a new sweep"
    )


POINT = b'{"name": "s", "created": 1, "specs": [], "axes": [], "points": [{"number": 1, "run_id": "a", "setting": '


@pytest.mark.parametrize("content", [b'{"name": "\xff"}', POINT + b'{"x": ' + b"[" * 100_000, b"", b"nul"])
def test_a_damaged_state_is_one_error(content: bytes, tmp_path: Path) -> None:
    """Also one that is nested deeper than it can be read."""
    sweep = SweepFolder(tmp_path)
    sweep.state.write_bytes(content)
    with pytest.raises(RunError, match="this is not the state of a sweep: ") as caught:
        sweep.read()
    assert caught.value.where == str(sweep.state)


@pytest.mark.parametrize(
    ("text", "good"), [("a", True), ("x" * 199, True), ("x" * 200, False), ("a/b", False)]
)
def test_a_folder_s_name(text: str, good: bool) -> None:
    assert is_folder_name(text) is good
