"""Many texts, embedded in chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import DataError
from engine.lm.embedding import text_embedding
from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.lm.embedding.text_embedding import distinct_texts, embed_texts
from tests.exactly import exactly


def test_progress_is_told_in_distinct_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five different ones, two at a time: the last chunk has one."""
    monkeypatch.setattr(text_embedding, "CHUNK", 2)
    texts, told = ["a", "b", "a", "c", "d", "b", "e"], list[int]()
    rows = embed_texts(texts, HashedEmbedder, tmp_path / "rows.npy", lambda: None, told.append)
    assert told == [2, 4, 5]
    np.testing.assert_array_equal(rows, HashedEmbedder().embed(texts))


def test_each_text_once_in_the_order_in_which_it_came() -> None:
    assert distinct_texts(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


class Letters:
    """Embeds a text as its length and its first letter's number, and remembers what it was given."""

    name, dimension = "letters", 2

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.given.append(list(texts))
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def test_a_stop_between_chunks_costs_none_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedder is loaded once, when there is something to embed; the parts go when the file is whole."""
    monkeypatch.setattr(text_embedding, "CHUNK", 2)
    texts, file, parts = ["a", "bb", "a", "ccc", "d", "e"], tmp_path / "rows.npy", tmp_path / "rows.parts"
    embedder, loaded, asked, told = Letters(), list[int](), list[int](), list[int]()

    def load() -> Any:
        loaded.append(1)
        return embedder

    def stop_at_the_third() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_texts(texts, load, file, stop_at_the_third, told.append)
    assert sorted(path.name for path in parts.iterdir()) == ["00000.npy", "00001.npy"]
    assert (embedder.given, len(loaded), told) == ([["a", "bb"], ["ccc", "d"]], 1, [2, 4])
    embedder.given.clear()
    told.clear()
    rows = embed_texts(texts, load, file, lambda: asked.append(1), told.append)
    assert (embedder.given, len(loaded), len(asked), told) == ([["e"]], 2, 4, [2, 4, 5])
    assert rows.tolist() == [[1, 97], [2, 98], [1, 97], [3, 99], [1, 100], [1, 101]]
    assert not parts.exists()
    parts.mkdir()  # what a worker left that was killed before it removed them
    again = embed_texts(texts, load, file, lambda: asked.append(1), told.append)
    np.testing.assert_array_equal(again, rows)
    assert (len(loaded), len(asked), len(told), parts.exists()) == (2, 4, 3, False)


@pytest.mark.parametrize(
    ("kept", "what"),
    [
        (np.zeros((3, 4), np.float32), "float32 of shape [3, 4]"),
        (np.zeros((2, 4)), "float64 of shape [2, 4]"),
        (np.zeros(2, np.float32), "float32 of shape [2]"),
        (np.zeros((2, 4, 1), np.float32), "float32 of shape [2, 4, 1]"),
    ],
)
def test_a_file_that_holds_other_rows_is_refused(tmp_path: Path, kept: NDArray[Any], what: str) -> None:
    file = tmp_path / "rows.npy"
    np.save(file, kept)
    told = (
        f"these are no embeddings: {what}, not a float32 row for each of 2 texts ({file}): "
        "remove the file: it is made again"
    )
    with pytest.raises(DataError, match=exactly(told)):
        embed_texts(["a", "b"], HashedEmbedder, file, lambda: None, lambda done: None)
    np.save(file, np.ones((2, 4), np.float32))
    assert embed_texts(["a", "b"], HashedEmbedder, file, lambda: None, lambda done: None).shape == (2, 4)
