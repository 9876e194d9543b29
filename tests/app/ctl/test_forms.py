"""What `steer-tui ctl --json` writes, and its errors, word for word: scripts read them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.cli import main
from app.ctl import commands, orders
from app.ctl.output import write_error, write_line, write_warning
from app.runs.client import WorkerReply
from engine.errors import RunError
from engine.events import Notice, StageProgress, StageStarted
from engine.run.directory import RunDirectory, StageRecord
from engine.run.lock import RunLock
from tests.two_runs import decided, make_run

Ctl = Callable[..., tuple[int, list[Any], str]]


@pytest.fixture
def ctl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """`ctl("list", …)`: (exit code, JSON lines, standard error)."""

    def run(*arguments: str) -> tuple[int, list[Any], str]:
        code = main(["ctl", *arguments, "--json", "--outputs", str(tmp_path)])
        said = capsys.readouterr()
        return code, [json.loads(line) for line in said.out.splitlines()], said.err

    return run


@pytest.mark.parametrize(
    ("command", "sent", "named"),
    [
        (["pause"], "pause", "pause"), (["unpause"], "continue", "unpause"), (["stop"], "stop", "stop"),
        (["stop", "--after"], "stop_after", "stop --after"),
    ],
)  # fmt: skip
def test_the_answer_to_an_order(
    command: list[str], sent: str, named: str, ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(make_run(tmp_path, "a", [], status="running"))
    run.control.touch()
    lock, orders_sent = RunLock(run.lock), list[str]()

    def send(run: RunDirectory, command: str) -> WorkerReply:
        orders_sent.append(command)
        return WorkerReply(ok=True, status={"state": "pausing"})

    monkeypatch.setattr(orders, "send", send)
    assert ctl(*command, str(run.path)) == (0, [
        {"form": "steer-tui answer", "version": 1, "path": str(run.path), "command": named, "state": "pausing"}
    ], "")  # fmt: skip
    assert orders_sent == [sent]
    lock.release()


def test_an_end_and_a_choice(ctl: Ctl, tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, "a", [], status="failed"))
    record = run.read()
    record.failure, record.stages = "no room", {"mine": StageRecord(status="stopped"), "eval": StageRecord()}
    run.write(record)
    assert ctl("wait", str(run.path)) == (1, [
        {"form": "steer-tui end", "version": 1, "path": str(run.path), "state": "failed", "failure": "no room",
         "time_is_up": False}
    ], "")  # fmt: skip
    [end] = ctl("wait", str(make_run(tmp_path, "b", [])))[1]
    assert (end["state"], end["failure"]) == ("finished", None)
    assert ctl("stage", "last", str(run.path), "mine") == (0, [
        {"form": "steer-tui stages", "version": 1, "path": str(run.path), "choice": "last", "stage": "mine",
         "undo": False, "stages": ["eval"]}
    ], "")  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "what", "where", "mend"),
    [
        (["events", "RUN", "--type", "Bogus", "--type", "Notice", "--type", "Odd"],
         "there are no events of type Bogus, Odd", "--type", "the types are AgentGraphsBuilt, "),
        (["decisions", "RUN", "--filter", "alph>1"], "no field `alph`; is it `alpha`? (at character 1)",
         "--filter alph>1", "press ? on the ESM screen: it lists the fields"),
        (["stage", "stop", "RUN", "eval", "--undo"], "a stop is not taken back", "--undo",
         "resume the run: steer-tui batch --resume RUN"),
        (["stop", "RUN"], "no worker works on this run: it is stopped", "RUN", "steer-tui batch --resume RUN"),
    ],
)  # fmt: skip
def test_errors(arguments: list[str], what: str, where: str, mend: str, ctl: Ctl, tmp_path: Path) -> None:
    run = str(make_run(tmp_path, "a", [decided("x", 1)], status="stopped"))
    code, rows, error = ctl(*(word.replace("RUN", run) for word in arguments))
    told = json.loads(error)
    assert (code, rows, list(told)) == (
        3 if arguments[0] == "stop" else 2, [], ["form", "version", "what", "where", "mend"],
    )  # fmt: skip
    assert (told["form"], told["version"], told["what"]) == ("steer-tui error", 1, what)
    assert told["where"] == where.replace("RUN", run) and told["mend"].startswith(mend.replace("RUN", run))


def test_a_table_of_decisions_is_one_line_each_and_commands_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No text is a formula to a spreadsheet, and none begins a line."""
    run = str(make_run(tmp_path, "a", [decided("=1+1\n\x1b[2J", 1)]))
    assert main(["ctl", "decisions", run]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.startswith("method,example,m,memory,sim,best,null,chosen,entry,steered,layer,gate,")
    assert header.endswith(",broken,question,seq,run,stale") and "\x1b" not in row
    assert row.startswith("esm,") and "'=1+1" in row


def test_what_is_written_obeys_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_line("a\x1b[2J\nb")
    write_warning("w\x07")
    write_error(RunError(what="no\x1b", where="here", hint="wait"), as_json=False)
    said = capsys.readouterr()
    assert said.out == "a[2J b\n" and said.err == "w\nno (here): wait\n"
    write_error(RunError(what="é", where="here", hint="wait"), as_json=True)
    assert capsys.readouterr().err == (
        '{"form": "steer-tui error", "version": 1, "what": "\\u00e9", "where": "here", "mend": "wait"}\n'
    )


def test_events_are_listed_from_a_number_on(ctl: Ctl, tmp_path: Path) -> None:
    run = str(make_run(tmp_path, "a", [Notice(text=str(n)) for n in range(4)], status="failed"))
    assert [row["text"] for row in ctl("events", run, "--since", "2")[1]] == ["2", "3"]
    assert ctl("events", run, "--since", "4")[:2] == (0, [])
    assert ctl("events", run, "--follow")[0] == 1, "the code says how it ended"


def test_what_is_known_of_a_run_that_works_and_of_one_that_does_not(ctl: Ctl, tmp_path: Path) -> None:
    """10 of 40 answers took 5 s, so 15 s are left while it works; one of its three stages is done and one is at a
    quarter: 5 of 12."""
    working = [
        StageStarted(stage="eval", total=40, unit="answers"),
        StageProgress(stage="eval", done=10, total=40, elapsed=5.0),
    ]
    run = RunDirectory(make_run(tmp_path, "a", working, status="running"))
    record = run.read()
    record.stages = {"mine": StageRecord(status="finished"), "eval": StageRecord(), "extra": StageRecord()}
    run.write(record)
    lock = RunLock(run.lock)
    [row] = ctl("list")[1]
    assert (row["state"], row["eta"], row["fraction"]) == ("running", 15.0, 0.4167)
    assert row["pid"] == os.getpid() and row["host"]
    lock.release()
    run.lock.write_bytes(b"")  # as a worker leaves it
    [row] = ctl("show", str(run.path))[1]
    assert (row["eta"], row["pid"], row["host"], row["seed"]) == (None, None, None, 0)


def test_a_reader_that_has_read_enough_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As `| head`: what Python would still write at its end goes nowhere."""
    turned: list[tuple[str, int]] = []

    def closed(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(commands, "list_runs", closed)
    monkeypatch.setattr(commands, "sys", SimpleNamespace(stdout=SimpleNamespace(fileno=lambda: 77)))
    devices = {"/dev/null": 55}
    monkeypatch.setattr(
        commands,
        "os",
        SimpleNamespace(
            devnull="/dev/null", O_WRONLY=1, open=lambda path, flags: devices[path] if flags == 1 else 0,
            dup2=lambda one, other: turned.append((str(one), other)),
        ),
    )  # fmt: skip
    assert main(["ctl", "list", "--outputs", str(tmp_path)]) == 0 and turned == [("55", 77)]
