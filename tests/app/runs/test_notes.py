"""Notes beside the log: two writers at once, torn and hostile lines, limits."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from app.runs import notes
from app.runs.notes import FILE, LONGEST_TEXT, NOTHING, Notes, read_notes
from engine.errors import DiskError
from tests.exactly import exactly


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


def test_a_mark_that_another_console_made_is_taken_away(tmp_path: Path) -> None:
    """The file is read before: what is shown here may be of earlier."""
    mine, theirs = Notes(tmp_path), Notes(tmp_path)
    assert mine.toggle_mark(7, "") and not theirs.toggle_mark(7, "")
    assert mine.toggle_mark(7, "") and list(read_notes(tmp_path).marks) == [7]


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


def test_a_single_letter_that_was_torn_off_is_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"{")
    Notes(tmp_path).add(1, "", "first")
    written = read_notes(tmp_path)
    assert [note.text for note in written.notes] == ["first"] and written.skipped == 1
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
    with pytest.raises(
        DiskError, match=exactly("this run has too many notes (…): move the file away: a new one is begun")
    ):
        mine.add(1, "", "z" * 900)
    assert mine.path.stat().st_size < 5000


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept\n")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError):
        Notes(tmp_path).add(1, "", "text")
    assert (tmp_path / "elsewhere").read_text() == "kept\n"


def line(what: str, number: int = 1, **more: object) -> str:
    return json.dumps({"what": what, "time": 5.0, "id": str(number), "seq": number} | more) + "\n"


def test_marks_and_notes_are_taken_back_by_event_and_by_id(tmp_path: Path) -> None:
    """A mark and a note of the run as a whole have no number; of two notes with the same id the first one stays."""
    (tmp_path / FILE).write_text(
        line("mark", 0) + line("mark", 2) + line("mark", 3, seq=None) + line("unmark", 2) + line("unmark", 9)
        + line("note", 1, text="a") + line("note", 1, text="b") + line("note", 2, text="c") + line("removed", 2)
        + line("note", 3, seq=1, text="d") + line("note", 4, seq=None, text="e") + "\n"
    )  # fmt: skip
    written = read_notes(tmp_path)
    assert list(written.marks) == [0, None] and [note.text for note in written.notes] == ["a", "d", "e"]
    assert [note.text for note in written.of(1)] == ["a", "d"] and [n.text for n in written.of(None)] == ["e"]
    assert written.skipped == 0, "an empty line is no foreign one"


@pytest.mark.parametrize(
    ("seconds", "kept"), [(-0.5, False), (0.0, True), (99_999_999_999.0, True), (1e11, False)]
)
def test_moments_that_calendars_can_say(tmp_path: Path, seconds: float, kept: bool) -> None:
    (tmp_path / FILE).write_text(line("note", time=seconds))
    assert (len(read_notes(tmp_path).notes), read_notes(tmp_path).skipped) == (int(kept), int(not kept))


def test_the_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    mine = Notes(tmp_path)
    assert not mine.read() and mine.written == NOTHING
    assert read_notes(tmp_path)._asdict() == {"marks": {}, "notes": [], "skipped": 0}
    other = Notes(tmp_path)
    other.toggle_mark(4, "decision q1:2")
    assert mine.read() and mine.written.marks[4].item == "decision q1:2" and not mine.read()
    assert not other.read(), "what was written here is taken in at once"
    assert not mine.toggle_mark(4, "") and not other.written.marks.keys() - {4}


def test_of_names_three_hundred_letters_are_kept(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(line("note", id="i" * 301, author="a" * 301, item="t" * 301))
    [note] = read_notes(tmp_path).notes
    assert {len(text) for text in (note.id, note.author, note.item)} == {300}


def test_a_note_that_just_fits_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many bytes as the file may have."""
    monkeypatch.setattr(notes.time, "time", lambda: 1.5)
    Notes(tmp_path).add(1, "", "z")
    monkeypatch.setattr(notes, "_LARGEST", 2 * (tmp_path / FILE).stat().st_size)
    Notes(tmp_path).add(2, "", "y")
    assert [note.text for note in read_notes(tmp_path).notes] == ["z", "y"]


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning is read, and what does not fit any more says what to do. Each line here has 51 bytes."""
    text = line("note", 1) + line("note", 2)
    assert len(text) == 102
    (tmp_path / FILE).write_text(text)
    monkeypatch.setattr(notes, "_LARGEST", 102)
    assert len(read_notes(tmp_path).notes) == 2
    monkeypatch.setattr(notes, "_LARGEST", 101)
    assert len(read_notes(tmp_path).notes) == 1
    with pytest.raises(DiskError) as error:
        Notes(tmp_path).add(1, "", "z")
    assert str(error.value) == (
        f"this run has too many notes ({tmp_path / FILE}): move the file away: a new one is begun"
    )


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_who_has_no_name_is_called_by_number(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nobody)
    monkeypatch.setattr("os.getuid", lambda: 4711)
    assert notes.author() == "4711"


def test_each_line_says_what_when_by_whom_and_on_which_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 5.5)
    monkeypatch.setattr(notes, "author", lambda: "ann")
    monkeypatch.setattr("secrets.token_hex", lambda size: "f" * 2 * size)
    mine = Notes(tmp_path)
    mine.toggle_mark(7, "decision")
    mine.add(None, "the run", "slow")
    mine.add(7, "decision", "why?")
    mine.remove(read_notes(tmp_path).notes[0])
    mine.toggle_mark(7, "decision")
    said, item = {"time": 5.5, "author": "ann"}, {"seq": 7, "item": "decision"}
    assert [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()] == [
        {"what": "mark"} | said | item,
        {"what": "note"} | said | {"id": "f" * 12, "item": "the run", "text": "slow"},
        {"what": "note"} | said | {"id": "f" * 12, "text": "why?"} | item,
        {"what": "removed"} | said | {"id": "f" * 12}, {"what": "unmark"} | said | item,
    ]  # fmt: skip
    mine.remove(notes.Entry(what="note", time=1.0, id="x", seq=3))
    assert json.loads((tmp_path / FILE).read_text().splitlines()[-1])["seq"] == 3
