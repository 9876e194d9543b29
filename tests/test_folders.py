"""A folder holds what a person can look over: rooms are made by idea before there are too many files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = 20
"""Modules at the root of a folder, its `__init__.py` among them."""


def test_no_folder_has_more_modules_than_a_person_can_look_over() -> None:
    folders = {
        path.parent for package in ("app", "engine", "screens") for path in (ROOT / package).rglob("*.py")
    }
    counts = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}
    assert len(counts) > 50
    assert {folder: count for folder, count in counts.items() if count > MOST} == {}
