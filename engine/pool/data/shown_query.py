"""What every event about a query shows of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from engine.pool.data.dataset import Image, PoolDataset


def pixels(image: Image) -> str:
    """A hexadecimal digit for each pixel, line by line, 0 for black; "" for a file."""
    if not isinstance(image, np.ndarray):
        return ""
    return "".join(f"{int(pixel) >> 4:x}" for pixel in image.ravel())


def shown_query(dataset: PoolDataset, query_id: str) -> dict[str, Any]:
    """The fields of such an event."""
    return {
        "query_id": query_id,
        "question": dataset.question(query_id),
        "answers": dict(Counter(dataset.annotations(query_id)).most_common()),
        "picture": pixels(dataset.query_image(query_id)),
    }
