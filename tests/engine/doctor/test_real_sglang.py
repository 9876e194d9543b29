"""A real SGLang server: what the look finds is so, and its answers are those of the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.doctor.real_server import (
    MODEL,
    check_a_schema_is_kept_to,
    check_answers_are_those_of_the_process,
    real_server,
    states_of,
)
from tests.real_sglang import ENVIRONMENT, PYTHON, needs_sglang

pytestmark = [pytest.mark.sglang, needs_sglang]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Without spaces in JSON: this model would write nothing else."""
    command = [
        PYTHON, "-m", "sglang.launch_server", "--model-path", MODEL, "--dtype", "float32", "--device", "cpu",
        "--attention-backend", "torch_native", "--max-total-tokens", "16384",
        "--constrained-json-disable-any-whitespace",
    ]  # fmt: skip
    with real_server(command, ENVIRONMENT, tmp_path_factory.mktemp("sglang") / "server.log") as found:
        yield found


def test_the_look_finds_what_sglang_can_do(address: str) -> None:
    """Seeds are not honoured as it is started here: without --enable-deterministic-inference."""
    states = states_of(address)
    assert states.pop("images") == states.pop("seed") == "no"
    assert set(states.values()) == {"ok"}, states


def test_its_answers_are_those_of_the_process(address: str, tmp_path: Path) -> None:
    check_answers_are_those_of_the_process(address, tmp_path)


def test_a_schema_is_kept_to(address: str) -> None:
    check_a_schema_is_kept_to(address)
