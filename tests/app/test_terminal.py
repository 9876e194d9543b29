"""The console in a real terminal: how it leaves it, whatever makes it leave."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pexpect
import pytest

from engine.run.directory import discover
from tests.made_run import create_run
from tests.synthetic_run import SyntheticRun, write_log

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""To the alternate screen, and back."""

Console = Any  # pexpect has no types
MakeConfig = Callable[..., Path]


@pytest.fixture
def open_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Console]]:
    """`open_console("--config", path)`: the real command in a terminal of 80×24."""
    monkeypatch.setenv("ITEM_SECONDS", "0.02")
    opened: list[Console] = []

    def start(*arguments: str, size: tuple[int, int] = (24, 80), **environment: str) -> Console:
        console = pexpect.spawn(
            sys.executable, ["-m", "app.cli", *arguments], cwd=tmp_path, dimensions=size, timeout=120,
            encoding="utf-8", env=os.environ | {"TERM": "xterm-256color"} | environment,
        )  # fmt: skip
        console.logfile_read = io.StringIO()
        opened.append(console)
        console.expect_exact(ENTER)
        return console

    yield start
    for console in opened:
        with suppress(OSError, pexpect.ExceptionPexpect):
            console.close(force=True)
    for run in discover(tmp_path / "outputs"):
        if run.pid is not None:
            os.kill(run.pid, signal.SIGKILL)


def start_run(console: Console) -> None:
    console.expect("enter")
    console.expect("Start")
    time.sleep(0.3)
    console.send("\r")
    console.expect("worker [0-9]")


def ended(console: Console) -> int:
    console.expect(pexpect.EOF)
    console.wait()
    return console.exitstatus


def test_ctrl_c_keeps_and_says_where(open_console: Callable[..., Console], make_config: MakeConfig) -> None:
    console = open_console("--config", str(make_config("Count", items=5000)))
    start_run(console)
    console.send("\x03")
    console.expect_exact(LEAVE)
    console.expect("stopped; kept in .*--resume")
    assert ended(console) == 130


def test_second_ctrl_c_leaves_at_once(open_console: Callable[..., Console], make_config: MakeConfig) -> None:
    console = open_console("--config", str(make_config("Deaf")))
    start_run(console)
    console.send("\x03")
    console.expect("waiting, \\d s at most")
    pressed = time.monotonic()
    console.send("\x03")
    console.expect_exact(LEAVE)
    console.expect("left; the engine stops after its current item")
    assert ended(console) == 130
    assert time.monotonic() - pressed < 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_give_the_terminal_back_and_detach(
    open_console: Callable[..., Console], make_config: MakeConfig, number: signal.Signals, tmp_path: Path
) -> None:
    console = open_console("--config", str(make_config("Count", items=5000)))
    start_run(console)
    os.kill(console.pid, number)
    console.expect_exact(LEAVE)
    console.expect("still running: ")
    assert ended(console) == 128 + number
    [run] = discover(tmp_path / "outputs")
    assert run.state == "running"


def test_lost_terminal_leaves_the_engine_at_work(
    open_console: Callable[..., Console], make_config: MakeConfig, tmp_path: Path
) -> None:
    console = open_console("--config", str(make_config("Count", items=5000)))
    start_run(console)
    console.ptyproc.fileobj.close()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if os.waitpid(console.pid, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the console outlives its terminal")
    [run] = discover(tmp_path / "outputs")
    assert run.state == "running"


def test_resize_and_quit(open_console: Callable[..., Console]) -> None:
    console = open_console(COLUMNS="80", LINES="24")
    console.expect_exact("No run yet.")
    console.setwinsize(24, 40)
    console.expect_exact("40 columns are too few")
    console.setwinsize(50, 160)
    console.expect_exact("No run yet.")
    console.send("q")
    console.expect_exact(LEAVE)
    assert ended(console) == 0


def test_no_color_is_obeyed(open_console: Callable[..., Console]) -> None:
    """Not even greys; what colour tells elsewhere is told by signs, words, bold, dim and reverse."""
    console = open_console(NO_COLOR="1", COLORTERM="truecolor")
    console.expect_exact("No run yet.")
    console.send("q")
    console.expect_exact(LEAVE)
    assert ended(console) == 0
    sent = console.logfile_read.getvalue()
    codes = {code for codes in re.findall(r"\x1b\[([\d;]*)m", sent) for code in codes.split(";")}
    assert codes - {""} and codes <= {"", "0", "1", "2", "3", "4", "7", "39", "49"}, codes


def test_a_terminal_that_cannot_place_text_is_refused(tmp_path: Path) -> None:
    console = pexpect.spawn(
        sys.executable, ["-m", "app.cli"], cwd=tmp_path, timeout=120, encoding="utf-8",
        env=os.environ | {"TERM": "dumb"},
    )  # fmt: skip
    console.expect_exact("TERM is dumb")
    assert ended(console) == 2


def test_a_console_whose_terminal_died_ends(tmp_path: Path) -> None:
    """In a session that the terminal does not lead, no SIGHUP comes when it is closed."""
    master, slave = os.openpty()
    code = "import time, app.terminal.watch as w; w.watch_terminal(); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        os.close(slave)
        time.sleep(0.3)
        assert process.poll() is None
        os.close(master)
        # Where the tests themselves run without SIGHUP (nohup), the console ends by itself after its patience.
        assert process.wait(60) in (-signal.SIGHUP, 128 + signal.SIGHUP)
    finally:
        process.kill()


@pytest.fixture
def finished_run(tmp_path: Path) -> Path:
    run = create_run(
        tmp_path / "outputs", "still", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={}
    )
    write_log(run.events, SyntheticRun(examples=3).events())
    return run.path


def read_until_quiet(console: Console) -> int:
    """The bytes that came until none came for four seconds."""
    total, deadline = 0, time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            total += len(console.read_nonblocking(1 << 16, timeout=4))
        except pexpect.TIMEOUT:
            return total
    raise AssertionError("the console goes on sending")


def test_nothing_is_sent_while_nothing_changes(
    open_console: Callable[..., Console], finished_run: Path
) -> None:
    """A finished run over a slow line costs nothing."""
    console = open_console(str(finished_run))
    console.expect_exact("Quit")
    read_until_quiet(console)
