"""`steer-tui ctl`: its forms and exit codes, on folders of runs and on a worker's lock and socket in this process."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.ctl import orders
from app.ctl.runs import run_form
from app.runs.client import prepare_run
from app.runs.run_list import RunRow
from app.runs.time_left import TimeLeft
from engine.events import DecisionTaken, EntryPicked, Notice, PairMined, StageBegunAgain
from engine.run.control import ControlServer
from engine.run.directory import RunDirectory, StageRecord, inspect
from engine.run.gate import Gate
from engine.run.lock import RunLock
from engine.run.stage_choices import StageChange
from engine.run.stage_state import StageState
from tests.synthetic_run import SyntheticRun
from tests.two_runs import decided, evaluated, make_run

Ctl = Callable[..., tuple[int, list[Any], str]]


@pytest.fixture
def ctl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """`ctl("list", …)`: (exit code, JSON lines, standard error)."""

    def run(*arguments: str) -> tuple[int, list[Any], str]:
        code = main(["ctl", *arguments, "--json", "--outputs", str(tmp_path)])
        said = capsys.readouterr()
        return code, [json.loads(line) for line in said.out.splitlines()], said.err

    return run


@pytest.fixture
def working(tmp_path: Path) -> Iterator[tuple[RunDirectory, Gate]]:
    """A run whose worker is this process: it holds the lock and answers on the socket."""
    run = RunDirectory(make_run(tmp_path, "working", [], status="running"))
    lock, gate = RunLock(run.lock), Gate(lambda event: None)
    server = ControlServer(run.control, gate, lambda: {"state": gate.state}, lambda *_: [])
    yield run, gate
    server.close()
    lock.release()


def end(run: RunDirectory, status: str, failure: str = "") -> None:
    record = run.read()
    record.status, record.failure = status, failure
    run.write(record)


def test_list_and_show(ctl: Ctl, tmp_path: Path, working: tuple[RunDirectory, Gate]) -> None:
    done = make_run(tmp_path, "done", SyntheticRun(examples=2, pairs=2, picks=3).events())
    code, rows, _ = ctl("list")
    assert code == 0 and {(row["name"], row["state"]) for row in rows} == {
        ("done", "finished"),
        ("working", "running"),
    }
    assert all((row["form"], row["version"]) == ("steer-tui run", 1) for row in rows)
    [finished] = ctl("list", "--state", "finished")[1]
    at = ("stage", "done", "total", "eta", "eta_all", "pid", "failure")
    assert finished["path"] == str(done) and [finished[name] for name in at] == [None] * len(at)
    code, (shown,), _ = ctl("show", "done")
    assert (
        code == 0 and shown["stages"][0]["stage"] == "eval" and shown["config"] == str(done / "config.yaml")
    )


def test_runs_in_either_of_two_states_are_listed(ctl: Ctl, tmp_path: Path) -> None:
    for status in ("finished", "stopped", "failed"):
        make_run(tmp_path, status, [], status=status)
    rows = ctl("list", "--state", "finished", "--state", "failed")[1]
    assert sorted(row["name"] for row in rows) == ["failed", "finished"]


def test_a_run_that_cannot_be_read_is_named_beside_the_list(ctl: Ctl, tmp_path: Path) -> None:
    make_run(tmp_path, "done", [])
    RunDirectory(make_run(tmp_path, "damaged", [])).record.write_text("")
    code, rows, warned = ctl("list")
    assert code == 0 and [row["name"] for row in rows] == ["done"]
    assert warned.count("run.json") == 1 and "damaged" in warned


def test_of_no_runs_there_are_no_lines(ctl: Ctl) -> None:
    """Those who read JSON are told nothing else."""
    assert ctl("list") == (0, [], "")


def test_orders_reach_the_worker(ctl: Ctl, working: tuple[RunDirectory, Gate]) -> None:
    run, gate = working
    code, (answer,), _ = ctl("pause", str(run.path))
    assert code == 0 and answer["state"] == "pausing" and gate.state == "pausing"
    assert ctl("unpause", str(run.path))[1][0]["state"] == "running"
    assert ctl("stop", "--after", str(run.path))[1][0]["state"] == "stopping after this"
    code, (answer,), _ = ctl("stop", str(run.path))
    assert code == 0 and (answer["command"], answer["state"]) == ("stop", "stopping") and gate.stopping


def test_an_order_waits_for_a_worker_that_is_still_starting(ctl: Ctl, tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, "young", [], status="running"))
    lock, gate = RunLock(run.lock), Gate(lambda event: None)
    servers: list[ControlServer] = []
    late = threading.Timer(
        0.3, lambda: servers.append(ControlServer(run.control, gate, lambda: {"state": "x"}, lambda *_: []))
    )
    late.start()
    assert ctl("pause", str(run.path))[0] == 0 and gate.state == "pausing"
    late.join()
    servers[0].close()
    lock.release()


def test_no_worker_is_an_exit_code_of_its_own(
    ctl: Ctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, "done", [], status="stopped")
    for command in ("pause", "unpause", "stop"):
        code, rows, error = ctl(command, str(run))
        assert code == 3 and rows == [] and "it is stopped" in json.loads(error)["what"]
    silent = RunDirectory(make_run(tmp_path, "silent", [], status="running"))
    lock = RunLock(silent.lock)
    monkeypatch.setattr(orders, "_PATIENCE", 0.1)
    code, _, error = ctl("pause", str(silent.path))
    assert code == 3 and "does not answer" in error
    lock.release()


def test_wait_tells_by_its_code_how_the_run_ended(ctl: Ctl, working: tuple[RunDirectory, Gate]) -> None:
    run, _ = working
    path = str(run.path)
    code, (row,), _ = ctl("wait", path, "--timeout", "0.2")
    assert code == 4 and row["time_is_up"] and row["state"] == "running"
    assert ctl("wait", path, "--until", "running")[0] == 0
    end(run, "paused")
    assert ctl("wait", path, "--until", "paused", "--timeout", "60")[0] == 0
    run.lock.write_bytes(b"")  # as a worker leaves it
    for status, expected in (("finished", 0), ("failed", 1), ("stopped", 3), ("running", 3)):
        end(run, status, "a bug" if status == "failed" else "")
        assert ctl("wait", path)[0] == expected
        assert ctl("wait", path, "--timeout", "0")[0] == expected, "it has ended, whatever the time"
        assert ctl("wait", path, "--until", status)[0] == (3 if status == "running" else 0)
        assert ctl("wait", path, "--until", "paused")[0] == 3, "that state does not come any more"


def test_events(ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(
        tmp_path, "done", [Notice(text="a\u202eb\x1b[31m"), *SyntheticRun(examples=2, pairs=2).events()]
    )
    code, lines, _ = ctl("events", str(run))
    logged = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert code == 0 and lines == logged
    assert ctl("events", str(run), "--type", "MethodEvaluated", "--since", "30")[1] == [
        event for event in logged if event["type"] == "MethodEvaluated" and event["seq"] >= 30
    ]
    assert ctl("events", str(run), "--follow")[0] == 0
    assert ctl("events", str(run), "--type", "Bogus")[0] == 2
    assert main(["ctl", "events", str(run)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_decisions(ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = list(SyntheticRun(examples=5).events())
    run = make_run(tmp_path, "done", events)
    wanted = [
        (i, e)
        for i, e in enumerate(events)
        if isinstance(e, DecisionTaken) and e.method == "esm" and e.alpha > 0.5
    ]
    code, rows, _ = ctl("decisions", str(run), "--filter", "method:esm alpha>0.5")
    assert code == 0 and wanted and [row["seq"] for row in rows] == [seq for seq, _ in wanted]
    assert [row["chosen"] for row in rows] == [event.chosen for _, event in wanted]
    assert main(["ctl", "decisions", str(run), "--filter", "method:esm alpha>0.5"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [int(row["seq"]) for row in table] == [seq for seq, _ in wanted]
    code, _, error = ctl("decisions", str(run), "--filter", "alph>1")
    assert code == 2 and "is it `alpha`?" in json.loads(error)["what"]
    assert ctl("show", "no such run")[0] == 2


def test_a_decision_as_a_line_of_a_table(
    ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the event does not have is an empty cell; 0 and no are figures."""
    wrong = evaluated("esm", "x", False, text="So.", question="Why?")
    run = make_run(tmp_path, "a", [decided("x", 1, segment="So.", ended="eos", top_similarity=0.0), wrong])
    assert main(["ctl", "decisions", str(run)]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row == {
        "method": "esm", "example": "x", "m": "1", "memory": "0", "sim": "0.0", "best": "", "null": "",
        "chosen": "null", "entry": "null", "steered": "False", "layer": "", "gate": "null_best", "logprob": "",
        "nulllogprob": "", "dlogprob": "", "score": "", "alpha": "0.0", "committed": "0", "probe": "0", "before": "0",
        "phase": "segment", "ended": "eos", "correct": "False", "differs": "", "left": "False", "fixed": "",
        "broken": "", "question": "Why?", "seq": "0", "run": f"a/{run.name}", "stale": "False",
    }  # fmt: skip


def test_damaged_lines_are_counted(ctl: Ctl, tmp_path: Path) -> None:
    """What is missing in the answer is told beside it; the exit code stays 0."""
    path = make_run(tmp_path, "done", SyntheticRun(examples=4, pairs=2, picks=3).events())
    log = path / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    taken = [number for number, line in enumerate(lines) if b'"DecisionTaken"' in line]
    whole = len(ctl("decisions", "done")[1])
    assert whole == len(taken) and ctl("decisions", "done")[2] == ""
    for number in taken[1:4]:
        lines[number] = lines[number][:40] + b"\n"
    log.write_bytes(b"".join(lines))
    said = f"damaged lines of the log, passed over: 3; the first is {log}:{taken[1] + 1}\n"
    code, rows, err = ctl("decisions", "done")
    assert (code, len(rows), err) == (0, whole - 3, said)
    code, rows, err = ctl("events", "done")
    assert (code, len(rows), err) == (0, len(lines) - 3, said)


def test_decisions_of_several_runs(ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = list(SyntheticRun(examples=3).events())
    runs = [str(make_run(tmp_path, "many", events)) for _ in range(2)]
    query = ["--filter", "method:esm m:2", "--outputs", str(tmp_path)]
    wanted = [
        i for i, e in enumerate(events) if isinstance(e, DecisionTaken) and (e.method, e.m) == ("esm", 2)
    ]

    def rows_of(*more: str) -> dict[str, list[int]]:
        code, rows, _ = ctl("decisions", *more, *query)
        assert code == 0
        found: dict[str, list[int]] = {}
        for row in rows:
            found.setdefault(row["run"].partition("/")[2], []).append(row["seq"])
        return found

    assert rows_of(*runs) == {Path(run).name: wanted for run in runs}
    assert rows_of(runs[0], runs[0]) == {Path(runs[0]).name: wanted}
    assert ctl("decisions", runs[0], "none", *query)[0] == 2

    capsys.readouterr()
    assert main(["ctl", "decisions", *runs, *query]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * len(wanted), "as CSV, with a line of headings"


def test_a_run_at_work_is_stopped_and_waited_for(
    make_config: Callable[..., Path],
    worker: Callable[[RunDirectory], subprocess.Popen[bytes]],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.05")
    run = prepare_run(make_config("Count", items=2_000))
    worker(run)
    wait_until(lambda: inspect(run.path).alive, "the worker")
    assert main(["ctl", "wait", str(run.path), "--until", "running", "--timeout", "120"]) == 0
    assert main(["ctl", "stop", str(run.path)]) == 0
    assert main(["ctl", "wait", str(run.path), "--timeout", "120"]) == 3
    assert run.read().status == "stopped"


def test_stages_are_chosen(ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDirectory(make_run(tmp_path, "chosen", [*SyntheticRun(examples=2).events()]))
    (run.path / "esm/eval").mkdir(parents=True)
    (run.path / "esm/eval/x.jsonl").write_text("{}\n")
    record = run.read()
    record.stages["eval"].status, record.stages["eval"].seconds = "finished", 61.0
    run.write(record)
    code, forms, _ = ctl("stage", "again", str(run.path), "eval")
    assert code == 0 and forms[0]["form"] == "steer-tui stages"
    assert {name: forms[0][name] for name in ("choice", "stage", "undo", "stages")} == {
        "choice": "again", "stage": "eval", "undo": False, "stages": ["eval"],
    }  # fmt: skip
    assert (run.path / "earlier/1/esm/eval/x.jsonl").exists()
    (shown,) = ctl("show", str(run.path))[1]
    assert shown["state"] == "stopped"
    assert [(s["stage"], s["status"], s["skipped"]) for s in shown["stages"]] == [("eval", "stale", False)]
    rows = ctl("decisions", str(run.path))[1]
    assert rows and all(row["stale"] is True for row in rows)
    assert ctl("stage", "skip", str(run.path), "eval")[0] == 0
    assert ctl("show", str(run.path))[1][0]["stages"][0]["skipped"] is True
    assert ctl("stage", "skip", str(run.path), "eval", "--undo")[0] == 0
    assert not run.read().stages["eval"].skipped
    code, _, error = ctl("stage", "skip", str(run.path), "mine")
    assert code == 2 and json.loads(error)["what"] == "the run has no stage `mine`"
    assert ctl("stage", "stop", str(run.path), "eval")[0] == 3
    assert main(["ctl", "stage", "again", str(run.path), "eval"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "Done again: eval, which took 1:01 last time.\nTheir results so far are kept in the folder"
    )
    assert said.endswith(f"to go on: steer-tui batch --resume {run.path}\n")


def test_what_is_not_done_again_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the other stages those that are finished."""
    run = RunDirectory(make_run(tmp_path, "chosen", [], status="stopped"))
    record = run.read()
    for name, status in (("mine", "finished"), ("select", "stopped"), ("eval", "finished")):
        record.stages[name] = StageRecord(status=status, seconds=61.0)
    run.write(record)
    assert main(["ctl", "stage", "again", str(run.path), "eval"]) == 0
    assert "only other data, servers or versions make other results. Not done again: mine.\n" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(("status", "told"), [("stopped", True), ("finished", False)])
def test_how_to_go_on_is_told_where_there_is_something_to_do(
    tmp_path: Path,
    status: str,
    told: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RunDirectory(make_run(tmp_path, "r", [], status=status))
    change = StageChange("last", "eval", ("extra",), False)
    monkeypatch.setattr("app.ctl.stages.choose_stage", lambda *arguments: change)
    words = "The run ends after eval. Skipped: extra.\n"
    go_on = f"to go on: steer-tui batch --resume {run.path}\n"
    for worker, lines in ((False, words + go_on * told), (True, words)):
        lock = RunLock(run.lock) if worker else None
        assert main(["ctl", "stage", "last", str(run.path), "eval"]) == 0
        assert capsys.readouterr().out == lines, "a worker goes on by itself"
        if lock is not None:
            lock.release()


def test_a_stage_that_is_not_at_work_is_not_stopped(ctl: Ctl, working: tuple[RunDirectory, Gate]) -> None:
    run, gate = working
    code, _, error = ctl("stage", "stop", str(run.path), "eval")
    assert code == 2 and not gate.stopping and json.loads(error) == {
        "form": "steer-tui error", "version": 1, "what": "`eval` is not at work", "where": str(run.path),
        "mend": "`steer-tui ctl show` lists the stages",
    }  # fmt: skip
    assert ctl("stage", "stop", str(run.path), "slsm")[0] == 2 and not gate.stopping, (
        "the run has no such stage"
    )
    record = run.read()
    record.stages["eval"].status = "running"
    run.write(record)
    assert ctl("stage", "stop", str(run.path), "eval")[0] == 0 and gate.stopping


def test_decisions_are_those_of_the_last_attempt(ctl: Ctl, tmp_path: Path) -> None:
    events = [*SyntheticRun(examples=2).events()]
    taken = [event for event in events if isinstance(event, DecisionTaken)]
    run = make_run(tmp_path, "twice", [*events, StageBegunAgain(stage="eval", kept="earlier/1"), *taken[:3]])
    rows = ctl("decisions", str(run))[1]
    assert len(taken) > 3 == len(rows) and rows[0]["seq"] == len(events) + 1
    assert not any(row["stale"] for row in rows)


@pytest.mark.parametrize(
    ("left", "seconds"), [(TimeLeft(90.0), 90.0), (TimeLeft(90.0, unknown=("eval",)), None), (None, None)]
)
def test_the_time_of_all_stages_is_null_where_one_is_not_known(
    left: TimeLeft | None, seconds: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """90 s are known; how long eval takes is not."""
    monkeypatch.setattr(RunRow, "time_left", left)
    run = RunDirectory(make_run(tmp_path, "a", []))
    row = RunRow(inspect(run.path), StageState("mine", done=3, total=4))
    assert run_form(row)["eta_all"] == seconds


def test_a_decision_names_its_run_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path, "demo", [decided("x", 1)])
    monkeypatch.chdir(run)
    assert main(["ctl", "decisions", ".", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == f"demo/{run.name}"


def test_runs_are_listed_by_paths_that_hold_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "outputs", "demo", [])
    monkeypatch.chdir(tmp_path)
    assert main(["ctl", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(run)


def test_events_of_several_types_are_asked_for_together(ctl: Ctl, tmp_path: Path) -> None:
    events = [decided("x", 1), Notice(text="a"), evaluated("esm", "x", True), Notice(text="b")]
    run = str(make_run(tmp_path, "a", events))
    rows = ctl("events", run, "--type", "Notice", "--type", "DecisionTaken")[1]
    assert [row.get("seq", 0) for row in rows] == [0, 1, 3]


def test_a_log_of_an_older_version_names_entries_by_their_pairs(ctl: Ctl, tmp_path: Path) -> None:
    """The pair turned from Backward to Forward at step 1."""
    pair = PairMined(
        pair="p1", example="e", control_point_m=1, layer=2, quality=0.5, positives=1, negatives=1, delta_norm=1.0,
        positive_text="Forward: 8", negative_text="Backward: 8",
    )  # fmt: skip
    picked = EntryPicked(
        order=0, lib_id="0", tool_name="p1_wrong", kind="wrong", example="e", control_point_m=1, layer=2, quality=0.5,
        gain=1.0, objective=1.0, max_similarity=0.5,
    )  # fmt: skip
    run = make_run(tmp_path, "a", [pair, picked, decided("x", 1, chosen="p1_wrong", gate="chosen")])
    [row] = ctl("decisions", str(run))[1]
    assert (row["chosen"], row["entry"]) == ("Backward → Forward, step 1", "p1_wrong")
