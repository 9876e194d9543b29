"""A real vLLM server on the embedded model: what the look finds is so, and its answers are those of the process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest

from engine.config_file import load_config
from engine.doctor.capabilities import Capability
from engine.doctor.server import Looked, look
from engine.files import read_jsonl
from engine.lm.completion import json_object
from engine.lm.openai_client import OpenAIClient
from engine.lm.openai_section import OpenAISection
from engine.slsm import layout
from engine.slsm.slsm_stage import RunSLSM
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM: make test-vllm"),
]

MODEL = Path(__file__).parents[3] / "engine" / "lm" / "embedded" / "dialogues"
_PATIENCE = 240.0
"""Seconds for a start."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server that is ended with all its processes. Without spaces in JSON: this model would write nothing else."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("vllm") / "server.log"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL),
        "--served-model-name", "dialogues", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32",
        "--enforce-eager", "--max-model-len", "512",
        "--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}',
    ]  # fmt: skip
    environment = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    try:
        _wait_until_healthy(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _wait_until_healthy(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the server did not start:\n" + log.read_text()[-3000:])


def test_the_look_finds_what_vllm_can_do(address: str) -> None:
    *found, end = look(address, "", "TEST_KEY")
    states = {one.name: one.state for one in found if isinstance(one, Capability)}
    assert end == Looked(True, f"{address}/v1", "dialogues")
    product = next(one for one in found if isinstance(one, Capability) and one.name == "product")
    assert product.text.startswith("vLLM 0.")
    assert states.pop("images") == "no" and states.pop("Retry-After") == "unknown"
    assert set(states.values()) == {"ok"}, states


def test_its_answers_are_those_of_the_process(address: str, tmp_path: Path) -> None:
    """Memory notes over the server and in this process: every answer the same, every token counted."""
    openai = f"{{model: dialogues, base_url: '{address}/v1', api_key_env: none}}"
    small = ["slsm.data.conversations=48", "slsm.compare=[baseline, on_risk]"]
    answers = {}
    for name, kind in (("server", f"{{kind: openai, openai: {openai}}}"), ("process", "{kind: local}")):
        config = load_config(DEMO, [*small, f"slsm.answers={kind}"])
        run_stage(RunSLSM(), config, tmp_path / name)
        answers[name] = read_jsonl(layout.folder(tmp_path / name) / "answers.jsonl")
    told = {
        name: {(one["conversation_id"], one["note"]): one["answer"] for one in lines}
        for name, lines in answers.items()
    }
    assert len(told["server"]) > 80 and told["server"] == told["process"]
    ours, theirs = (sum(one["cost"]["tokens"] for one in answers[name]) for name in ("process", "server"))
    assert abs(ours - theirs) <= len(answers["server"]), "but for the end's token"


def test_a_schema_is_kept_to(address: str) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["YES", "NO"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    section = OpenAISection(model="dialogues", base_url=f"{address}/v1", api_key_env="none", max_tokens=64)
    asking = OpenAIClient(section, "here")
    reply = asking.complete([{"role": "user", "content": "hi"}], {"name": "verdict", "schema": schema})
    assert json_object(reply)["verdict"] in ("YES", "NO")
    sampled = OpenAIClient(section.model_copy(update={"temperature": 1.5}), "here")
    said = [
        sampled.complete([{"role": "user", "content": "Name one fruit."}], seed=seed).text
        for seed in (1, 1, 2)
    ]
    assert said[0] == said[1] != said[2]
