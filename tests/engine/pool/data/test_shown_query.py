"""What every event about a query shows of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.pool.data.shown_query import pixels, shown_query


def test_answers_are_shown_most_frequent_first_and_pixels_as_digits() -> None:
    image = np.array([[0, 15, 16], [128, 240, 255]], np.uint8)
    dataset: Any = SimpleNamespace(
        question=lambda name: f"{name}?",
        annotations=lambda name: ["4", "2", "2", "9", "2", "9"],
        query_image=lambda name: image,
    )
    shown = shown_query(dataset, "a")
    assert shown == {
        "query_id": "a", "question": "a?", "answers": {"2": 3, "9": 2, "4": 1}, "picture": "0018ff",
    }  # fmt: skip
    assert list(shown["answers"]) == ["2", "9", "4"]
    assert pixels(Path("photo.png")) == ""  # type: ignore[arg-type]
