"""Images as data URLs for vision models."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from engine.errors import DataError, reading_errors
from engine.regular_file import read_regular

SMALLEST_SIDE = 128
"""Smaller pictures are enlarged, each pixel to a square: a vision model's patches have 14 pixels or more."""
LARGEST = 1 << 25
"""Bytes of an image file, each of which several requests at a time hold in memory: servers take less."""
_SIGNATURES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def image_url(image: NDArray[np.uint8] | Path) -> str:
    """Data URL of greyscale [h, w], as PNG, or of a JPEG, PNG, GIF or WebP file, unchanged. Raises DataError."""
    if isinstance(image, Path):
        data = _read(image)
        return _url(_kind(data, image), data)
    return _url("image/png", png(enlarged(image)))


def enlarged(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`image` enlarged by a whole number, so that its shorter side has at least SMALLEST_SIDE pixels."""
    if image.ndim != 2 or image.dtype != np.uint8 or not image.size:
        raise DataError(
            what=f"an image of shape {list(image.shape)} and type {image.dtype}",
            hint="give greyscale [h, w] of type uint8",
        )
    times = -(-SMALLEST_SIDE // min(image.shape))
    return image.repeat(times, axis=0).repeat(times, axis=1)


def png(image: NDArray[np.uint8]) -> bytes:
    """A PNG file of 8-bit greyscale [h, w]."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def _read(path: Path) -> bytes:
    with reading_errors(path, "no image", "check the folder and pattern of images", OSError):
        return read_regular(path, LARGEST)


def _kind(data: bytes, path: Path) -> str:
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            return kind
    raise DataError(what="neither JPEG, PNG, GIF nor WebP", where=str(path), hint="convert the image")


def _url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
