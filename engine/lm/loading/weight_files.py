"""The files of weights in a model's folder."""

from __future__ import annotations

from pathlib import Path

_SAFE, _OTHER = "*.safetensors", "pytorch_model*.bin"


def weight_files(folder: Path) -> list[Path]:
    """The safetensors of a folder, or else the files of the older kind."""
    return sorted(folder.glob(_SAFE)) or sorted(folder.glob(_OTHER))


def total_size(files: list[Path]) -> int:
    """Bytes of the files that are there."""
    return sum(file.stat().st_size for file in files if file.is_file())
