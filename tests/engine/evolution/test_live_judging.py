"""An answer is judged and reported when it is given, while the model still writes others of its batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.config.config import Config
from engine.events import AnswerJudged, Event
from engine.evolution import layout
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.judges.judge import Verdict
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.model_server import InProcessServer, ModelAnswer, ModelQuestion, OnAnswer
from engine.lm.protocol import go_on
from engine.run.stage import StageContext
from engine.servers.side_by_side import Calls
from tests.engine.evolution.small_evolution import MODEL, configured
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors")


def test_an_answer_is_reported_before_its_batch_is_stored(tmp_path: Path) -> None:
    """Each batch's first answer comes passes before its last; the file stays in the order of the questions."""
    config: Config = configured(
        iterations=1, batch_size=8, validation_size=8, length_caps=0, brief_prompts=[]
    )
    model = load_model(MODEL)
    run_stage(BuildClusters(), config, tmp_path, model)
    passes = 0
    seen: list[tuple[int, int, AnswerJudged]] = []

    def count(mark: object, working: object) -> None:
        nonlocal passes
        passes += 1

    def emit(event: Event) -> None:
        if isinstance(event, AnswerJudged):
            path = layout.answers(tmp_path)
            seen.append((passes, len(path.read_bytes().splitlines()) if path.exists() else 0, event))

    model.between = count
    Evolve().run(StageContext("evolve", config, tmp_path, emit, lambda: None, lambda section: model))
    model.between = go_on
    first_batch = [(at, stored) for at, stored, event in seen if event.split == "validation"]
    assert len(first_batch) == 8 and len({stored for _, stored in first_batch}) == 1
    assert first_batch[-1][0] > first_batch[0][0], "all were reported at the end of the batch"
    lines = read_jsonl(layout.answers(tmp_path))
    reported = {(event.split, event.example): event for *_, event in seen}
    assert len(reported) == len(seen) == len(lines)
    for line in lines:
        event = reported[line["split"], line["example_id"]]
        assert (event.answer, event.correct, event.tokens) == (
            line["answer"], line["correct"], len(line["token_ids"]),
        )  # fmt: skip


class Waiting:
    """A judge that finds every answer right, each when it is let go on."""

    name = "one after another"

    def __init__(self) -> None:
        self.let = threading.Semaphore(0)

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return ""

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        assert self.let.acquire(timeout=20)
        return Verdict(True, "")


def test_a_verdict_is_reported_while_the_model_writes_the_next_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two passes of the model, not when the next answer has ended: here none ends before the report."""
    config = configured(
        iterations=1,
        minibatch_size=3,
        best_by="minibatch",
        validation_size=0,
        test_size=0,
        length_caps=0,
        brief_prompts=[],
    )
    judge, reported, answer = Waiting(), list[str](), InProcessServer.answer
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: judge)

    def one_after_another(
        server: InProcessServer,
        asks: Sequence[ModelQuestion],
        checkpoint: Callable[[], None],
        answered: OnAnswer,
    ) -> list[ModelAnswer]:
        answers = answer(server, asks, lambda: None)
        for number, one in enumerate(answers):
            before, until = len(reported), time.monotonic() + 10
            answered(number, one)
            judge.let.release()
            while len(reported) == before:
                checkpoint()
                assert time.monotonic() < until, "the verdict waits for the next answer"
        return answers

    monkeypatch.setattr(InProcessServer, "answer", one_after_another)
    model = load_model(MODEL)
    run_stage(BuildClusters(), config, tmp_path, model)

    def emit(event: Event) -> None:
        if isinstance(event, AnswerJudged):
            reported.append(event.example)

    Evolve().run(StageContext("evolve", config, tmp_path, emit, lambda: None, lambda section: model))
    assert [line["example_id"] for line in read_jsonl(layout.answers(tmp_path))] == reported


def test_calls_start_while_items_still_come_and_hand_over_in_the_order_in_which_they_end() -> None:
    found: list[tuple[int, int]] = []
    gate = threading.Event()

    def square(n: int) -> int:
        assert n != 1 or gate.wait(10)
        return n * n

    with Calls(square, 2, lambda n, result: found.append((n, result))) as calls:
        calls.add(1)
        calls.add(2)
        while not found:
            calls.hand_over()
        assert found == [(2, 4)], "the first one still waits"
        gate.set()
    assert found == [(2, 4), (1, 1)]


def test_a_call_that_raises_ends_the_block() -> None:
    found: list[int] = []

    def divide(n: int) -> int:
        return 1 // n

    with pytest.raises(ZeroDivisionError), Calls(divide, 1, lambda n, result: found.append(n)) as calls:
        calls.add(1)
        calls.add(0)
    assert found == [1]
