"""The evolution's generated processor does on vLLM what it does on transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from engine.config.models.model import ModelSection
from engine.evolution.clusters.cluster_map import ClusterMap
from engine.evolution.deltas import zero_deltas
from engine.evolution.processor import generate_processor, load_logits_processor
from engine.lm.loading.load import embedded_folder
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from engine.lm.vocabulary import load_vocabulary
from engine.tasks.financebench import generated_financebench
from tests.engine.lm.same import assert_same
from tests.engine.lm.vllm.conftest import running

pytest.importorskip("vllm", reason="vLLM is not installed here: `make test-vllm` has it")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


def test_the_generated_processor(tmp_path: Path) -> None:
    path = embedded_folder("statements")
    vocabulary = load_vocabulary(ModelSection(backend="embedded", path="statements"))
    ids = np.random.default_rng(0).integers(2, 5, len(vocabulary)).astype(np.uint8)
    clusters = ClusterMap(ids, 5, vocabulary.fingerprint)
    ours = TransformersModel.load(str(path), device="cpu", dtype="float32")
    requests = [
        Request(ours.tokenizer.encode_chat(example.meta["prompt"]), Sampling(60, temperature), seed)
        for seed, example in enumerate(generated_financebench("dev", 10, seed=3))
        for temperature in (0.0, 0.8)
    ]
    plain = [completion.tokens for completion in ours.generate(requests)]
    with running(path) as model:
        for delta in (-2.0, 0.0, 1.5):
            file = tmp_path / f"processor{delta}.py"
            generate_processor(file, clusters, {**zero_deltas(clusters.names), "3": delta})
            processor = load_logits_processor(file)
            expected = ours.generate(requests, logits_processor=processor)
            assert ([completion.tokens for completion in expected] == plain) == (delta == 0.0)
            assert_same(model.generate(requests, logits_processor=processor), expected, 1e-3)


@pytest.mark.parametrize("ahead", [None, True])
def test_a_processor_knows_what_was_written(ahead: bool | None) -> None:
    """Also where vLLM schedules ahead and the last tokens are on the device only."""

    class NeverAgain:
        """Makes what was written less likely, the more often the less."""

        def __call__(self, written: Sequence[Sequence[int]], logits: object) -> Tensor:
            assert isinstance(logits, Tensor)
            logits = logits.clone()
            for row, tokens in zip(logits, written, strict=True):
                for token in tokens:
                    row[token] -= 3.0
            return logits

    path = embedded_folder("statements")
    ours = TransformersModel.load(str(path), device="cpu", dtype="float32")
    requests = [
        Request(ours.tokenizer.encode(f"{number} and {number}"), Sampling(20 + number, temperature), number)
        for number in range(6)
        for temperature in (0.0, 0.8)
    ]
    expected = ours.generate(requests, logits_processor=NeverAgain())
    assert [one.tokens for one in expected] != [one.tokens for one in ours.generate(requests)]
    with running(path, ahead=ahead) as model:
        assert_same(model.generate(requests, logits_processor=NeverAgain()), expected, 1e-3)
