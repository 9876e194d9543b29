"""Levers act on a model on vLLM as on transformers: joined, decided and written beside others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.esm import layout
from engine.events import Event
from engine.files import read_jsonl
from engine.levers.levers import Chosen, Levers
from engine.levers.load import load_levers
from engine.lm.loading.load import EMBEDDED
from tests.engine.lm.vllm.conftest import running

pytest.importorskip("vllm", reason="vLLM is not installed here: `make test-vllm` has it")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


@pytest.fixture(scope="module")
def on_vllm(esm_run: tuple[Path, list[Event]]) -> Iterator[Levers]:
    with running(EMBEDDED) as model:
        yield load_levers([esm_run[0]], load=lambda section: model)


@pytest.mark.parametrize(("method", "chosen"), [("esm", Chosen(["esm"])), ("greedy", Chosen([]))])
def test_answers_are_those_of_the_evaluation_on_transformers(
    esm_run: tuple[Path, list[Event]], on_vllm: Levers, method: str, chosen: Chosen
) -> None:
    lines = list(read_jsonl(layout.evaluation(esm_run[0], method) / "per_example.jsonl"))
    asked = [[{"role": "user", "content": line["question"]}] for line in lines]
    answers = on_vllm.answer(
        [on_vllm.prepare(line["example_id"], own, chosen) for line, own in zip(lines, asked, strict=True)]
    )
    assert [answer.text for answer in answers] == [line["text"] for line in lines]
    told = [[(d.gate, d.chosen) for d in answer.decisions] for answer in answers]
    assert method != "esm" or told == [[(s["gate"], s["chosen"]) for s in line["steps"]] for line in lines]
    assert method != "esm" or any(line["steered"] for line in lines)
