"""An event of a log by its number, or by its place, without reading the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import DataError
from engine.events import Notice
from engine.run.find_event import event_at, find_event
from tests.exactly import exactly

LINES = [f'{{"type":"Notice","seq":{seq},"time":1.0,"text":"{seq} {"x" * 900}"}}\n' for seq in range(300)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Larger than what is read line by line; a line in it is no event, another one of a later version."""
    lines = [*LINES]
    lines[150] = "damaged\n"
    lines[160] = '{"type":"Unheard","seq":160,"time":1.0}\n'
    path = tmp_path / "events.jsonl"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("seq", [0, 1, 149, 151, 298, 299])
def test_an_event_is_found_with_its_place(log: Path, seq: int) -> None:
    entry = find_event(log, seq)
    assert entry is not None and isinstance(entry.event, Notice) and entry.event.text.startswith(f"{seq} x")
    place = slice(entry.offset, entry.offset + entry.length)
    assert log.read_bytes()[place] == LINES[seq].encode().rstrip(b"\n")
    assert event_at(log, entry.offset) == entry.event


@pytest.mark.parametrize("seq", [-1, 150, 160, 300])
def test_what_is_not_there_or_not_known_is_none(log: Path, seq: int) -> None:
    assert find_event(log, seq) is None


def test_a_last_line_that_is_being_written_does_not_count(log: Path) -> None:
    with log.open("a") as file:
        file.write('{"type":"Notice","seq":300,"time":1.0,"text":"?"}')
    assert find_event(log, 300) is None and find_event(log, 299) is not None


def test_a_place_where_no_event_begins_is_told(log: Path) -> None:
    with pytest.raises(
        DataError, match=exactly("no event begins there (…/events.jsonl, byte 5): open the run again")
    ):
        event_at(log, 5)
