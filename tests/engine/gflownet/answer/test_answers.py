"""Answers from evidence: the verdict by hand, the paths they rest on, and a model of this process as the reader."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DataError
from engine.events import EvidenceAnswered, Verdict
from engine.gflownet.answer.answer_stage import _sampled, answer_verdict
from engine.gflownet.answer.readers import SYSTEM, ModelReader, Reading
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.lm.protocol import Request, Sampling
from tests.exactly import exactly


def answers(method: str, hits: list[bool], tokens: int) -> list[EvidenceAnswered]:
    return [
        EvidenceAnswered(
            sample_id=str(number), method=method, question="Q", golds=["a"], answer="", hit=hit, recall=0.0, triples=1,
            prompt_tokens=tokens,
        )
        for number, hit in enumerate(hits)
    ]  # fmt: skip


def test_the_verdict_is_that_of_the_paths_beside_the_triples() -> None:
    paths, triples = [True, True, False, True], [False, False, True, True]
    verdict = answer_verdict(answers("gflownet", paths, 30), answers("triples", triples, 40), 0, "said")
    assert verdict == Verdict(
        method="gflownet", baseline="triples", metric="answer_hit", items="questions", n=4, value=0.75,
        baseline_value=0.5, difference=0.25, low=-0.5, high=1.0, fixed=2, broken=1, tokens=30.0, baseline_tokens=40.0,
        curve=[1.0, 1.0, 0.6667, 0.75], remark="said",
    )  # fmt: skip


def test_paths_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "`paths.jsonl` is not there (…/paths.jsonl): run the stage `gflownet` of this run first"
        ),
    ):
        _sampled(tmp_path / "paths.jsonl")


def test_a_model_of_this_process_is_asked_with_the_evidence() -> None:
    """An answer that ends at the limit of tokens is cut."""
    asked: list[Request] = []

    def generate(requests: list[Request]) -> list[Any]:
        asked.extend(requests)
        return [
            SimpleNamespace(text=f"a{one.prompt[-1]}", ended=("stop", "length")[one.prompt[-1]])
            for one in requests
        ]

    tokenizer = SimpleNamespace(
        encode=lambda text: text.split(),
        encode_chat=lambda text, system: [len(system), int(text[-1])],
    )
    model: Any = SimpleNamespace(info=SimpleNamespace(name="tiny"), tokenizer=tokenizer, generate=generate)
    reader = ModelReader(model, 16)
    assert (reader.name, reader.count_tokens("a b c")) == ("tiny", 3)
    prompts = [EvidencePrompt(text, [], 0) for text in ("0", "1")]
    assert reader.read(prompts, lambda: None) == [Reading("a0"), Reading("a1", cut=True)]
    assert asked == [Request([len(SYSTEM), number], Sampling(16)) for number in (0, 1)]
