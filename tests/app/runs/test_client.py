"""What a run's record keeps of how it was prepared."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.runs import client, orders
from app.runs.client import (
    WorkerReply,
    as_changes,
    choose_stage,
    prepare_resume,
    prepare_run,
    prepare_serving,
    request_stop,
)
from app.runs.orders import UserMessage, send_command
from engine.config.changes import changed_fields
from engine.config.file import load_config
from engine.errors import ConfigError, DiskError, RunError
from engine.run.control import ControlServer
from engine.run.directory import RunDirectory, StageRecord
from engine.run.gate import Gate
from engine.run.lock import RunLock
from engine.run.stage_choices import StageChange
from tests.exactly import exactly


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "file.yaml"
    path.write_text(
        "run: {name: a, stages: [clusters, evolve]}\nevolution: {iterations: 4, pool_size: 100}\n"
    )
    return path


def test_record_keeps_what_differs_from_the_file(config: Path, tmp_path: Path) -> None:
    """Also of a file that is right only with its changes; never the folder, which is no setting of the experiment."""
    typed = ["evolution.iterations=6", "evolution.pool_size=100", "online.L=5"]
    run = prepare_run(config, typed, outputs=str(tmp_path / "outputs"))
    assert run.read().changes == {"evolution.iterations": 6, "online.L": 5}
    assert prepare_run(config, outputs=str(tmp_path / "outputs")).read().changes == {}
    config.write_text("run: {name: 7}\n")
    run = prepare_run(config, ["run.name=b", "online.L=2"], outputs=str(tmp_path / "outputs"))
    assert run.read().changes == {"run.name": "b", "online.L": 2}


def test_refused_run_leaves_no_folder(config: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=exactly(
            "--set evolution.iteration: expected a known field; did you mean "
            "`evolution.iterations`? (configuration): correct this value"
        ),
    ):
        prepare_run(config, ["evolution.iteration=3"], outputs=str(tmp_path / "outputs"))
    assert not (tmp_path / "outputs").exists()


def test_changed_fields_of_nested_sections() -> None:
    before = {"a": {"x": 1, "y": {"z": True}}, "b": None, "c": {}, "gone": 1}
    after = {"a": {"x": 1, "y": {"z": 1}}, "b": {"k": 2}, "c": {"n": 1}}
    assert changed_fields(before, after) == {"a.y.z": 1, "b": {"k": 2}, "c.n": 1, "gone": None}
    assert changed_fields(after, after) == {}


def test_a_run_that_is_resumed_with_other_stages_keeps_those_it_has_done(
    config: Path, tmp_path: Path
) -> None:
    """They come first, in the order of the record; those that are new wait."""
    run = prepare_run(config, outputs=str(tmp_path / "outputs"))
    record = run.read()
    record.stages["clusters"].status = "finished"
    run.write(record)
    prepare_resume(run)
    assert run.read() == record, "nothing is changed"
    prepare_resume(run, ["evolve", "slsm"])
    after = run.read()
    assert [(name, stage.status) for name, stage in after.stages.items()] == [
        ("clusters", "finished"), ("evolve", "pending"), ("slsm", "pending"),
    ]  # fmt: skip
    assert after.config["run"]["stages"] == load_config(run.config).run.stages == ["evolve", "slsm"]
    lock = RunLock(run.lock)
    with pytest.raises(RunError, match=f"worker {os.getpid()} on .* already works on this run"):
        prepare_resume(run)
    lock.release()


@pytest.mark.parametrize("characters", [1, 120])
def test_a_command_to_a_run_without_worker(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    """A socket's address has some hundred characters at most: of a longer one it is only known whether it is there."""
    run = prepare_run(config, outputs=str(tmp_path / ("x" * characters)))
    said = send_command(run, "pause")
    assert (said.text, said.severity) == (
        f"the worker does not answer ({run.control}): no worker runs: resume the run to start a worker", "error",
    )  # fmt: skip
    run.control.touch()
    if characters == 1:
        monkeypatch.chdir(run.path)
        assert send_command(run, "pause").text.endswith(
            ": see with `steer-tui` whether it still runs; if it runs on another machine, send the command there"
        )
        return
    assert send_command(run, "pause").text == (
        f"the path of the control socket is too long ({run.control}): go to the run's folder (cd) and try again"
    )


def test_fields_with_a_value_are_changes() -> None:
    assert as_changes({"run.stages": ["a", "b"], "run.outputs": None, "run.seed": 0, "x": "é"}) == [
        'run.stages=["a", "b"]', "run.seed=0", 'x="\\u00e9"',
    ]  # fmt: skip


def test_why_a_run_is_not_resumed_or_served(config: Path, tmp_path: Path) -> None:
    run = prepare_run(config, outputs=str(tmp_path / "my outputs"))
    lock = RunLock(run.lock)
    with pytest.raises(RunError) as error:
        prepare_resume(run)
    lock.release()
    assert (error.value.where, error.value.hint) == (
        str(run.path), f"watch it with `steer-tui '{run.path}'`, or stop it first",
    )  # fmt: skip
    record = run.read()
    record.stages["serve"] = StageRecord()
    run.write(record)
    server = prepare_serving([run], ["serve.port=0"])  # it has other stages, too, and so can be served
    with pytest.raises(RunError) as error:
        prepare_serving([server], [])
    assert str(error.value) == (
        f"this run is a server itself ({server.path}): resume it, or name the run that it serves"
    )
    assert server.read().name == "a-serve" and server.path.parents[1] == run.path.parents[1]


def test_a_choice_about_a_stage_is_made_by_the_worker_where_one_works(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare_run(config, outputs=str(tmp_path / "outputs"))
    assert choose_stage(run, "skip", "evolve") == StageChange("skip", "evolve", ("evolve",))
    assert run.read().stages["evolve"].skipped
    assert choose_stage(run, "skip", "evolve", undo=True).undo and not run.read().stages["evolve"].skipped
    asked: list[object] = []

    def send(directory: RunDirectory, command: str, **fields: object) -> WorkerReply:
        asked.append((directory.path, command, fields))
        return WorkerReply(ok=len(asked) == 1, error="too late", stages=("evolve",))

    lock = RunLock(run.lock)
    monkeypatch.setattr(client, "send", send)
    assert choose_stage(run, "skip", "evolve") == StageChange("skip", "evolve", ("evolve",))
    assert asked == [(run.path, "stage", {"choice": "skip", "stage": "evolve", "undo": False})]
    with pytest.raises(RunError) as error:
        choose_stage(run, "skip", "evolve")
    assert str(error.value) == f"too late ({run.path}): see what the run does now"
    with pytest.raises(RunError, match=exactly("the run has no stage `mine` (a/…): one of clusters, evolve")):
        choose_stage(run, "skip", "mine")
    assert len(asked) == 2, "a worker is not asked for what cannot be"
    record = run.read()
    record.stages["evolve"].skipped = True
    run.write(record)
    asked.clear()
    assert choose_stage(run, "skip", "evolve", undo=True) == StageChange("skip", "evolve", ("evolve",), True)
    lock.release()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (WorkerReply(ok=True, status={"state": "paused"}), UserMessage("The engine is paused.")),
        (WorkerReply(ok=False, error="not now"), UserMessage("not now", "error")),
        (WorkerReply(ok=False), UserMessage("the engine refused: pause", "error")),
    ],
)
def test_what_a_worker_says_to_an_order(
    reply: WorkerReply, message: UserMessage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "send", lambda directory, command: reply)
    assert send_command(RunDirectory(tmp_path), "pause") == message


@pytest.mark.parametrize(("answer", "stopped"), [(True, True), (False, False), (None, True)])
def test_a_stop_is_asked_for_by_socket_or_else_by_signal(
    answer: bool | None, stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(directory: RunDirectory, command: str, timeout: float) -> WorkerReply:
        assert (command, timeout) == ("stop", 1.0)
        if answer is None:
            raise RunError(what="no answer")
        return WorkerReply(ok=answer)

    monkeypatch.setattr(client, "send", send)
    monkeypatch.setattr(client, "signal_holder", lambda lock: lock == RunDirectory(tmp_path).lock)
    assert request_stop(RunDirectory(tmp_path)) is stopped


def test_another_process_at_the_socket_is_no_worker(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever listens must be the holder of the run's lock: here a third process is said to be."""
    monkeypatch.chdir(tmp_path)
    run = prepare_run(config, outputs="o")
    lock = RunLock(run.lock)
    server = ControlServer(run.control, Gate(lambda event: None), lambda: {"state": "idle"}, lambda *_: [])
    assert send_command(run, "status").text == "The engine is idle."
    lock.release()
    run.lock.write_bytes(b"")  # as a worker leaves it
    assert "another process listens at its socket" in send_command(run, "status").text
    lock = RunLock(run.lock)
    assert send_command(run, "status").text == "The engine is idle."
    monkeypatch.setattr(client, "_listener", lambda connection: os.getpid() + 1)
    assert "another process listens at its socket" in send_command(run, "status").text
    server.close()
    lock.release()


def test_a_worker_is_started_in_a_session_of_its_own_and_writes_to_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind what earlier workers wrote; from a relative folder it gets the whole path."""
    started: list[tuple[Any, dict[str, Any]]] = []

    def popen(command: Any, stdout: Any, stderr: Any, **options: Any) -> str:
        stdout.write(b"begun\n")
        started.append((command, options | {"same": stdout is stderr}))
        return "process"

    monkeypatch.setattr(client.subprocess, "Popen", popen)
    monkeypatch.setattr(client, "engine_command", lambda *words: ["engine", *words])
    monkeypatch.setattr(client, "engine_environment", lambda: {"A": "b"})
    monkeypatch.chdir(tmp_path)
    run = RunDirectory(Path("r"))
    run.path.mkdir()
    run.worker_log.write_bytes(b"before\n")
    assert client.start_worker(run) == client.start_detached("sweep", Path("r")) == "process"  # type: ignore[comparison-overlap]
    assert [command for command, _ in started] == [
        ["engine", name, f"{tmp_path}/r"] for name in ("run", "sweep")
    ]
    assert started[0][1] == {
        "stdin": client.subprocess.DEVNULL, "same": True, "start_new_session": True, "env": {"A": "b"},
    }  # fmt: skip
    assert run.worker_log.read_bytes() == b"before\nbegun\nbegun\n"
    with pytest.raises(DiskError):
        client.start_worker(RunDirectory(tmp_path / "none"))


def test_a_run_that_serves_lies_where_it_is_told_to(config: Path, tmp_path: Path) -> None:
    """Levers come from all runs, the model from the first."""
    first, second = (prepare_run(config, ["online.L=5"], outputs=str(tmp_path / "o")) for _ in range(2))
    server = prepare_serving([first, second], [f"run.outputs={tmp_path / 'p'}", "serve.port=0"])
    made = load_config(server.config)
    assert made.serve.runs == [str(first.path), str(second.path)] and made.serve.port == 0
    assert (server.path.parents[1], made.online.L, made.run.stages) == (tmp_path / "p", 5, ["serve"])
    named = prepare_serving([first], ["run.name=mine", "online.L=6", "serve.port=0"])
    assert named.read().name == "mine" and load_config(named.config).online.L == 6, "what is said goes first"
    assert named.path.parents[1] == tmp_path / "o", "without another place it lies beside the run"


def test_of_a_reply_without_end_no_more_is_read_than_a_reply_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 KiB and what came with their last piece, of four MiB; the sockets themselves hold some."""
    monkeypatch.chdir(tmp_path)
    run = RunDirectory(Path("r"))
    run.path.mkdir()
    monkeypatch.setattr(client, "_listener", lambda connection: os.getpid())
    server, sent = socket.socket(socket.AF_UNIX), list[int]()
    server.bind(str(run.control))
    server.listen(1)

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(1000)
            while len(sent) < 256:
                connection.sendall(b"x" * (1 << 14))
                sent.append(1 << 14)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    lock = RunLock(run.lock)
    monkeypatch.setattr(orders, "send", lambda run, command: client.send(run, command, 60.0))
    assert send_command(run, "status").text.startswith("the worker does not answer: ")
    thread.join(60)
    assert 0 < sum(sent) < 1 << 21
    lock.release()
    server.close()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b'{"ok": true, "status": {"state": "idle"}}\n', "The engine is idle."), (b"", "the worker does not answer: "),
        (b'{"ok": true}', "The engine is ."), (b"x" * 70_000, "the worker does not answer: "),
        (None, "the worker does not answer: timed out"), (b"[1]\n", "the worker does not answer: "),
    ],
)  # fmt: skip
def test_a_reply_is_one_line_that_comes_in_time(
    reply: bytes | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what closes before the line ends, what came counts; more than a reply can be is none."""
    monkeypatch.chdir(tmp_path)
    run = RunDirectory(Path("r"))
    run.path.mkdir()
    monkeypatch.setattr(client, "_listener", lambda connection: os.getpid())
    server, asked = socket.socket(socket.AF_UNIX), list[Any]()
    server.bind(str(run.control))
    server.listen(1)

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            asked.append(json.loads(connection.recv(1000)))
            if reply is None:
                connection.recv(1)  # until the other end is closed
            else:
                connection.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    lock = RunLock(run.lock)
    monkeypatch.setattr(
        orders, "send", lambda run, command: client.send(run, command, 0.3 if reply is None else 60.0)
    )
    assert send_command(run, "status").text.startswith(words)
    thread.join(60)
    assert asked == [{"command": "status"}]
    lock.release()
    server.close()
