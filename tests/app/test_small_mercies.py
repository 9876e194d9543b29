"""What the console does not do: forget the theme, stop others' runs unasked, read what it does not know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.app import ComposeResult

from app.cli import main
from app.export import picture_of
from app.keys.refused_keys import RefusedKeys
from app.runs.client import prepare_resume
from app.runs.run_list import RunList
from app.settings import read_theme, settings_file, write_theme
from app.shell import First, SteerApp
from engine.comparison.run_items import read_items
from engine.errors import RunError
from engine.run.directory import RECORD_VERSION, RunDirectory
from engine.run.lock import RunLock
from screens.leaving import LeaveScreen
from screens.panels.error_panel import ErrorPanel
from screens.runs.screen import RunsScreen
from screens.widgets.detail_pane import DetailPane
from tests.console import until
from tests.exactly import exactly
from tests.made_run import create_run
from tests.synthetic_run import SyntheticRun, write_log


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = create_run(
        tmp_path / "outputs", "run", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={}
    )
    write_log(directory.events, SyntheticRun(examples=2).events())
    return directory


@pytest.fixture
def later_run(run: RunDirectory) -> RunDirectory:
    """A run that a later version wrote."""
    text = run.record.read_text()
    later = re.sub(f'("record_version": ?){RECORD_VERSION}', rf"\g<1>{RECORD_VERSION + 1}", text, count=1)
    assert later != text
    run.record.write_text(later)
    return run


# ---------------------------------------------------------------- the theme


async def test_the_theme_is_remembered(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test():
        assert app.theme == "steer-dark"
        await app.run_action("app.toggle_dark")
        await until(lambda: read_theme() == "steer-light", "the file")
    assert SteerApp(outputs=tmp_path / "outputs").theme == "steer-light"


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe{", b"[1]", b'{"theme": 7}', b'{"theme": "none"}', b"[" * 9000]
)
def test_no_settings_file_is_a_reason_to_fail(tmp_path: Path, content: bytes) -> None:
    settings_file().parent.mkdir(parents=True)
    settings_file().write_bytes(content)
    assert SteerApp(outputs=tmp_path).theme == "steer-dark"
    write_theme("steer-light")
    assert read_theme() == "steer-light"


def test_settings_that_cannot_be_written_are_forgotten(tmp_path: Path) -> None:
    place = settings_file().parent.parent
    place.parent.mkdir()
    place.write_text("a file where the folder should be")
    write_theme("steer-light")
    assert read_theme() == ""


# ---------------------------------------------------------------- pictures


async def test_messages_are_not_in_the_picture(tmp_path: Path) -> None:
    app = SteerApp(outputs=tmp_path / "outputs")
    async with app.run_test(notifications=True) as pilot:
        await until(lambda: isinstance(app.screen, RunsScreen), "the list")
        app.notify("Overlay", timeout=600)
        await pilot.pause()
        await until(lambda: "Overlay" in app.export_screenshot(), "the message")
        assert "Overlay" not in re.sub("&#160;", " ", picture_of(app))
        await pilot.pause()
        assert "Overlay" in app.export_screenshot()


# ---------------------------------------------------------------- a run of a later version


def test_a_later_run_is_refused_in_one_line(
    later_run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        RunError,
        match=exactly(
            "this run was written by a later version of steer-tui (its record has version 2, this "
            "version reads up to 1) (…): update steer-tui, or use the version that wrote it"
        ),
    ):
        prepare_resume(later_run)
    runs = RunList(later_run.path.parent.parent)
    assert not runs.read() and "later version" in runs.unreadable[later_run.path].what
    path, out = str(later_run.path), str(later_run.path / "out")
    for command in (
        ["batch", "--resume", path],
        ["compare", path, path],
        ["report", path],
        ["ctl", "events", path],
        ["ctl", "show", path],
        ["serve", path],
        ["export", "deltas", path, "--format", "vllm", "--out", out],
        ["export", "vectors", path, "--format", "gguf", "--out", out],
    ):
        assert main(command) == 2, command
        said = capsys.readouterr()
        assert "later version" in said.err and not said.out, command


def test_a_comparison_in_the_console_refuses_it_as_well(later_run: RunDirectory) -> None:
    with pytest.raises(
        RunError,
        match=exactly(
            "this run was written by a later version of steer-tui (its record has version 2, this "
            "version reads up to 1) (…): update steer-tui, or use the version that wrote it"
        ),
    ):
        read_items(later_run.path)


async def test_a_later_run_is_not_opened(later_run: RunDirectory) -> None:
    app = SteerApp(later_run.path.parent.parent, First(later_run.path))
    async with app.run_test():
        await until(lambda: isinstance(app.screen, ErrorPanel), "the refusal")
        assert app.session is None


# ---------------------------------------------------------------- leaving


async def test_ctrl_c_asks_before_it_stops_what_was_started_elsewhere(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.leaving._is_running", lambda path: True)
    app = SteerApp(run.path.parent.parent, First(run.path))
    async with app.run_test() as pilot:
        await until(lambda: app.session is not None and len(app.screen_stack) == 2, "the run")
        await pilot.press("ctrl+c")
        await until(lambda: isinstance(app.screen, LeaveScreen), "the question")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, LeaveScreen), "staying")
        await pilot.press("ctrl+c")
        await until(lambda: isinstance(app.screen, LeaveScreen), "the question")
        await pilot.press("S")
        await until(lambda: app.return_code == 130, "the end")


async def test_a_second_ctrl_c_detaches(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.leaving._is_running", lambda path: True)
    app = SteerApp(run.path.parent.parent, First(run.path))
    async with app.run_test() as pilot:
        await until(lambda: app.session is not None and len(app.screen_stack) == 2, "the run")
        await pilot.press("ctrl+c", "ctrl+c")
    assert app.return_code == 130 and "still running" in app.leaving.farewell[0]


def test_a_sweep_that_goes_on_is_told_of_when_the_console_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "my outputs" / "demo" / "sweep-1"
    folder.mkdir(parents=True)
    app = SteerApp(outputs=tmp_path / "my outputs")
    app.leaving.sweeps.append(folder)
    lock = RunLock(folder / "worker.lock")
    try:
        [line] = app.leaving.last_words()
        assert line.startswith(f"the sweep goes on: {folder}")
        assert line.endswith(f"steer-tui --outputs '{tmp_path}/my outputs'")
    finally:
        lock.release()
    assert app.leaving.last_words() == []


async def test_a_key_that_does_nothing_now_says_so(run: RunDirectory) -> None:
    app = SteerApp(outputs=run.path.parent.parent)
    async with app.run_test(notifications=True) as pilot:
        await until(lambda: app.home.selected is not None, "the list")
        await pilot.press("S", "S", "m")
        await until(lambda: not app.typing, "the keys")
        told = [shown.message for shown in app._notifications]
        assert told == ["S Stop: not possible here now."], "once, and not for keys that do something"


async def test_a_key_that_finds_nothing_to_scroll_says_nothing() -> None:
    class Short(RefusedKeys[None]):
        def compose(self) -> ComposeResult:
            yield DetailPane()

    app = Short()
    async with app.run_test(notifications=True) as pilot:
        app.query_one(DetailPane).focus()
        await pilot.press("down", "pagedown", "home", "left")
        assert not app._notifications
