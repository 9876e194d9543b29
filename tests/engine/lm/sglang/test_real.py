"""What the stand-in promises, of the real SGLang on a CPU, with the embedded model of statements."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import ModelError
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.deltas import zero_deltas
from engine.evolution.processor import generate_processor, sglang_processor_string
from engine.lm.loading.load import embedded_folder
from engine.lm.model_server import ModelAnswer, ModelQuestion
from engine.lm.sglang.generate import GenerateClient
from engine.lm.sglang.server import SGLangServer
from engine.lm.vocabulary import load_vocabulary
from engine.tasks.financebench import generated_financebench
from tests.engine.lm.sglang.test_server import MODEL, in_process, nothing
from tests.processes import descendants
from tests.real_sglang import needs_sglang, real_section

pytestmark = [pytest.mark.sglang, pytest.mark.slow, needs_sglang]

QUESTIONS = [
    ModelQuestion(example.meta["prompt"], 96) for example in generated_financebench("dev", 16, seed=3)
]
DELTAS = (-6.0, -0.5, 0.0, 1.5)


@pytest.fixture(scope="module")
def processors(tmp_path_factory: pytest.TempPathFactory) -> dict[float, Path]:
    """Each adds its delta to the tokens that begin with some letters, and 0.3 to the end of the answer."""
    vocabulary = load_vocabulary(MODEL)
    ids = np.full(len(vocabulary), 2, dtype=np.uint8)
    ids[vocabulary.padding] = NO_CLUSTER
    ids[sorted(vocabulary.tokenizer.eos_token_ids)] = 0
    for token, text in enumerate(vocabulary.texts):
        if text.strip().lower().startswith(("t", "b", "a")):
            ids[token] = 3
    clusters = ClusterMap(ids, 4, vocabulary.fingerprint)
    found = {delta: tmp_path_factory.mktemp("processor") / "processor.py" for delta in DELTAS}
    for delta, path in found.items():
        generate_processor(path, clusters, {**zero_deltas(clusters.names), "0": 0.3, "3": delta})
    return found


class Served:
    """One server for this file's tests, with all that it told and was sent."""

    def __init__(self, folder: Path, model: str = str(embedded_folder("statements"))) -> None:
        self.states: list[str] = []
        self.section = real_section()
        self.tokenizer = load_vocabulary(MODEL).tokenizer
        self.log = folder / "server.log"
        tell = self.states.append
        self.server = SGLangServer(
            self.section, model, self.tokenizer, sglang_processor_string, self.log, tell
        )
        self.client = GenerateClient(f"http://127.0.0.1:{self.section.port}", self.tokenizer, 120.0)

    def answer(self, ask: ModelQuestion, processor: Path | None) -> ModelAnswer:
        """Of a server that may have been started with another processor: it comes with each question."""
        string = None if processor is None else sglang_processor_string(processor)
        return self.client.read(self.client.send(self.client.body(ask, string)))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, processors: dict[float, Path]) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("served"))
    try:
        served.server.start(processors[1.5], nothing)
        yield served
    finally:
        served.server.stop()


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    """The log's last lines say why."""
    with pytest.raises(ModelError, match=r"ended while it started(.|\n)*its last lines(.|\n)*/nowhere/model"):
        Served(tmp_path, "/nowhere/model").server.start(None, nothing)


def test_tokens_are_those_of_transformers(served: Served, processors: dict[float, Path]) -> None:
    """Without a processor and with four, all questions at once: the server's batches hold several processors."""
    cases: list[Path | None] = [None, *processors.values()]
    pairs = [(ask, chosen) for ask in QUESTIONS for chosen in cases]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda pair: served.answer(*pair), pairs))
    written: set[tuple[int, ...]] = set()
    for number, chosen in enumerate(cases):
        here = in_process()
        here.start(chosen, nothing)
        own = answers[number :: len(cases)]
        assert own == here.answer(QUESTIONS, nothing)
        written.add(tuple(len(answer.tokens) for answer in own))
    assert len(written) >= 4, "the processors change what is written"


def test_a_seed_is_not_honoured_as_the_run_is_told(served: Served) -> None:
    """When this fails, SGLang has learned it, and the notice of the run can go."""
    assert not served.server.draws_by_seed
    ask = ModelQuestion(QUESTIONS[0].prompt, 48, temperature=1.0, seed=7)
    assert len({tuple(served.answer(ask, None).tokens) for _ in range(8)}) > 1


def test_a_question_that_is_too_long_is_refused(served: Served) -> None:
    with pytest.raises(
        ModelError, match=r"refused a question: status 400(.|\n)*maximum context length of 1024"
    ):
        served.server.answer([ModelQuestion(QUESTIONS[0].prompt, 1000)], nothing)
    assert served.answer(QUESTIONS[0], None).tokens, "the server goes on"


@pytest.mark.parametrize("killed", ["the server", "its scheduler"])
def test_a_server_killed_in_a_minibatch(
    served: Served, processors: dict[float, Path], monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """It is started again; no answer is lost, none that was given is asked for again."""
    asked: Counter[str] = Counter()
    given: Counter[str] = Counter()
    ids = {repr(list(served.tokenizer.encode_chat(ask.prompt))): ask.prompt for ask in QUESTIONS}
    send = GenerateClient.send

    def counted(client: GenerateClient, body: dict[str, Any]) -> Any:
        prompt = ids[repr(body["input_ids"])]
        asked[prompt] += 1
        reply = send(client, body)
        given[prompt] += 1
        return reply

    def kill_once() -> None:
        if given.total() >= 3 and not served.states:
            victim = served_process(killed)
            os.kill(victim, signal.SIGKILL)
            served.states.append("killed")

    monkeypatch.setattr(GenerateClient, "send", counted)
    served.states.clear()
    answers = served.server.answer(QUESTIONS, kill_once)
    here = in_process()
    here.start(processors[1.5], nothing)
    assert answers == here.answer(QUESTIONS, nothing)
    assert served.states == ["killed", "restarting", "healthy"]
    assert set(given.values()) == {1} and len(given) == len(QUESTIONS), "none lost, none asked for twice"
    assert 0 < asked.total() - given.total() <= served.section.concurrency, (
        "what was in flight is asked again"
    )


def test_it_ends_in_order(served: Served) -> None:
    """Last: not as if its scheduler had crashed, after which SGLang sleeps and looks for a core dump."""
    served.server.stop()
    last = served.log.read_text().rpartition("ready to roll")[2]
    assert "Finished server process" in last and "crashed" not in last


def served_process(which: str) -> int:
    """Its id: the command's own process, or the one that runs the model."""
    sign = "sglang::scheduler" if which == "its scheduler" else "sglang.launch_server"
    return next(
        pid for pid, command in descendants(os.getpid()) if sign in command and "guardian" not in command
    )
