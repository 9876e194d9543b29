"""Files that survive a kill."""

from __future__ import annotations

from pathlib import Path

from engine.files import append_jsonl, csv_text, recover_batches, remove_unfinished, write_atomic


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
