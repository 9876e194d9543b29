"""Which run a command's words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.choose_run import choose_run
from engine.run.directory import RunDirectory
from tests.made_run import create_run


def make(outputs: Path, created: float) -> RunDirectory:
    run = create_run(outputs, "demo", seed=0, stages=[], config={}, config_text="", versions={})
    record = run.read()
    record.created = created
    run.write(record)
    return run


def test_the_newest_of_several_is_taken_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, old = make(tmp_path, 2e9), make(tmp_path, 1e9)
    assert choose_run("demo", tmp_path) == new
    assert capsys.readouterr().err == f"demo: 2 runs; this is the newest, {new.path}\n"
    assert choose_run(old.path.name, tmp_path) == old
    assert capsys.readouterr().err == ""


def test_a_folder_named_by_others_does_not_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = make(tmp_path, 2e9)
    make(tmp_path, 1e9)
    odd = new.path.rename(new.path.with_name("\x1b]0;odd\x07\u202e"))
    assert choose_run("demo", tmp_path).path == odd
    assert capsys.readouterr().err.endswith("/demo/]0;odd\n")
