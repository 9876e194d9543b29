"""A real vLLM server: what the look finds is so, and its answers are those of the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.servers.client import OpenAIClient
from tests.engine.doctor.real_server import (
    MODEL,
    check_a_schema_is_kept_to,
    check_answers_are_those_of_the_process,
    real_server,
    section,
    states_of,
)

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM: make test-vllm"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Without spaces in JSON: this model would write nothing else."""
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL, "--dtype", "float32",
        "--enforce-eager", "--max-model-len", "512",
        "--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}',
    ]  # fmt: skip
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with real_server(command, environment, tmp_path_factory.mktemp("vllm") / "server.log") as found:
        yield found


def test_the_look_finds_what_vllm_can_do(address: str) -> None:
    states = states_of(address)
    assert states.pop("images") == "no"
    assert set(states.values()) == {"ok"}, states


def test_its_answers_are_those_of_the_process(address: str, tmp_path: Path) -> None:
    check_answers_are_those_of_the_process(address, tmp_path)


def test_a_schema_is_kept_to(address: str) -> None:
    check_a_schema_is_kept_to(address)


def test_seeds_draw_the_same_again(address: str) -> None:
    asking = OpenAIClient(section(address, temperature=1.5, max_tokens=32), "here")
    hi = [{"role": "user", "content": "Name one fruit."}]
    said = [asking.complete(hi, seed=seed).text for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]
