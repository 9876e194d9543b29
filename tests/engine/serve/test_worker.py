"""A serving worker that is killed, paused and stopped."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.runs.client import prepare_run, send
from engine.events import Event, RequestAnswered, RequestTaken, ServeOpened, StagePaused
from engine.run.directory import RunDirectory
from tests.engine.serve.conftest import chat
from tests.kill_and_resume import DEMO
from tests.small_esm import SMALL

QUESTION = "Tom has 14 pens, buys 5, then loses 3. How many?"


@pytest.mark.slow
def test_killed_paused_and_stopped(
    full_run: Path,
    tmp_path: Path,
    example_stages: None,
    worker: Callable[[RunDirectory], subprocess.Popen[bytes]],
    events_of: Callable[[RunDirectory], list[Event]],
    wait_until: Callable[..., None],
) -> None:
    overrides = ["run.stages=[serve]", f"serve.runs={json.dumps([str(full_run)])}", "serve.port=0"]
    run = prepare_run(DEMO, [*SMALL, *overrides], str(tmp_path))

    def seen(kind: type[Event]) -> list[Event]:
        return [event for event in events_of(run) if isinstance(event, kind)]

    def ask() -> http.client.HTTPConnection:
        opened = seen(ServeOpened)[-1]
        assert isinstance(opened, ServeOpened)
        key = (run.path / "serve" / "key").read_text().strip()
        connection = http.client.HTTPConnection(opened.url.split("/")[2], timeout=120)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(QUESTION)), headers)
        return connection

    def text(connection: http.client.HTTPConnection) -> str:
        return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]

    process = worker(run)
    wait_until(lambda: seen(ServeOpened), "the server opens")
    key = (run.path / "serve" / "key").read_text()
    said = text(ask())
    process.kill()
    process.wait(60)
    again = worker(run)
    wait_until(lambda: len(seen(ServeOpened)) == 2, "it opens again")
    assert (run.path / "serve" / "key").read_text() == key and text(ask()) == said
    assert send(run, "pause").ok
    wait_until(lambda: seen(StagePaused), "it pauses")
    taken, waiting = len(seen(RequestTaken)), ask()
    assert send(run, "continue").ok
    assert text(waiting) == said and len(seen(RequestTaken)) == taken + 1
    wait_until(lambda: len(seen(RequestAnswered)) == 3, "the log has the answer")
    again.terminate()
    assert again.wait(60) == 130 and run.read().status == "stopped"
