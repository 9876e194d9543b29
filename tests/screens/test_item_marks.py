"""The signs of marked and noted items beside the rows of a table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.run.find_event import find_event
from screens.item_marks import ItemMarks
from screens.noting import NotingScreen
from tests.two_runs import decided, make_run


def test_a_mark_a_note_and_both(tmp_path: Path) -> None:
    """Signs stand at the lines of the items; a note on the run itself has no line."""
    run = make_run(tmp_path, "a", [decided("x", m) for m in range(1, 5)])
    marks = ItemMarks(run)
    marks.notes.toggle_mark(1, "")
    marks.notes.add(2, "", "why?")
    marks.notes.add(3, "", "and this?")
    marks.notes.toggle_mark(3, "")
    marks.notes.add(None, "", "of the run")
    assert marks.read() and not marks.read()
    entries = [find_event(run / "events.jsonl", seq) for seq in (1, 2, 3)]
    offsets = [entry.offset for entry in entries if entry is not None]
    assert marks.signs == dict(zip(offsets, "◆◇◈", strict=True))


def test_of_many_marks_some_are_looked_up_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding an event in a long log takes time; without a log there is nothing to find."""
    run = make_run(tmp_path, "a", [decided("x", m) for m in range(1, 6)])
    monkeypatch.setattr("screens.item_marks._AT_ONCE", 2)
    marks = ItemMarks(run)
    for seq in range(5):
        marks.notes.toggle_mark(seq, "")
    signs = []
    for _ in range(4):
        marks.read()
        signs.append(len(marks.signs))
    assert signs == [2, 4, 5, 5]
    (run / "events.jsonl").unlink()
    lost = ItemMarks(run)
    lost.read()
    assert list(lost.signs) == [-1]


def test_signs_are_drawn_only_when_they_have_changed(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a", [decided("x", m) for m in range(1, 3)])
    drawn: list[int] = []
    screen: Any = SimpleNamespace(
        marks=ItemMarks(run), show_marks=lambda: drawn.append(len(screen.marks.signs))
    )
    NotingScreen.look_at_notes(screen)
    screen.marks.notes.toggle_mark(1, "")
    for _ in range(2):
        NotingScreen.look_at_notes(screen)
    assert drawn == [1]
