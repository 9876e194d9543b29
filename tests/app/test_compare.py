"""`steer-tui compare`: what it prints, and its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import main
from tests.two_runs import decided, evaluated, make_run


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    config = {"online": {"L": 3, "layers": [2]}, "run": {"name": "a"}}
    a = [decided("x", 2, alpha=1.0, segment="s"), evaluated("esm", "x", True), evaluated("esm", "y", True)]
    b = [decided("x", 2, alpha=2.0, segment="t"), evaluated("esm", "x", False), evaluated("esm", "y", True)]
    other = {"online": {"L": 5, "layers": [2]}, "run": {"name": "b"}}
    return str(make_run(tmp_path, "a", a, config)), str(make_run(tmp_path, "b", b, other))


def test_tables(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs]) == 0
    out = capsys.readouterr().out
    for words in ("Changed fields", "online.L", "ESM, over the items that are in both runs", "−0.500", "1/0"):
        assert words in out


def test_json(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *runs, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert (form["form"], form["version"]) == ("steer-tui comparison", 1)
    assert form["changed"] == [{"field": "online.L", "a": 3, "b": 5}]
    method = form["methods"][0]
    assert (method["system"], method["method"], method["n"]) == ("ESM", "esm", 2)
    assert (method["only_a_right"], method["both_right"], method["p"]) == (1, 1, 1.0)
    first, second = method["items"]
    assert first["parts_at"]["step"] == "segment 2" and first["parts_at"]["differs"] == ["α", "text"]
    assert first["parts_at"]["a"]["α"] == 1.0 and first["parts_at"]["b"]["text"] == "t"
    assert second["parts_at"] is None


def test_mistakes(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs[0], runs[0]]) == 2
    assert "these are the same run" in capsys.readouterr().err
    assert main(["compare", runs[0], "no such run"]) == 2
    assert "there is no such run" in capsys.readouterr().err
    for wrong in (
        ["compare", *runs, "--batch"],
        ["--json"],
        ["compare", runs[0]],
        ["compare", *runs, runs[0]],
    ):
        with pytest.raises(SystemExit):
            main(wrong)
