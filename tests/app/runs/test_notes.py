"""Notes beside the log: two writers at once, torn and hostile lines, limits."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from app.runs import notes
from app.runs.notes import FILE, LONGEST_TEXT, Notes, read_notes
from engine.errors import DiskError


def test_marks_and_notes_are_read_back(tmp_path: Path) -> None:
    mine = Notes(tmp_path)
    assert mine.toggle_mark(7, "decision q1:2")
    mine.add(7, "decision q1:2", "why this entry?")
    mine.add(None, "the run", "slow disk")
    other = read_notes(tmp_path)
    assert list(other.marks) == [7]
    assert [(note.seq, note.text, note.author) for note in other.notes] == [
        (7, "why this entry?", notes.author()),
        (None, "slow disk", notes.author()),
    ]
    assert not mine.toggle_mark(7, "")
    mine.remove(other.notes[0])
    assert not mine.written.marks
    assert [note.text for note in read_notes(tmp_path).notes] == ["slow disk"]


def test_two_consoles_write_at_once(tmp_path: Path) -> None:
    def write(name: str) -> None:
        mine = Notes(tmp_path)
        for number in range(25):
            mine.add(number, "", f"{name} {number} {'x' * 3000}")

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = read_notes(tmp_path)
    assert written.skipped == 0
    assert sorted(note.text[:4].strip() for note in written.notes) == sorted(
        f"{name} {number}"[:4].strip() for name in "ab" for number in range(25)
    )


def test_a_torn_last_line_does_not_swallow_the_next_note(tmp_path: Path) -> None:
    mine = Notes(tmp_path)
    mine.add(1, "", "first")
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"what": "note", "time": 3.0, "id": "x", "te')
    assert [note.text for note in read_notes(tmp_path).notes] == ["first"]
    mine.add(2, "", "second")
    written = read_notes(tmp_path)
    assert [note.text for note in written.notes] == ["first", "second"]
    assert written.skipped == 1


@pytest.mark.parametrize(
    "line",
    [
        b"[1]",
        b"\xff\xfe",
        b"[" * 5000,
        b'{"what": "note", "time": 1e400, "id": "a"}',
        b'{"what": "note", "time": NaN, "id": "a"}',
        b'{"what": "note", "time": 1.0}',
        b'{"what": "burn", "time": 1.0, "id": "a"}',
        b'{"what": "mark", "time": 1.0, "seq": -1}',
        b'{"what": "mark", "time": 1.0, "seq": "1"}',
        b'{"what": "note", "time": 1.0, "id": "a", "text": "' + b"x" * 70_000 + b'"}',
    ],
)
def test_foreign_lines_are_passed_over(tmp_path: Path, line: bytes) -> None:
    (tmp_path / FILE).write_bytes(line + b'\n{"what": "mark", "time": 1.0, "seq": 3}\n')
    written = read_notes(tmp_path)
    assert (list(written.marks), written.notes, written.skipped) == ([3], [], 1)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Notes(tmp_path)
    mine.add(1, "\ud800", "y" * (LONGEST_TEXT + 1))
    assert len(mine.written.notes[0].text) == LONGEST_TEXT
    assert mine.written.notes[0].item == "?"
    lone = {"what": "note", "time": 1.0, "id": "z", "text": "\ud800"}
    with (tmp_path / FILE).open("a") as file:
        file.write(json.dumps(lone) + "\n")
    assert read_notes(tmp_path).notes[1].text == "?"
    monkeypatch.setattr(notes, "_LARGEST", 5000)
    with pytest.raises(DiskError, match="too many notes"):
        mine.add(1, "", "z" * 900)
    assert mine.path.stat().st_size < 5000


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept\n")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError):
        Notes(tmp_path).add(1, "", "text")
    assert (tmp_path / "elsewhere").read_text() == "kept\n"
