"""A method of another package: its stage, section, events, fold and screen, without a line changed here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OUTSIDE = Path(__file__).parent / "outside_method"
ROOT = Path(__file__).parent.parent
CONFIG = """\
run: {{name: outside, outputs: {outputs}, stages: [agreement]}}
task: {{eval_split: dev, eval_size: 6}}
agreement: {{samples: 3, max_new_tokens: 60}}
"""
WATCH = """
import asyncio, sys
from pathlib import Path
from app.shell import First, SteerApp
from tests.console import drawn

async def main() -> None:
    app = SteerApp(first=First(Path(sys.argv[1])))
    async with app.run_test(size=(100, 30)) as pilot:
        while type(app.screen).__name__ != "OverviewScreen" or not app.screen.lines.option_count:
            await pilot.pause(0.05)
        await pilot.press("enter")
        while "agree least" not in (card := drawn(app)):
            await pilot.pause(0.05)
        print(card)
        await pilot.press("escape", "1")
        while type(app.screen).__name__ != "MethodScreen" or "6 questions" not in drawn(app):
            await pilot.pause(0.05)
        await pilot.pause(0.3)
        await pilot.press("w")
        await pilot.pause(0.3)
        assert type(app.screen).__name__ == "WhatIfScreen", app.screen
        await pilot.press("escape")
        await pilot.pause(0.3)
        print(drawn(app))

asyncio.run(asyncio.wait_for(main(), 110))
"""


@pytest.fixture
def environment() -> dict[str, str]:
    """One in which the package is installed: a folder with its modules and its metadata is on the path."""
    path = os.pathsep.join([str(OUTSIDE), str(ROOT)])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(outputs=tmp_path / "outputs"))
    return path


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_its_stage_runs_and_its_screen_shows_it(
    config: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Section, stage and events in batch; fold and screen in the console, which replays the run."""
    done = run("app.cli", "--batch", "--config", str(config), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (tmp_path / "outputs" / "outside").iterdir()
    lines = [json.loads(line) for line in (folder / "agreement" / "agreement.jsonl").read_text().splitlines()]
    assert len(lines) == 6
    assert {line["samples"] for line in lines} == {3}
    shown = subprocess.run(
        [sys.executable, "-c", WATCH, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    for line in lines:
        assert line["example"] in shown.stdout
    assert "6 questions" in shown.stdout
    asked = json.dumps({"system": "agreement", "example": lines[0]["example"], "samples": 5})
    command = [sys.executable, "-m", "engine", "what-if", str(folder)]
    tried = subprocess.run(
        command, env=environment, input=asked + "\n", capture_output=True, text=True, timeout=120
    )
    (reply,) = tried.stdout.splitlines()
    assert json.loads(reply)["yours"][0]["given"] == "5 samples", tried.stderr
    other = shutil.copytree(folder, folder.parent / "20260101-000000-0000")
    compared = run("app.cli", "compare", str(folder), str(other), environment=environment)
    assert "Agreement, over the items that are in both runs" in compared.stdout, compared.stderr
    assert "Samples each answer several times, and counts how many agree." in shown.stdout
    least = min(line["share"] for line in lines)
    assert f"→ the question whose samples agree least: {least:.0%}" in shown.stdout


def test_its_section_is_checked_like_any_other(config: Path, environment: dict[str, str]) -> None:
    config.write_text(config.read_text().replace("samples: 3", "samples: 1, tokens: 5"))
    done = run("app.cli", "check", str(config), environment=environment)
    assert done.returncode == 2
    assert "agreement.samples: found 1, expected a whole number at least 2 and at most 100" in done.stdout
    assert "agreement.tokens" in done.stdout


def test_without_the_package_its_stage_is_unknown(config: Path, environment: dict[str, str]) -> None:
    done = run("app.cli", "check", str(config), environment=environment | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 2
    assert "found agreement, expected one of mine" in done.stdout


def test_a_package_that_cannot_be_loaded_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    """An error with what, where and how to mend it, not a traceback."""
    broken = tmp_path / "broken-0.1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n")
    (broken / "entry_points.txt").write_text("[steer_tui.sections]\nbroken = no_such_module:Sections\n")
    path = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    done = run(
        "app.cli", "--batch", "--config", "configs/demo.yaml", environment=environment | {"PYTHONPATH": path}
    )
    assert done.returncode == 2
    assert "the method `broken` of another package cannot be loaded" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
