"""Where exports of a run are written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from app.export import export_path, write_csv, write_picture


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


def test_of_two_exports_in_a_second_the_later_one_has_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.export.time", SimpleNamespace(strftime=lambda form: "20260102-030405"))
    names = []
    for _ in range(3):
        path = export_path(tmp_path, "table", ".csv")
        path.touch()
        names.append(path.name)
    first = "table-20260102-030405"
    assert names == [f"{first}.csv", f"{first}-2.csv", f"{first}-3.csv"]


def test_a_picture_names_no_font_of_the_network(tmp_path: Path) -> None:
    svg = "<svg><style>\n  @font-face {\n src: url(https://x/y.woff)\n }\n a {b: c}</style></svg>"
    write_picture(tmp_path / "p.svg", svg)
    assert (tmp_path / "p.svg").read_text() == "<svg><style>\n a {b: c}</style></svg>"


def test_without_a_folder_to_write_to_nothing_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.export.os.access", lambda path, mode: False)
    with pytest.raises(PermissionError) as error:
        export_path(tmp_path, "table", ".csv")
    assert str(error.value) == (
        f"no folder to write to: {tmp_path}, the working folder and the home folder are read-only"
    )
