"""Files that survive a kill."""

from __future__ import annotations

import math
import os
import stat
import tempfile
from pathlib import Path

import msgspec
import pytest

from engine.errors import DataError, DiskError
from engine.files import (
    append_jsonl,
    converted,
    csv_text,
    decoded,
    file_stem,
    inside,
    json_line,
    read_jsonl,
    read_records,
    read_whole_jsonl,
    recover_batches,
    recover_jsonl,
    recover_records,
    remove_unfinished,
    required,
    sync_appended,
    write_all_atomic,
    write_atomic,
)
from tests.exactly import exactly


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
    for name in ("z", "new/folder/b", "z", "gone"):
        append_jsonl(tmp_path / name, [{"from": name}])
    (tmp_path / "gone").unlink()
    assert not synced, "a kill leaves what is written; a loss of power takes a second's"
    sync_appended()
    assert synced == [str(tmp_path / "z"), str(tmp_path / "new/folder/b")], "in the order of writing"
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
            said = f"the last line is cut off ({path}:{1 + text.count(chr(10))}): copy it again"
            with pytest.raises(DataError, match=exactly(said)):
                read_whole_jsonl(path, "copy it again")
    path.write_text(f'{{"a": {10**30}}}\n')
    assert read_whole_jsonl(path) == [{"a": 10**30}], (
        "nothing is appended to it, so that any number can be kept"
    )


@pytest.mark.parametrize("data", [b"\xff", b"[" * 100_000, b'{"a": 1}', b"", b'["\xed\xa0\x80"]'])
def test_a_file_of_another_kind_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(DataError, match="no names: ") as caught:
        decoded(tmp_path / "x.json", list[str], "no names", "run it again")
    assert caught.value.hint == "run it again" and caught.value.where.endswith("x.json")
    with pytest.raises(
        DataError, match=exactly("no names: No such file or directory (…/y.json): run it again")
    ):
        decoded(tmp_path / "y.json", list[str], "no names", "run it again")


def test_a_file_that_is_nested_without_end_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"[" * 100_000)
    with pytest.raises(
        DataError, match=exactly("no names: it is nested too deeply (…/x.json): run it again")
    ):
        decoded(tmp_path / "x.json", list, "no names", "run it again")


def test_a_file_of_an_earlier_stage_is_missed_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    told = "`x.json` is not there (…/x.json): run the stage `mine` of this run first"
    with pytest.raises(DataError, match=exactly(told)):
        required(path, "mine")
    path.touch()
    assert required(path, "mine") == path


def test_several_files_are_written_whole_or_one_is_told(tmp_path: Path) -> None:
    write_all_atomic([])
    folder = tmp_path / "new" / "folder"
    write_all_atomic([(folder / str(number), b"%d" % number) for number in range(20)])
    assert {path.name: path.read_text() for path in folder.iterdir()} == {str(n): str(n) for n in range(20)}
    with pytest.raises(DiskError):
        write_all_atomic([(folder / "a", b"a"), (folder / "1" / "b", b"b")])


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
    assert file_stem("Abc") != file_stem("abc") and file_stem("\ud800") != file_stem("?")


@pytest.mark.parametrize("name", ["", ".", "/etc/passwd", "../x", "a/../../x", "a\0b", "../" + "x" * 300])
def test_a_name_from_a_file_leads_to_nothing_outside_its_folder(name: str) -> None:
    said = f"a file is named {name[:200]!r}, which is not in the folder it has to be in (/run): "
    with pytest.raises(
        DataError, match=exactly(said + "restore the file, or remove it so that its stage writes it again")
    ):
        inside(Path("/run"), name)
    assert inside(Path("/run"), "a/b..c") == Path("/run/a/b..c")


def test_a_whole_file_is_on_the_disk_before_it_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may read it. Where it cannot take its name nothing of it is left."""
    path, done = tmp_path / "x.json", list[str]()
    monkeypatch.setattr(tempfile, "tempdir", "/no/such")  # a name is taken within one file system alone
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda file: done.append(f"{os.fstat(file).st_size} bytes") or sync(file)
    )
    monkeypatch.setattr(os, "replace", lambda *names: done.append("renamed") or rename(*names))
    write_atomic(path, "é")
    assert done == ["2 bytes", "renamed"] and path.read_bytes() == b"\xc3\xa9"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    (tmp_path / "folder").mkdir()
    with pytest.raises(DiskError):
        write_atomic(tmp_path / "folder", "x")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "x.json"]


def test_a_file_that_is_not_written_to_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends it: Ctrl+C is no error of the disk."""
    (tmp_path / "x.json").write_text("old")

    def interrupted(file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "x.json", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"x.json": "old"}


def test_a_record_is_a_line_of_whole_letters_and_numbers() -> None:
    assert json_line({"a": "é", "b": [1, 2.5]}) == '{"a": "é", "b": [1, 2.5]}\n'
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_line({"a": number})


def test_what_is_appended_to_begins_behind_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    assert recover_jsonl(path) == []
    whole = '{"a": "é"}\n{"b": 2}\n'
    for tail, keep, records in (("", None, 2), ('{"c"', None, 2), ('{"c": 3}', 1, 1), ("", 0, 0), ("", 9, 2)):
        path.write_text(whole + tail)
        assert recover_jsonl(path, keep) == [{"a": "é"}, {"b": 2}][:records]
        assert path.read_text() == "".join(whole.splitlines(keepends=True)[:records])


@pytest.mark.parametrize("line", ["[1]", "3", "{", "[" * 100_000], ids=["list", "number", "torn", "deep"])
def test_a_line_that_is_no_record_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(DataError, match="this line is not a JSON object") as caught:
        read_jsonl(tmp_path / "x.jsonl")
    assert caught.value.where == f"{tmp_path}/x.jsonl:2"


class Layer(msgspec.Struct):
    """A record with a field of its own and one inside."""

    layer: int
    sizes: list[int] = []


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, "no field `layer`"),
        ({"layer": "x"}, "`layer`: expected int, got str"),
        ({"layer": 1, "sizes": [2, None]}, "`sizes[1]`: expected int, got null"),
        (3, "Expected `object`, got `int`"),
    ],
)
def test_a_row_of_another_form_is_told_by_its_field(row: object, told: str) -> None:
    with pytest.raises(DataError, match=exactly(f"{told} (x.jsonl:7): run it again")):
        converted(row, Layer, "x.jsonl:7", "run it again")


def test_a_line_of_another_form_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"layer": 1}\n{"sizes": []}\n')
    for read in (read_records, recover_records):
        with pytest.raises(DataError, match=exactly(f"no field `layer` ({path}:2): run it again")):
            read(path, Layer, "run it again")
