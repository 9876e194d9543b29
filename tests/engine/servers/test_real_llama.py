"""A real llama.cpp server behind the roles: it answers in the form that it is asked for, and no more than its slots are
asked of it at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine.config.file import load_config
from engine.doctor.capabilities import Capability
from engine.doctor.server import ServerReport, examine
from engine.events import PathStep
from engine.evolution.history import History
from engine.evolution.judges.openai_judge import OpenAIJudge
from engine.evolution.reflectors.openai_reflector import OpenAIReflector
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput
from engine.files import read_jsonl
from engine.gflownet.answer.readers import OpenAIReader
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.completion import usable_json
from engine.servers.known_servers import KnownServers
from engine.servers.request_form import Schema
from engine.servers.usage import UsageBook
from engine.slsm import layout
from engine.slsm.controllers.openai_controller import (
    CONFLICTS_SCHEMA,
    DIFF_SCHEMA,
    FLAT_SCHEMA,
    OpenAIController,
    _ConflictsReply,
    _DiffReply,
    _FlatReply,
)
from engine.slsm.judges.openai_judge import OpenAIAnswerJudge
from engine.slsm.multichallenge import Criterion
from engine.slsm.slsm_stage import RunSLSM
from engine.slsm.state import SemanticState
from engine.slsm.turns import Turn
from tests.engine.doctor.real_server import check_answers_are_those_of_the_process, section
from tests.kill_and_resume import DEMO
from tests.processes import descendants
from tests.real_llama import REFLECTOR_SYSTEM, embedded_model, llama_server, needs_llama, small_model
from tests.run_stage import run_stage

pytestmark = [pytest.mark.llama, needs_llama]

NAMES = ["0", "1", "2"]
GIVEN = ReflectorInput(0, dict.fromkeys(NAMES, 0.0), {}, [], History(iterations=[]))


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(small_model(), 2048, tmp_path_factory.mktemp("smollm2") / "server.log") as address:
        yield address


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return embedded_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def dialogues(embedded: Path) -> Iterator[str]:
    with llama_server(embedded, 1024, embedded.with_suffix(".log")) as address:
        yield address


def client(address: str, max_tokens: int = 200, **more: Any) -> OpenAIClient:
    return OpenAIClient(section(address, max_tokens=max_tokens, retries=0), "here", **more)


def test_the_doctor_tells_what_it_can_do(smollm2: str) -> None:
    """It answers under its address with and without `/v1`."""
    *found, end = examine(smollm2, "", "TEST_KEY")
    lines = {one.name: one for one in found if isinstance(one, Capability)}
    assert end == ServerReport(True, smollm2, "dialogues")
    states = {name: line.state for name, line in lines.items()}
    assert states.pop("images") == "no"
    assert set(states.values()) == {"ok"}, states


def test_its_answers_are_those_of_the_process(dialogues: str, tmp_path: Path) -> None:
    check_answers_are_those_of_the_process(dialogues, tmp_path)


def test_two_slots_are_never_asked_for_three_answers(dialogues: str, tmp_path: Path) -> None:
    book, notices = UsageBook(tmp_path), list[str]()
    book.open()
    asking = client(dialogues, role="model", notice=notices.append, servers=KnownServers(book))
    messages = [{"role": "user", "content": "My dog is called Rex."}]
    with ThreadPoolExecutor(12) as pool:
        assert len(list(pool.map(lambda _: asking.complete(messages), range(12)))) == 12
    assert most_at_once(read_jsonl(tmp_path / "usage.jsonl")) == 2
    assert f"here: {dialogues}/v1 has 2 slots: so many requests at once" in notices


def most_at_once(requests: Sequence[dict[str, float]]) -> int:
    """Requests that were under way together: each line is written when its request has ended, in milliseconds."""
    spans = [(line["time"] - line["seconds"] + 0.002, line["time"] - 0.002) for line in requests]
    return max(sum(began <= moment < ended for began, ended in spans) for moment, _ in spans)


def test_the_reflectors_deltas_have_exactly_the_clusters(smollm2: str) -> None:
    reply = OpenAIReflector(client(smollm2), "m", REFLECTOR_SYSTEM).reflect(GIVEN, "The clusters: 0, 1, 2.")
    assert list(reply.deltas) == NAMES and reply.summary and not reply.refused


def test_what_a_reflector_gets_wrong_is_counted(smollm2: str) -> None:
    with pytest.raises(ReflectorFailed, match="cut off at the token limit") as caught:
        OpenAIReflector(client(smollm2, 8), "m", REFLECTOR_SYSTEM).reflect(GIVEN, "The clusters: 0, 1, 2.")
    assert list(caught.value.refused) == [{"the reply was cut off at the token limit": ""}] * 2


PLAN = '"plan": {"mode": "proceed", "reasons": []}'
CHANGE = '{"operation": "add", "list": "facts", "id": "", "text": "Ann has a dog.", "status": "", "evidence": "my dog"}'


@pytest.mark.parametrize(
    ("schema", "read", "example"),
    [
        (DIFF_SCHEMA, _DiffReply, f'{{"changes": [{CHANGE}], {PLAN}}}'),
        (FLAT_SCHEMA, _FlatReply, f'{{"memory_text": "Ann has a dog.", "mismatch": false, {PLAN}}}'),
        (CONFLICTS_SCHEMA, _ConflictsReply, '{"conflicts": [{"item": "F1", "why": "It is a cat."}]}'),
    ],
    ids=["changes", "flat memory", "conflicts"],
)
def test_the_controllers_replies_have_their_fields(
    smollm2: str, schema: Schema, read: type[BaseModel], example: str
) -> None:
    """With an example: left to itself this model adds items without end."""
    messages = [{"role": "user", "content": f"Say: {example}"}]
    read.model_validate_json(usable_json(client(smollm2).complete(messages, schema)))


def test_the_controller_keeps_the_memory_or_says_what_is_wrong_with_the_reply(smollm2: str) -> None:
    """The limit is reached twice: the memory stays."""
    told = OpenAIController(client(smollm2, 8), "m").update(
        SemanticState(), [Turn("My dog is called Rex.", None)]
    )
    assert (told.state, told.diff, told.spent.calls) == (SemanticState(), None, 2)
    assert told.failure == "the reply was cut off at the token limit"


def test_the_judges_give_a_verdict(smollm2: str) -> None:
    found = OpenAIJudge(client(smollm2), "m", 0.01).judge("What was cash?", ["41"], "Cash was 41 million.")
    assert isinstance(found.correct, bool) and found.reasoning and found.usage.calls == 1
    verdict = OpenAIAnswerJudge(client(smollm2), "m", True).judge(
        Criterion("Is it a fruit?", "YES"), "An apple."
    )
    assert verdict.reason.startswith(("YES: ", "NO: "))


def test_the_reader_answers_every_prompt(smollm2: str) -> None:
    triples = [PathStep(head="Ann", relation="mother", tail="Eve", score=1.0)]
    prompts = [EvidencePrompt("Who is the mother of Ann?", triples, 9)] * 3
    readings = OpenAIReader(client(smollm2, 16), "m").read(prompts, lambda: None)
    assert len(readings) == 3 and all(reading.text and not reading.failure for reading in readings)


def test_a_server_that_is_killed_is_one_error_and_a_resumed_run_asks_for_the_rest(
    embedded: Path, dialogues: str, tmp_path: Path
) -> None:
    port = int(dialogues.rpartition(":")[2]) + 1
    address = f"http://127.0.0.1:{port}"

    def run(folder: Path) -> list[dict[str, Any]]:
        openai = f"{{model: dialogues, base_url: '{address}/v1', api_key_env: none, retries: 0}}"
        settings = ["slsm.data.conversations=24", "slsm.compare=[baseline]", "slsm.concurrency=1"]
        config = load_config(DEMO, [*settings, f"slsm.answers={{kind: openai, openai: {openai}}}"])
        run_stage(RunSLSM(), config, folder)
        return read_jsonl(layout.answers(folder))

    with llama_server(embedded, 1024, tmp_path / "first.log", port):
        [server] = [pid for pid, words in descendants(os.getpid()) if f"--port {port}" in words]
        answers = layout.answers(tmp_path / "killed")
        threading.Thread(target=kill_when, args=(server, lambda: lines_of(answers) >= 5)).start()
        with pytest.raises(ServerFailed, match="the connection"):
            run(tmp_path / "killed")
    before = lines_of(answers)
    with llama_server(embedded, 1024, tmp_path / "second.log", port):
        assert 5 <= before < len(run(tmp_path / "killed")) == 24
        assert run(tmp_path / "killed") == run(tmp_path / "whole")


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_when(pid: int, reached: Callable[[], bool]) -> None:
    while not reached():
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
