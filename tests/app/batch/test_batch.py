"""`steer-tui batch` as a user meets it: a process with an exit code, on a pipe and on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

from engine.run.directory import RunDirectory, discover, inspect
from engine.run.event_log import LogReader

Make = Callable[..., Path]
WaitUntil = Callable[..., None]
BATCH = [sys.executable, "-m", "app.cli", "batch"]


def batch(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*BATCH, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [*BATCH, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def running(tmp_path: Path) -> int | None:
    """Process number of the worker of the only run, once it works on items."""
    runs = discover(tmp_path / "outputs")
    begun = runs and any(
        (runs[0].directory.path / name).exists() for name in ("count/items.jsonl", "control.sock")
    )
    return runs[0].pid if begun else None


def test_finished_run(make_config: Make, tmp_path: Path) -> None:
    done = batch("--config", make_config("Count", "CountAgain", items=3))
    assert done.returncode == 0, done.stderr
    (run,) = discover(tmp_path / "outputs")
    assert run.state == "finished"
    assert re.search(r"^\d\d:\d\d:\d\d example_stages:Count: started, 0 of 3 items$", done.stdout, re.M)
    assert "count/items.jsonl" in done.stdout and str(run.directory.path) in done.stdout
    assert "\x1b" not in done.stdout and not done.stderr


def test_failed_stage_is_one_line_and_exit_code_1(make_config: Make) -> None:
    done = batch("--config", make_config("Bug"))
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert (
        first.startswith("example_stages:Bug: ZeroDivisionError: a bug (") and "Traceback" not in done.stderr
    )
    assert "steer-tui batch --resume" in second


def test_results_of_before_a_failure_are_printed_before_it(make_config: Make) -> None:
    command = [*BATCH, "--config", str(make_config("Count", "Bug"))]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)
    assert done.returncode == 1
    assert (
        0
        < done.stdout.index("count/items.jsonl")
        < done.stdout.index("example_stages:Bug: ZeroDivisionError")
    )
    alone = batch("--config", make_config("Bug"))
    assert "all files" not in alone.stdout and "Stages" not in alone.stdout


def test_error_a_user_can_hint_is_exit_code_2(make_config: Make) -> None:
    done = batch("--config", make_config("BadData"))
    assert done.returncode == 2
    assert "no such column (data.jsonl:3): name it `question`" in done.stderr


def test_bad_configuration_lists_every_problem(make_config: Make, tmp_path: Path) -> None:
    done = batch("--config", make_config("Count"), "--set", "online.L=0", "onlin.M=1")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2 and not (tmp_path / "outputs").exists()


def test_stages_chosen_now_and_the_others_later(make_config: Make, tmp_path: Path) -> None:
    config = make_config("Count", "CountAgain")
    assert batch("--config", config, "--stages", "example_stages:Count").returncode == 0
    (run,) = discover(tmp_path / "outputs")
    assert not (run.directory.path / "again").exists()
    later = batch("--resume", run.directory.path, "--stages", "example_stages:CountAgain")
    assert later.returncode == 0 and (run.directory.path / "again" / "items.jsonl").exists()
    record = run.directory.read()
    assert [stage.status for stage in record.stages.values()] == ["finished", "finished"]


def test_ctrl_c_keeps_and_tells_how_to_go_on(
    make_config: Make, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    process = start("--config", make_config("Count", items=60))
    wait_until(lambda: running(tmp_path), "the worker")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    (run,) = discover(tmp_path / "outputs")
    assert run.state == "stopped" and not run.alive
    assert f"kept in {run.directory.path}" in err and "steer-tui batch --resume" in err
    monkeypatch.delenv("ITEM_SECONDS")
    again = batch("--resume", run.record.run_id, "--outputs", tmp_path / "outputs")
    assert again.returncode == 0, again.stderr
    assert len((run.directory.path / "count" / "items.jsonl").read_text().splitlines()) == 60


def test_second_ctrl_c_leaves_at_once(make_config: Make, tmp_path: Path, wait_until: WaitUntil) -> None:
    process = start("--config", make_config("Deaf"))
    try:
        wait_until(lambda: running(tmp_path), "the worker")
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        wait_until(
            lambda: "Ctrl+C again" in str(process.stdout and process.stdout.readline()), "the question"
        )
        process.send_signal(signal.SIGINT)
        process.wait(4)
        assert process.returncode == 130
    finally:
        kill_worker(tmp_path)


def test_engine_that_gives_no_word_is_not_waited_for(
    make_config: Make, tmp_path: Path, wait_until: WaitUntil
) -> None:
    process = start("--config", make_config("Deaf"))
    try:
        wait_until(lambda: running(tmp_path), "the worker")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 130 and "no answer from the engine" in err
    finally:
        kill_worker(tmp_path)


def test_vanished_worker_is_told_of(
    make_config: Make, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    process = start("--config", make_config("Count", items=400))
    wait_until(lambda: running(tmp_path), "the worker")
    kill_worker(tmp_path)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ended from outside (by signal SIGKILL" in err and "steer-tui batch --resume" in err
    assert discover(tmp_path / "outputs")[0].state == "interrupted"


@pytest.mark.parametrize("comes_back", ["", "count", "record"])
def test_a_folder_that_is_deleted_at_work_is_told_of(
    make_config: Make,
    tmp_path: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    comes_back: str,
) -> None:
    """With nothing to resume, even where a file that was being written has made the folder again."""
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    process = start("--config", make_config("Count", items=400))
    wait_until(lambda: running(tmp_path), "the worker")
    assert process.stdout is not None
    while (
        "started" not in process.stdout.readline()
    ):  # the batch knows of a log only when it has read some of it
        assert process.poll() is None
    [run] = discover(tmp_path / "outputs")
    record = run.directory.record.read_bytes()
    shutil.rmtree(run.directory.path.rename(tmp_path / "bin"))
    if comes_back == "count":
        (run.directory.path / "count").mkdir(parents=True, exist_ok=True)
    if comes_back == "record":
        run.directory.path.mkdir(exist_ok=True)
        run.directory.record.write_bytes(record)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "moved or deleted while the engine worked in it" in err and "--resume" not in err
    assert bool(discover(tmp_path / "outputs")) == (comes_back == "record")


def test_run_somebody_works_on_is_refused(
    make_config: Make, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    process = start("--config", make_config("Count", items=400))
    wait_until(lambda: running(tmp_path), "the worker")
    (run,) = discover(tmp_path / "outputs")
    again = batch("--resume", run.directory.path)
    assert again.returncode == 2 and f"worker {run.pid}" in again.stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130 and inspect(run.directory.path).state == "stopped"


def on_terminal(config: Path) -> pexpect.spawn[str]:
    dropped = {"NO_COLOR", "COLUMNS", "LINES"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    command, *arguments = [*BATCH, "--config", str(config)]
    return pexpect.spawn(
        command,
        arguments,
        env=environment | {"TERM": "xterm-256color"},
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=120,
    )


def test_lines_on_a_terminal(make_config: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """As anywhere else; with more than five seconds of work one says how far it is."""
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    terminal = on_terminal(make_config("Count", items=140))
    terminal.expect("started, 0 of 140 items")
    terminal.expect(r"\d+ of 140 items, \d+ tokens/s, 0:0\d left")
    terminal.expect("finished in 0:0")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


def test_ctrl_c_on_a_terminal(make_config: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    terminal = on_terminal(make_config("Count", items=400))
    terminal.expect(r"[1-9]\d* of 400 items")
    terminal.sendintr()
    terminal.expect("steer-tui batch --resume")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130


def test_no_color_means_no_colour(make_config: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(make_config("Count"))
    terminal.close()
    monkeypatch.setenv("NO_COLOR", "1")
    command, *arguments = [*BATCH, "--config", str(make_config("Count"))]
    terminal = pexpect.spawn(command, arguments, encoding="utf-8", timeout=120)
    terminal.expect(pexpect.EOF)
    assert (
        isinstance(terminal.before, str)
        and not re.search(r"\x1b\[[39][0-7]m", terminal.before)
        and "started, 0 of 5" in terminal.before
    )


def kill_worker(tmp_path: Path) -> None:
    for run in discover(tmp_path / "outputs"):
        if run.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(run.pid, signal.SIGKILL)


def test_closed_pipe_stops_the_worker(
    make_config: Make, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`steer-tui batch | head -1` must not leave a worker that nobody watches."""
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    process = start("--config", make_config("Count", "CountAgain", "Deaf", items=20))
    assert process.stdout is not None and process.stdout.readline().startswith("run:")
    process.stdout.close()
    process.wait(60)
    assert process.stderr is not None and "Traceback" not in process.stderr.read()
    wait_until(lambda: discover(tmp_path / "outputs")[0].state == "stopped", "the worker's end")


def test_any_number_of_broken_lines_is_passed_over(tmp_path: Path) -> None:
    """A thousand of them ended the batch."""
    lines = ["broken"] * 1_100 + ['{"type":"Notice","seq":1,"time":1.0,"text":"x"}']
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    entries = LogReader(RunDirectory(tmp_path).events).poll()
    assert [entry.event.seq for entry in entries] == [1]
