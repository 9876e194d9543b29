"""`steer-tui sweep`: what is refused, a whole sweep, and one that is resumed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli import main
from tests.conftest import ROOT

CONFIG = """\
run: {name: test, outputs: OUT, stages: ["tests.stages.sweep_stages:Gather", "tests.stages.sweep_stages:Weigh"]}
task: {train_size: 4}
online: {L: 7, k_scale: 1.0}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests/stages"), str(ROOT)]))
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("OUT", str(tmp_path / "outputs")))
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the arguments SPEC --resume is required"),
        (["online.L=1,2", "--batch"], "unrecognized arguments: --batch"),
        (["online.L=1,2", "--resume", "x"], "--resume: not allowed with argument SPEC"),
        (["online.L=1,2", "--jobs", "0"], "expected 1 or more"),
        (["online.L=1,2", "--most", "-1"], "--most: expected"),
    ],
)
def test_what_does_not_fit_together(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        main(["sweep", *arguments])
    assert error.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["online.nothing=1,2"], "a known field"),
        (["online.L=0,2"], "found 0, expected a whole number at least 1"),
        (["online.L=1..1000"], "--most 1000"),
    ],
)
def test_a_wrong_sweep_makes_no_folder(
    config: Path, specs: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", *specs, "--config", str(config)]) == 2
    assert words in capsys.readouterr().err
    assert not (config.parent / "outputs").exists()


def test_a_sweep_from_beginning_to_end(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = ["online.k_scale=-1,2"]
    assert main(["sweep", *specs, "--config", str(config), "--set", "online.L=5"]) == 1
    told = capsys.readouterr()
    assert "1/2 online.k_scale=-1: failed" in told.out and "a negative weight" in told.err
    assert "Gather 1× (taken over 1×)" in told.out.replace("tests.stages.sweep_stages:", "")
    (folder,) = (config.parent / "outputs/test").glob("sweep-*")
    assert f"to resume: steer-tui sweep --resume {folder}" in told.err
    assert main(["sweep", "--resume", folder.name, "--outputs", str(folder.parent.parent)]) == 1
    assert "2/2 online.k_scale=2: finished" in capsys.readouterr().out


def test_there_is_no_such_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--resume", "nothing", "--outputs", str(tmp_path)]) == 2
    assert "there is no such sweep" in capsys.readouterr().err


@pytest.mark.parametrize("more", (["--config", "c.yaml"], ["--set", "online.L=1"], ["--stages", "eval"]))
def test_a_resumed_sweep_keeps_its_settings(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--resume", "x", *more]) == 2
    assert "a resumed sweep keeps its settings (--resume)" in capsys.readouterr().err
