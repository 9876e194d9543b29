"""Real servers on the embedded model for dialogues, and what has to be so of each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from engine.config.file import load_config
from engine.config.models.openai import OpenAISection
from engine.doctor.capabilities import Capability, State
from engine.doctor.server import ServerReport, examine
from engine.files import read_jsonl
from engine.servers.client import OpenAIClient
from engine.servers.completion import json_object
from engine.slsm import layout
from engine.slsm.slsm_stage import RunSLSM
from tests.engine.lm.sglang.test_server import free_port
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

MODEL = str(Path(__file__).parents[3] / "engine" / "embedded" / "dialogues")
_PATIENCE = 300.0
"""Seconds for a start."""


@contextmanager
def real_server(
    command: Sequence[str], environment: Mapping[str, str], log: Path, port: int = 0
) -> Iterator[str]:
    """The address of a server that calls its model `dialogues`; it is ended with all its processes. Without `port` any
    that is free."""
    port = port or free_port()
    whole = [*command, "--served-model-name", "dialogues", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            whole, stdout=output, stderr=output, env=os.environ | dict(environment), start_new_session=True
        )
    try:
        _wait_until_healthy(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait_until_healthy(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the server did not start:\n" + log.read_text()[-3000:])


def states_of(address: str) -> dict[str, State]:
    """What is found out about a server, but for who and where it is."""
    *found, end = examine(address, "", "TEST_KEY")
    assert end == ServerReport(True, f"{address}/v1", "dialogues")
    named = {one.name: one for one in found if isinstance(one, Capability)}
    return {name: one.state for name, one in named.items()}


def check_answers_are_those_of_the_process(address: str, folder: Path) -> None:
    """Memory notes over the server and in this process: every answer the same, every token counted."""
    openai = f"{{model: dialogues, base_url: '{address}/v1', api_key_env: none}}"
    small = ["slsm.data.conversations=48", "slsm.compare=[baseline, on_risk]"]
    answers = {}
    for name, kind in (("server", f"{{kind: openai, openai: {openai}}}"), ("process", "{kind: local}")):
        config = load_config(DEMO, [*small, f"slsm.answers={kind}"])
        run_stage(RunSLSM(), config, folder / name)
        answers[name] = read_jsonl(layout.folder(folder / name) / "answers.jsonl")
    told = {
        name: {(one["conversation_id"], one["note"]): one["answer"] for one in lines}
        for name, lines in answers.items()
    }
    assert len(told["server"]) > 80 and told["server"] == told["process"]
    ours, theirs = (sum(one["cost"]["tokens"] for one in answers[name]) for name in ("process", "server"))
    assert abs(ours - theirs) <= len(answers["server"]), "but for the end's token"


def check_a_schema_is_kept_to(address: str) -> None:
    """By a model that has never seen JSON."""
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["YES", "NO"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    asking = OpenAIClient(section(address, max_tokens=64), "here")
    reply = asking.complete([{"role": "user", "content": "hi"}], {"name": "verdict", "schema": schema})
    assert json_object(reply)["verdict"] in ("YES", "NO")


def section(address: str, **changes: object) -> OpenAISection:
    """As a run's configuration would say it."""
    fields = {"model": "dialogues", "base_url": f"{address}/v1", "api_key_env": "none"}
    return OpenAISection.model_validate(fields | changes)
