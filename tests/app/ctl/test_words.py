"""What `steer-tui ctl` writes for people: its lines without `--json`, word for word."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import main
from app.ctl import orders
from app.ctl.output import write_error, write_json
from app.runs.client import WorkerReply
from engine.errors import RunError
from engine.events import Notice, StageFinished, StageProgress, StageStarted
from engine.run.directory import RunDirectory, StageRecord
from engine.run.lock import RunLock
from tests.two_runs import decided, make_run

Ctl = Callable[..., tuple[int, list[str], str]]
WORKING = [
    StageStarted(stage="eval", total=40, unit="answers"),
    StageProgress(stage="eval", done=10, total=40, elapsed=5.0),
]


@pytest.fixture
def ctl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """`ctl("list", …)`: (exit code, lines, standard error)."""

    def run(*arguments: str) -> tuple[int, list[str], str]:
        code = main(["ctl", *arguments, "--outputs", str(tmp_path)])
        written = capsys.readouterr()
        return code, written.out.splitlines(), written.err

    return run


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A run that failed in its second stage, after 10 of 40 answers; the first is finished."""
    run = RunDirectory(make_run(tmp_path, "broken", WORKING, status="failed"))
    record = run.read()
    record.failure = "no room (a.json): make some"
    record.stages = {
        "mine": StageRecord(status="finished", seconds=61.0, summary={"accuracy": 0.61254, "pairs": 1200}),
        "eval": StageRecord(status="failed", seconds=5.0),
        "extra": StageRecord(skipped=True),
    }
    run.write(record)
    return run.path


def test_the_list(ctl: Ctl, failed: Path, tmp_path: Path) -> None:
    """Of three stages one is finished, one is skipped, and a quarter of the other is done: 75%."""
    done = make_run(tmp_path, "done", [StageFinished(stage="eval", seconds=1.0)])
    new = make_run(tmp_path, "new", [], status="prepared")
    run = RunDirectory(done)
    record = run.read()
    record.stages["eval"].status = "finished"
    run.write(record)
    code, lines, _ = ctl("list")
    assert code == 0 and sorted(lines) == sorted([
        f"failed        75%  eval 10/40               {failed}",
        f"finished     100%  all stages               {done}",
        f"prepared       0%  not started              {new}",
    ])  # fmt: skip
    assert ctl("list", "--state", "paused")[1] == [f"no runs in {tmp_path}"]


def test_a_run(ctl: Ctl, failed: Path) -> None:
    assert ctl("show", str(failed))[:2] == (0, [
        f"broken/{failed.name}: failed",
        f"folder: {failed}",
        "failure: no room (a.json): make some",
        "  finished       mine              1:01  accuracy 0.6125; pairs 1,200",
        "  failed         eval              0:05",
        "  skipped        extra             0:00",
    ])  # fmt: skip


def test_a_run_at_work(ctl: Ctl, tmp_path: Path) -> None:
    """10 of 40 answers took 5 s: 15 s are left."""
    run = RunDirectory(make_run(tmp_path, "working", WORKING, status="running"))
    lock = RunLock(run.lock)
    status = run.read()
    _, lines, _ = ctl("show", str(run.path))
    assert lines[0] == f"working/{status.run_id}: running" and lines[3] == "about 0:15 left"
    assert lines[2].startswith("worker: ") and lines[2].endswith(", at eval 10/40")
    record = run.read()
    record.stages["eval"] = StageRecord(status="running", seconds=60.0)
    run.write(record)
    assert ctl("show", str(run.path))[1][-1] == "  running        eval              1:05"
    lock.release()
    assert (
        ctl("show", str(run.path))[1][-1] == "  stopped        eval              1:05"
    )  # its worker was killed


def test_a_run_that_has_just_begun_a_stage_is_at_it(ctl: Ctl, tmp_path: Path) -> None:
    """Nothing is done yet, but it has started."""
    run = make_run(tmp_path, "young", WORKING[:1], status="stopped")
    assert ctl("list")[1] == [f"stopped        0%  eval 0/40                {run}"]


def test_an_end_that_was_waited_for(ctl: Ctl, failed: Path, tmp_path: Path) -> None:
    assert ctl("wait", str(failed))[:2] == (1, [f"failed: {failed}: no room (a.json): make some"])
    run = RunDirectory(make_run(tmp_path, "working", [], status="running"))
    lock = RunLock(run.lock)
    assert ctl("wait", str(run.path), "--timeout", "0")[:2] == (4, [f"the time is up; running: {run.path}"])
    lock.release()


def test_events(ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second and third happened 2 and 3 s after 1970 began; one has words, the other its type."""
    monkeypatch.setattr("time.localtime", __import__("time").gmtime)
    run = make_run(
        tmp_path, "a", [Notice(text="x"), Notice(text="low", level="warning", stage="eval"), *WORKING]
    )
    assert ctl("events", str(run), "--since", "1")[1] == [
        "      1 00:00:02 eval: warning: low",
        "      2 00:00:03 eval: StageStarted",
        "      3 00:00:04 eval: StageProgress",
    ]


def test_events_have_the_local_time_of_day(ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hours ahead of UTC the second of 1970 is at 05:00:02."""
    run = make_run(tmp_path, "a", [Notice(text="x"), Notice(text="low")])
    monkeypatch.setenv("TZ", "XXX-5")
    time.tzset()
    try:
        assert ctl("events", str(run), "--since", "1")[1] == ["      1 05:00:02 low"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_run_that_is_named_twice_is_read_once(
    ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its folder, and by the same folder from where one stands."""
    run = make_run(tmp_path, "a", [decided("x", 1)])
    monkeypatch.chdir(run.parent)
    code, lines, _ = ctl("decisions", str(run), run.name, f"../{run.parent.name}/{run.name}")
    assert code == 0 and len(lines) == 2, "the headings, and one decision"


@pytest.mark.parametrize(
    ("command", "state", "words"),
    [
        (["pause"], "pausing", "The engine pauses after its current item."),
        (["pause"], "paused", "The engine is paused."),
        (["unpause"], "running", "The engine continues."),
        (["stop"], "stopping", "The engine stops after its current item; finished work is kept."),
        (["stop", "--after"], "x", "The engine stops where its unit of work ends; finished work is kept."),
    ],
)
def test_answers_of_the_worker(
    command: list[str], state: str, words: str, ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(make_run(tmp_path, "working", [], status="running"))
    run.control.touch()
    lock = RunLock(run.lock)
    monkeypatch.setattr(orders, "send", lambda run, command: WorkerReply(ok=True, status={"state": state}))
    assert ctl(command[0], str(run.path), *command[1:])[:2] == (0, [words])
    monkeypatch.setattr(
        orders, "send", lambda run, command: WorkerReply(ok=False, error="not now", status={})
    )
    assert ctl(*command, str(run.path))[::2] == (2, f"not now ({run.control}): see the worker's log\n")
    lock.release()


def test_a_worker_that_does_not_answer_is_stopped_by_a_signal(
    ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(run: RunDirectory, command: str) -> WorkerReply:
        raise RunError(what="the worker does not answer", where="control.sock", hint="look")

    run = RunDirectory(make_run(tmp_path, "working", [], status="running"))
    run.control.touch()
    lock = RunLock(run.lock)
    monkeypatch.setattr(orders, "send", silent)
    for reached, expected in ((True, 0), (False, 3)):
        monkeypatch.setattr(orders, "request_stop", lambda run, reached=reached: reached)
        assert ctl("stop", str(run.path))[0] == expected
    monkeypatch.setattr(orders, "request_stop", lambda run: pytest.fail("only a stop comes by a signal"))
    assert ctl("pause", str(run.path))[::2] == (3, "the worker does not answer (control.sock): look\n")
    lock.release()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["stage", "stop", "RUN", "eval", "--undo"],
         "a stop is not taken back (--undo): resume the run: steer-tui batch --resume RUN"),
        (["stop", "RUN"], "no worker works on this run: it is failed (RUN): steer-tui batch --resume RUN"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(arguments: list[str], error: str, ctl: Ctl, failed: Path) -> None:
    code, lines, written = ctl(*(word.replace("RUN", str(failed)) for word in arguments))
    assert lines == [] and error.replace("RUN", str(failed)) in written
    assert code == (3 if arguments[0] == "stop" else 2)


def test_a_finished_run_has_nothing_left_to_do(ctl: Ctl, tmp_path: Path) -> None:
    run = make_run(tmp_path, "done", [])
    assert ctl("pause", str(run))[2] == (
        f"no worker works on this run: it is finished ({run}): there is nothing left to do\n"
    )


def test_what_a_terminal_might_obey_is_an_escape_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"name": "\x9b2Jé"})
    assert capsys.readouterr().out == '{"name": "\\u009b2J\\u00e9"}\n'
    write_error(RunError(what="\x9b2J", where="", hint=""), as_json=True)
    assert '"what": "\\u009b2J"' in capsys.readouterr().err
