"""Many texts, embedded in chunks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.lm.embedding import text_embedding
from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.lm.embedding.text_embedding import embed_texts


def test_progress_is_told_in_distinct_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five different ones, two at a time: the last chunk has one."""
    monkeypatch.setattr(text_embedding, "CHUNK", 2)
    texts, told = ["a", "b", "a", "c", "d", "b", "e"], list[int]()
    rows = embed_texts(texts, HashedEmbedder, tmp_path / "rows.npy", lambda: None, told.append)
    assert told == [2, 4, 5]
    np.testing.assert_array_equal(rows, HashedEmbedder().embed(texts))
