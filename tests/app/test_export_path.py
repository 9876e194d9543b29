"""Where exports of a run are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.export import export_path, write_csv


def test_exports_go_through_no_link_of_the_runs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, here, elsewhere = (tmp_path / name for name in ("run", "here", "elsewhere"))
    for folder in (run, here, elsewhere):
        folder.mkdir()
    monkeypatch.chdir(here)
    assert export_path(run, "table", "csv").parent == run / "exports"
    (run / "exports").rmdir()
    (run / "exports").symlink_to(elsewhere)
    assert export_path(run, "table", "csv").parent == here / "exports"
    assert not list(elsewhere.iterdir())


def test_flags_and_what_is_missing_in_a_table(tmp_path: Path) -> None:
    rows = [("a", True, 0.5), ("b", False, None), ("c", True, float("nan"))]
    assert write_csv(tmp_path / "t.csv", ("name", "correct", "score"), rows) == 3
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines == ["name,correct,score", "a,yes,0.5", "b,no,", "c,yes,"]
