"""Models as GGUF, as llama.cpp keeps them: weights, tokenizer and chat template in one file, or in parts."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelAbsent, ModelError
from engine.regular_file import open_to_read
from engine.versions import package_version

MAGIC = b"GGUF"
COPY_AGAIN = "copy or download the model again"
PACKAGES = ("gguf", "accelerate")
"""What transformers needs to read the file."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})(\.gguf)$", re.IGNORECASE)


def gguf_file(path: str) -> Path | None:
    """The GGUF file that `model.path` names, the first part of a model in parts; None where it names something else.
    Raises ModelError for one that is not there or is no GGUF file, or of which a part is missing."""
    if not path.lower().endswith(".gguf"):
        return None
    file = Path(path).expanduser()
    _check(file, path)
    return file


def lacking_packages() -> list[str]:
    """Packages that reading a GGUF file needs and this environment has not."""
    return [name for name in PACKAGES if package_version(name) is None]


def gguf_parts(file: Path) -> list[Path]:
    """All files of the model whose only or first file is `file`."""
    part = _PART.search(file.name)
    if part is None:
        return [file]
    return [_part(file, part, number) for number in range(1, int(part[2]) + 1)] or [file]


def _part(file: Path, part: re.Match[str], number: int) -> Path:
    return file.with_name(f"{file.name[: part.start()]}-{number:05d}-of-{part[2]}{part[3]}")


def _check(file: Path, path: str) -> None:
    part = _PART.search(file.name)
    if part and int(part[1]) != 1:
        raise ModelError(
            what=f"this is part {int(part[1])} of {int(part[2])} of a model",
            where=path,
            hint=f"give the first part, beside which the others lie: {_part(file, part, 1)}",
        )
    _check_magic(file, path)
    for number, other in enumerate(gguf_parts(file)[1:], 2):
        if not other.is_file():
            raise ModelError(
                what=f"part {number} of {len(gguf_parts(file))} of this model is missing",
                where=path,
                hint=f"put {other.name} beside it",
            )
        _check_magic(other, str(other))


def _check_magic(file: Path, where: str) -> None:
    try:
        with open_to_read(file) as opened:
            magic = opened.read(len(MAGIC))
    except OSError as error:
        kind = ModelAbsent if isinstance(error, FileNotFoundError) else ModelError
        raise kind(
            what=f"cannot read the file: {error.strerror or error}", where=where, hint="correct `model.path`"
        ) from error
    if magic != MAGIC:
        raise ModelError(what="this is no GGUF file", where=where, hint=COPY_AGAIN)
