"""Runs in the trash, and back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.runs.trash import move_to_trash, restore
from engine.errors import RunError
from engine.run.directory import RunDirectory, discover
from engine.run.lock import RunLock
from tests.exactly import exactly
from tests.made_run import create_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return create_run(tmp_path, "demo", seed=0, stages=["eval"], config={}, config_text="{}\n", versions={})


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
    with pytest.raises(
        RunError,
        match=exactly(
            "there is already something of this name (…): rename or move away what stands there, "
            "then try again"
        ),
    ):
        restore(moved)
    assert (run.path / "precious").read_text() == "x" and (moved.now / "run.json").exists()


def test_a_link_that_leads_nowhere_stands_in_the_way_too(run: RunDirectory, tmp_path: Path) -> None:
    moved = move_to_trash(run.path)
    run.path.symlink_to(tmp_path / "none")
    with pytest.raises(RunError) as error:
        restore(moved)
    assert error.value.what == "there is already something of this name" and run.path.is_symlink()


def test_run_that_a_worker_holds_stays(run: RunDirectory) -> None:
    lock = RunLock(run.lock)
    with pytest.raises(RunError, match=exactly("worker … on … is at work on this run (…): stop it first")):
        move_to_trash(run.path)
    assert run.record.exists()
    lock.release()


def test_why_a_run_is_not_moved(run: RunDirectory, tmp_path: Path) -> None:
    (tmp_path / ".trash").symlink_to(tmp_path)
    with pytest.raises(RunError) as error:
        move_to_trash(run.path)
    assert str(error.value) == (
        f"the trash is a link: what is moved there leaves this folder ({tmp_path / '.trash'}): remove the link"
    )
    (tmp_path / ".trash").unlink()
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "demo").symlink_to(tmp_path)
    with pytest.raises(
        RunError,
        match=exactly("the trash is a link: what is moved there leaves this folder (…): remove the link"),
    ):
        move_to_trash(run.path)
    (tmp_path / ".trash" / "demo").unlink()
    there = tmp_path / ".trash" / "demo" / run.path.name
    there.mkdir(parents=True)
    with pytest.raises(RunError) as error:
        move_to_trash(run.path)
    assert str(error.value) == (
        f"there is already something of this name ({there}): rename or move away what stands there, then try again"
    )
    lock = RunLock(run.lock)
    with pytest.raises(RunError) as error:
        move_to_trash(run.path)
    assert (error.value.where, error.value.hint) == (str(run.path), "stop it first")
    assert error.value.what.startswith(f"worker {os.getpid()} on ")
    lock.release()
