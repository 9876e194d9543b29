"""Titles, tags and the archive; and runs in the trash."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs.labels import NO_LABEL, Label, Labels, tags_of
from app.runs.trash import move_to_trash, restore
from engine.errors import DataError, RunError
from engine.run.directory import RunDirectory, discover
from engine.run.lock import RunLock
from tests.made_run import create_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return create_run(tmp_path, "demo", seed=0, stages=["eval"], config={}, config_text="{}\n", versions={})


def test_labels_are_read_back_and_forgotten_when_empty(run: RunDirectory, tmp_path: Path) -> None:
    labels, other = Labels(tmp_path), Labels(tmp_path)
    labels.put(run.path, Label("the good one", ("draft", "gpu"), True))
    other.read()
    assert other.of(run.path) == labels.of(run.path) == Label("the good one", ("draft", "gpu"), True)
    other.put(run.path, NO_LABEL)
    labels.read()
    assert labels.of(run.path) == NO_LABEL and "demo" not in labels.path.read_text()


def test_two_consoles_do_not_lose_each_others_labels(run: RunDirectory, tmp_path: Path) -> None:
    here, there = Labels(tmp_path), Labels(tmp_path)
    here.read()
    there.put(tmp_path / "demo" / "other", Label("theirs"))
    here.put(run.path, Label("ours"))
    assert here.of(tmp_path / "demo" / "other").title == "theirs" and here.of(run.path).title == "ours"


@pytest.mark.parametrize("garbage", [b"{", b"[]", b'{"runs": {"a": 3}}', b"\xff", b'{"version": 99}'])
def test_garbage_is_told_and_left_as_it_is(run: RunDirectory, tmp_path: Path, garbage: bytes) -> None:
    labels = Labels(tmp_path)
    labels.path.write_bytes(garbage)
    labels.read()
    assert labels.of(run.path) == NO_LABEL and "labels" in labels.wrong
    assert ("titles, tags and archived runs are not shown" in labels.wrong) == (b"99" not in garbage)
    with pytest.raises(DataError):
        labels.put(run.path, Label("mine"))
    assert labels.path.read_bytes() == garbage
    labels.path.unlink()
    labels.put(run.path, Label("mine"))
    assert not labels.wrong and labels.of(run.path).title == "mine"


def test_tags_are_split_and_kept_once() -> None:
    assert tags_of(" draft, gpu draft,,x ") == ("draft", "gpu", "x") and tags_of(" ") == ()


def test_trash_and_back(run: RunDirectory, tmp_path: Path) -> None:
    before = run.record.read_bytes()
    moved = move_to_trash(run.path)
    assert discover(tmp_path) == [] and moved.now == tmp_path / ".trash" / "demo" / run.path.name
    restore(moved)
    assert run.record.read_bytes() == before and not moved.now.exists()


def test_what_stands_in_the_way_is_not_overwritten(run: RunDirectory) -> None:
    moved = move_to_trash(run.path)
    run.path.mkdir()
    (run.path / "precious").write_text("x")
    with pytest.raises(RunError, match="already something"):
        restore(moved)
    assert (run.path / "precious").read_text() == "x" and (moved.now / "run.json").exists()


def test_run_that_a_worker_holds_stays(run: RunDirectory) -> None:
    lock = RunLock(run.lock)
    with pytest.raises(RunError, match="at work on this run"):
        move_to_trash(run.path)
    assert run.record.exists()
    lock.release()
