"""Small pictures as text, so that a screen can draw them from the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine.events import Event, PoolThumbnails
from engine.pool.data.dataset import Image, PoolDataset

_LARGEST = 16
"""Most pixels a side of a thumbnail."""


def as_text(image: Image) -> str:
    """A hexadecimal digit for each pixel, line by line, 0 for black; "" for anything but a small greyscale picture."""
    if not isinstance(image, np.ndarray) or image.ndim != 2 or max(image.shape) > _LARGEST:
        return ""
    return "".join(f"{int(pixel) >> 4:x}" for pixel in image.astype(np.uint8).ravel())


def shown_query(dataset: PoolDataset, query_id: str) -> dict[str, Any]:
    """What every event about a query shows of it."""
    return {
        "query_id": query_id,
        "question": dataset.question(query_id),
        "answers": dict(Counter(dataset.annotations(query_id)).most_common()),
        "picture": as_text(dataset.query_image(query_id)),
    }


class Thumbnails:
    """Logs each row's picture once."""

    def __init__(self, dataset: PoolDataset, emit: Callable[[Event], None]) -> None:
        self._dataset = dataset
        self._emit = emit
        self._logged: set[int] = set()

    def log(self, rows: Iterable[int]) -> None:
        """Log the pictures of `rows` that are not in the log yet."""
        new = sorted(set(rows) - self._logged)
        self._logged.update(new)
        pixels = {str(row): text for row in new if (text := as_text(self._dataset.image(row)))}
        if pixels:
            image = self._dataset.image(new[0])
            height, width = image.shape if isinstance(image, np.ndarray) else (0, 0)
            self._emit(PoolThumbnails(height=height, width=width, pixels=pixels))
