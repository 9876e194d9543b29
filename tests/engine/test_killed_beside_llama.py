"""An evolution and SLSM with a real llama.cpp server behind them: a worker that is killed and resumed leaves the files
of one that was left alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.evolution import layout
from engine.files import read_jsonl
from engine.slsm.layout import states
from tests.kill_and_resume import SYSTEMS, artefacts, prepared, run_killed, run_whole, seconds_of_work
from tests.nursery import Nursery
from tests.real_llama import REFLECTOR_SYSTEM, llama_server, needs_llama, small_model

pytestmark = [pytest.mark.llama, needs_llama]

TEMPLATE = """\
{{ cluster_descriptions_json }}
{{ all_responses_with_correctness }}
{{ cot_summary }}
Now: {{ current_deltas_json }}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(small_model(), 4096, tmp_path_factory.mktemp("smollm2") / "server.log") as found:
        yield found


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery(1) as made:
        yield made


def settings(system: str, address: str, folder: Path) -> list[str]:
    """A small run of the system whose reflector, or controller, is the server."""
    openai = f"{{model: dialogues, base_url: '{address}/v1', api_key_env: none, max_tokens: 128}}"
    if system == "slsm":
        fewer = [
            "slsm.data.conversations=1",
            "slsm.compare=[baseline, always]",
            "slsm.compare_memory=[flat]",
        ]
        return [*SYSTEMS[system], *fewer, f"slsm.controller={{kind: openai, openai: {openai}}}"]
    for name, text in (("system.txt", REFLECTOR_SYSTEM), ("user.txt", TEMPLATE)):
        (folder / name).write_text(text)
    messages = f"system_prompt: {folder / 'system.txt'}, user_template: {folder / 'user.txt'}"
    return [
        *SYSTEMS[system], "clusters.k=3", f"evolution.reflector={{kind: openai, {messages}, openai: {openai}}}",
    ]  # fmt: skip


@pytest.mark.parametrize(("system", "role"), [("evolution", "reflector"), ("slsm", "controller")])
def test_a_killed_worker_leaves_the_files_of_one_left_alone(
    nursery: Nursery, address: str, tmp_path: Path, system: str, role: str
) -> None:
    """Greedy, one request at a time, by a server that reads each prompt anew: otherwise llama.cpp's own answers may
    differ in a word."""
    small = settings(system, address, tmp_path)
    whole, killed = prepared(tmp_path, "whole", small), prepared(tmp_path, "killed", small)
    run_whole(whole, nursery)
    assert run_killed([nursery], killed, seconds_of_work(whole), random.Random(3)) > 0
    assert artefacts(killed) == artefacts(whole)
    requests = read_jsonl(whole.path / "usage.jsonl")
    assert {(line["role"], line["outcome"]) for line in requests} == {(role, "answered")}
    assert used_replies(system, whole.path) > 0


def used_replies(system: str, run: Path) -> int:
    """Of the whole run those that passed every check."""
    if system == "evolution":
        return len(list(layout.folder(run).glob("reflector_reply_*.json")))
    return sum(not line["event"].get("failure") for line in read_jsonl(states(run)))
