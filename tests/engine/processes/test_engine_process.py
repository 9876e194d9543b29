"""How an engine process is started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.processes import engine_process
from engine.processes.engine_process import engine_command, engine_environment

ROOT = str(Path(__file__).parents[3])


def test_it_is_this_pythons_and_looks_for_no_module_in_its_working_folder() -> None:
    assert engine_command("run", "x") == [sys.executable, "-P", "-m", "engine", "run", "x"]


def test_this_copy_comes_before_what_else_the_user_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine:/yours")
    monkeypatch.setenv("SOME_KEY", "kept")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    found = engine_environment()
    assert found["PYTHONPATH"] == f"{ROOT}:/mine:/yours"
    assert (found["PYTHONUNBUFFERED"], found["SOME_KEY"]) == ("1", "kept")
    monkeypatch.delenv("PYTHONPATH")
    assert engine_environment()["PYTHONPATH"] == ROOT
    monkeypatch.setattr(engine_process, "get_path", lambda name: ROOT if name == "platlib" else "/lib")
    assert engine_environment()["PYTHONPATH"] == "", "installed: Python looks there anyway"
