"""An evolution over the real SGLang: its worker killed in a minibatch, resumed, and equal to one in process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.runs.client import prepare_resume
from engine.events import Event, ServerChanged
from engine.evolution import layout
from engine.files import read_jsonl
from engine.run.directory import RunDirectory
from tests.engine.lm.sglang.test_server import gone
from tests.kill_and_resume import artefacts, prepared, run_whole
from tests.processes import descendants
from tests.real_sglang import needs_sglang, real_section

pytestmark = [pytest.mark.sglang, pytest.mark.slow, needs_sglang]

SIZES = (
    "run.stages=[clusters, evolve]",
    "clusters={embedder: hashed, k: 6, frequency_texts: 8}",
    "evolution.iterations=1",
    "evolution.minibatch_size=8",
    "evolution.validation_size=4",
    "evolution.test_size=4",
    "evolution.pool_size=40",
    "evolution.batch_size=2",
)
DELTAS = {"0": 0.5, "1": 0.25, "2": -2.0, "3": 1.0, "4": -1.0, "5": 0.0, "6": -3.0, "7": 0.5}


def test_a_worker_killed_in_a_minibatch(
    tmp_path: Path,
    worker: Callable[[RunDirectory], subprocess.Popen[bytes]],
    wait_until: Callable[..., None],
    events_of: Callable[[RunDirectory], list[Event]],
) -> None:
    """Stop, generate, start, healthy, minibatch. What the worker started dies with it; resumed, the run ends with the
    files of one that nobody stopped and that had the model in its own process."""
    deltas = tmp_path / "deltas.json"
    deltas.write_text(json.dumps(DELTAS))
    small = (*SIZES, f"evolution.initial_deltas={deltas}")
    whole = prepared(tmp_path, "whole", small)
    run_whole(whole)
    section = real_section()
    run = prepared(tmp_path, "served", (*small, f"evolution.server={section.model_dump_json()}"))
    answers = layout.answers(run.path)

    def minibatch() -> list[str]:
        return [line["example_id"] for line in read_jsonl(answers) if line["split"] == "minibatch"]

    process = worker(run)
    wait_until(lambda: process.poll() is not None or (answers.is_file() and minibatch()), "an answer", 400.0)
    below = descendants(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    assert any("sglang::scheduler" in command for _, command in below)
    wait_until(lambda: all(gone(pid) for pid, _ in below), "no orphan")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", section.port)) != 0
    had = minibatch()
    assert 0 < len(had) < 8, "killed in the middle"

    prepare_resume(run, None)
    assert worker(run).wait(900) == 0
    assert minibatch()[: len(had)] == had and len(set(minibatch())) == 8, "none lost, none asked twice"
    states = [event.state for event in events_of(run) if isinstance(event, ServerChanged)]
    assert states[:6] == ["stopping", "starting", "healthy"] * 2, "baseline and iteration"
    served = artefacts(run)
    assert served.pop("evolution/server.log")
    assert served == artefacts(whole)
