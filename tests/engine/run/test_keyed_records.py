"""What was done is on disk before it is known, and is known again after a kill."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.errors import DataError, DiskError
from engine.run.keyed_records import KeyedRecords
from tests.exactly import exactly


class Measured(msgspec.Struct, frozen=True):
    name: str
    draw: int
    value: float = 0.0

    def key(self) -> tuple[str, int]:
        return self.name, self.draw


def opened(path: Path) -> KeyedRecords[tuple[str, int], Measured]:
    return KeyedRecords(path, Measured, Measured.key)


def test_records_are_found_again_by_key_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    records = opened(path)
    assert not records and records.get(("b", 0)) is None
    records.add(Measured("b", 0, 0.5))
    added: list[tuple[str, int, bool]] = []
    records.added = lambda record: added.append((*record.key(), record.key() in records))
    records.add(Measured("a", 0), Measured("a", 1))
    assert added == [("a", 0, True), ("a", 1, True)], "each new one, once it is kept"
    assert path.read_text() == (
        '{"name": "b", "draw": 0, "value": 0.5}\n'
        '{"name": "a", "draw": 0, "value": 0.0}\n{"name": "a", "draw": 1, "value": 0.0}\n'
    )
    for known in (records, opened(path)):
        assert list(known) == [("b", 0), ("a", 0), ("a", 1)]
        assert known["b", 0].value == 0.5 and ("b", 1) not in known and len(known) == 3


def test_what_a_kill_tore_is_cut_off_and_done_again(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    opened(path).add(Measured("a", 0), Measured("a", 1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    records = opened(path)
    assert list(records) == [("a", 0)]
    records.add(Measured("a", 1))
    assert path.read_bytes() == whole


def test_what_cannot_be_written_is_not_known(tmp_path: Path) -> None:
    """Else it would count as done, and be missing after the next start."""
    (tmp_path / "file").touch()
    records = opened(tmp_path / "file" / "measured.jsonl")
    with pytest.raises(DiskError):
        records.add(Measured("a", 0))
    assert ("a", 0) not in records


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"name": "a"}', "no field `draw`"), ('{"name": 3, "draw": 0}', "`name`: expected str, got int"),
        ("[]", "this line is not …"), ("{", "this line is not …"),
    ],
)  # fmt: skip
def test_a_line_that_is_something_else_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "measured.jsonl"
    opened(path).add(Measured("a", 0))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(
        DataError,
        match=exactly(
            f"{what} (…/measured.jsonl:2): restore the file, or remove it so that its stage writes it again"
        ),
    ):
        opened(path)


def test_a_line_may_be_written_in_another_way(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"

    def without_value(record: Measured) -> dict[str, object]:
        return {"name": record.name, "draw": record.draw}

    KeyedRecords(path, Measured, Measured.key, without_value).add(Measured("a", 0, 0.5))
    assert path.read_text() == '{"name": "a", "draw": 0}\n' and opened(path)["a", 0].value == 0.0


def test_two_lines_of_one_key_must_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    opened(path).add(Measured("a", 0, 0.5), Measured("b", 0))
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[0] + "\n")
    assert len(opened(path)) == 2
    path.write_text(whole + '{"name": "a", "draw": 0, "value": 0.7}\n')
    with pytest.raises(
        DataError,
        match=exactly(
            "('a', 0) stands in an earlier line already, with other values (…/measured.jsonl:3): restore the "
            "file, or remove it so that its stage writes it again"
        ),
    ) as caught:
        opened(path)
    assert caught.value.where.endswith("measured.jsonl:3") and "remove it" in caught.value.hint


@pytest.mark.parametrize("number", ["1" + "0" * 30, "-" + "9" * 19, "9" * 20, "7" * 5000])
def test_a_number_that_could_never_be_logged_is_told(tmp_path: Path, number: str) -> None:
    path = tmp_path / "measured.jsonl"
    opened(path).add(Measured("a", 0))
    path.write_text(f'{path.read_text()}{{"name": "a", "draw": {number}}}\n')
    with pytest.raises(
        DataError,
        match=exactly(
            "…… is a number that no record holds (…/measured.jsonl:2): restore the file, or remove it so that "
            "its stage writes it again"
        ),
    ) as caught:
        opened(path)
    assert caught.value.where.endswith("measured.jsonl:2")
