"""Files that survive a kill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.errors import DataError
from engine.files import (
    append_jsonl,
    csv_text,
    decoded,
    file_stem,
    read_jsonl,
    read_whole_jsonl,
    recover_batches,
    remove_unfinished,
    sync_appended,
    write_atomic,
)


def test_what_a_kill_left_unfinished_is_removed(tmp_path: Path) -> None:
    """And nothing else: neither finished files nor hidden ones of others."""
    (tmp_path / "a").mkdir()
    for name in (".x.json.k3j2.unfinished", ".hidden", "x.unfinished"):
        (tmp_path / "a" / name).touch()
    write_atomic(tmp_path / "a" / "x.json", "{}")
    remove_unfinished(tmp_path)
    assert {path.name for path in (tmp_path / "a").iterdir()} == {".hidden", "x.unfinished", "x.json"}


def test_a_table_has_its_columns_even_without_rows() -> None:
    assert csv_text([]) == ""
    assert csv_text([], ["a", "b"]) == "a,b\n"
    assert csv_text([{"a": 1, "b": "x,y", "c": 0}], ["a", "b"]) == 'a,b\n1,"x,y"\n'


def test_of_a_torn_batch_nothing_is_kept(tmp_path: Path) -> None:
    """A file of ten lines is written by four; the last batch is smaller."""
    path = tmp_path / "x.jsonl"
    for lines, kept in ((0, 0), (3, 0), (4, 4), (9, 8), (10, 10)):
        path.write_bytes(b"")
        append_jsonl(path, ({"line": number} for number in range(lines)))
        assert recover_batches(path, 4, 10) == [{"line": number} for number in range(kept)]
        assert path.read_bytes().count(b"\n") == kept


def test_what_is_appended_comes_to_the_disk_once_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_appended()
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}")))
    for name in ("z", "b", "z", "gone"):
        append_jsonl(tmp_path / name, [{"from": name}])
    (tmp_path / "gone").unlink()
    assert not synced, "a kill leaves what is written; a loss of power takes a second's"
    sync_appended()
    assert synced == [str(tmp_path / "z"), str(tmp_path / "b")], "in the order of writing"
    sync_appended()
    assert len(synced) == 2


def test_halves_of_letters_become_question_marks(tmp_path: Path) -> None:
    """However they are spelled: JSON's escape, or bytes that Python's reader lets through."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": "\\ud800"}\n{"a": "x\xed\xa0\x80y"}\n{"a": ["\\u00e9", {"\\udfff": 1}]}\n')
    assert read_jsonl(path) == [{"a": "?"}, {"a": "x?y"}, {"a": ["é", {"?": 1}]}]


def test_a_file_written_whole_has_a_whole_last_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for text, good in (("", True), ('{"a": 1}\n', True), ('{"a": 1}', False), ('{"a": 1}\n{"b"', False)):
        path.write_text(text)
        if good:
            assert len(read_whole_jsonl(path)) == text.count("\n")
        else:
            with pytest.raises(DataError, match="cut off"):
                read_whole_jsonl(path)


@pytest.mark.parametrize("data", [b"\xff", b"[" * 100_000, b'{"a": 1}', b"", b'["\xed\xa0\x80"]'])
def test_a_file_of_another_kind_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(DataError, match="no names: ") as caught:
        decoded(tmp_path / "x.json", list[str], "no names", "run it again")
    assert caught.value.hint == "run it again" and caught.value.where.endswith("x.json")


@pytest.mark.parametrize("number", [(1 << 64) - 1, -(1 << 63)])
def test_numbers_of_64_bits_are_read_and_larger_ones_are_told(tmp_path: Path, number: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"a": {number}}}\n')
    assert read_jsonl(path) == [{"a": number}]
    for larger in (number + 1 if number > 0 else number - 1, number * 10**9):
        path.write_text(f'{{"a": 1}}\n{{"a": {larger}}}\n')
        with pytest.raises(DataError) as caught:
            read_jsonl(path)
        assert caught.value.what == f"{str(larger)[:20]}… is a number that no record holds"
        assert caught.value.where == f"{path}:2"


def test_a_name_from_an_id_is_the_same_in_every_version() -> None:
    """The beginning of its SHA-256, whatever the id holds."""
    assert file_stem("abc") == "ba7816bf8f01cfea414140de"
    assert {len(file_stem(one)) for one in ("", "../x", "a\0b", "\ud800", "Abc")} == {24}
    assert file_stem("Abc") != file_stem("abc")
