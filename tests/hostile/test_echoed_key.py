"""Servers of every role repeat the key in every way and place: it is in no file of the run, log, error or screen."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from app.doctor.server import run_server_doctor
from app.runs.client import prepare_run
from app.shell import First, SteerApp
from engine.run.directory import RunDirectory
from engine.run.worker import run_worker
from tests.console import until
from tests.echoing_server import FAULTS, WAYS, EchoingServer, echoing_server
from tests.engine.servers.test_secrets import KEY
from tests.kill_and_resume import DEMO, SMALL_EVOLUTION, SMALL_GFLOWNET

WRITTEN = {KEY, *(write(KEY) for write in WAYS.values())}
SELECTOR = "selector={supervised_steps: 4, policy_steps: 4}"
CONVERSATION = [
    {"role": "user", "content": "My dog is Rex, 12 by now."},
    {"role": "assistant", "content": "Nice."},
    {"role": "user", "content": "What is my dog called?"},
]


@pytest.fixture(autouse=True)
def a_key_and_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr("engine.servers.client._FIRST_WAIT", 0.01)


def server_of(server: EchoingServer) -> str:
    return f"{{base_url: '{server.url}', api_key_env: TEST_KEY, timeout: 20.0, retries: 3}}"


def conversations(folder: Path) -> Path:
    path = folder / "conversations.jsonl"
    lines = [
        {"QUESTION_ID": f"q{number}", "AXIS": "A", "CONVERSATION": CONVERSATION, "TARGET_QUESTION": "Rex?"}
        | {"PASS_CRITERIA": "YES"}
        for number in range(8)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def worked(folder: Path, server: EchoingServer, stages: str, *changes: str) -> RunDirectory:
    """A run of `stages` that a worker in this process has finished; its log has what libraries say at their loudest."""
    asked = server_of(server)
    openai = f"kind: openai, openai: {asked}"
    run = prepare_run(
        DEMO,
        [
            *SMALL_EVOLUTION[1:], *SMALL_GFLOWNET[1:], f"run.outputs={folder}", "run.name=echo",
            f"run.stages=[{stages}]", "evolution.iterations=2", "evolution.minibatch_size=4",
            "evolution.validation_size=4", "evolution.test_size=4", f"evolution.judge={{{openai}}}",
            f"evolution.reflector={{{openai}}}", f"answer={{reader: openai, token_budget: 40, openai: {asked}}}",
            "slsm={compare: [baseline, on_detection, always], compare_memory: [structured, flat], "
            f"max_new_tokens: 500, data: {{path: '{conversations(folder)}'}}, controller: {{{openai}}}, "
            f"answers: {{{openai}}}, judge: {{{openai}}}}}",
            f"pool={{train_queries: 4, heldout_queries: 12, search_top_k: 20, max_eval_pairs: 4, vqa: {{{openai}}}}}",
            *changes,
        ],
        None,
    )  # fmt: skip
    log = logging.FileHandler(run.worker_log)
    logging.getLogger().addHandler(log)
    try:
        code = run_worker(run.path)
    finally:
        logging.getLogger().removeHandler(log)
        log.close()
    assert code == 0, run.events.read_text()[-2000:]
    return run


def texts(value: Any) -> Iterator[str]:
    """Every text in a value that was read from JSON, and every name."""
    if isinstance(value, str):
        yield value
    for inner in value if isinstance(value, list) else ():
        yield from texts(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield name
        yield from texts(inner)


def leaks(name: str, content: str) -> list[str]:
    """Where the key stands in it in any way, as it is or after reading its lines as JSON."""
    found = [content]
    for line in (content, *content.splitlines()):
        try:
            found += texts(json.loads(line))
        except ValueError:
            continue
    return [f"{name}: {written!r}" for written in sorted(WRITTEN) if any(written in one for one in found)]


def leaks_of(run: RunDirectory) -> list[str]:
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert {"events.jsonl", "run.json", "config.yaml", "usage.jsonl"} <= {path.name for path in files}
    return [leak for path in files for leak in leaks(path.name, path.read_bytes().decode(errors="replace"))]


def test_controller_model_judge_and_vision_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    with echoing_server(KEY) as server:
        run = worked(tmp_path, server, "slsm, pool")
    assert set(server.asked) == {"memory", "memory_changes", "conflicts", "verdict", "text"}
    assert server.asked["text"] > 2 * len(FAULTS) and server.asked["text"] > len(WAYS)
    assert leaks_of(run) == [] and leaks("logging", caplog.text) == []
    log = run.events.read_text()
    assert "12 by *** today" in log, "what they said was kept"


def test_an_error_that_ends_the_run(tmp_path: Path) -> None:
    with echoing_server(KEY, always="401") as server, pytest.raises(AssertionError) as caught:
        worked(tmp_path, server, "slsm")
    (run,) = [RunDirectory(path.parent) for path in tmp_path.rglob("events.jsonl")]
    assert "401" in run.read().failure and "***" in run.read().failure
    assert leaks_of(run) == [] and leaks("error", str(caught.value)) == []


def test_doctor() -> None:
    for written in (KEY, json.dumps(KEY)[1:-1], WAYS["URL, all"](KEY)):
        with echoing_server(KEY, always="", says=written) as server:
            out = io.StringIO()
            run_server_doctor(server.url, None, "TEST_KEY", Console(file=out, width=500))
    assert "models:" in out.getvalue() and leaks("doctor", out.getvalue()) == []


@pytest.mark.slow
def test_every_role(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    stages = "clusters, evolve, graphs, retriever, agent-graphs, gflownet, answer, pool, selector"
    with echoing_server(KEY) as server:
        run = worked(tmp_path, server, stages, "selector={supervised_steps: 4, policy_steps: 4}")
    assert set(server.asked) == {"verdict", "reflector_output", "text"}
    assert leaks_of(run) == [] and leaks("logging", caplog.text) == []


@pytest.mark.slow
async def test_screens_and_what_they_export(tmp_path: Path) -> None:
    with echoing_server(KEY) as server:
        run = worked(tmp_path, server, "slsm, pool")
    app, exports = SteerApp(tmp_path, First(run.path)), run.path / "exports"
    seen: set[str] = set()
    async with app.run_test(size=(160, 50)) as pilot:
        await until(
            lambda: app.session is not None and app.session.total_events > 10 and app.session.caught_up
        )
        for number in range(3):
            await pilot.press(f"alt+{number + 1}", "e", "x")
            await until(lambda wanted=number + 1: len(list(exports.glob("*.svg"))) >= wanted)
            seen.add(app.screen.TITLE_WORD)  # type: ignore[attr-defined]
    assert {"SLSM", "Pool"} <= seen and list(exports.glob("*.csv"))
    assert leaks_of(run) == []
