"""Where exports of a run are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.export import export_path


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
