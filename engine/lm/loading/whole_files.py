"""Whether a model's files are whole and of an architecture that can be steered, from their headers alone."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

from engine.errors import ModelError
from engine.lm.loading.gguf_file import COPY_AGAIN, gguf_file, gguf_parts, lacking_packages
from engine.lm.loading.gguf_reader import UNREADABLE, read_header
from engine.lm.loading.hub_cache import cached_folder
from engine.lm.loading.weight_files import weight_files
from engine.regular_file import open_to_read, read_regular

LARGEST_HEADER = 100_000_000
"""Bytes of the header of a safetensors file, which the library sets."""


def check_files(path: str, steered: bool = True) -> None:
    """Raise ModelError where files of the model at `path` that are on this machine are cut or damaged, or, where it is
    to be `steered` by transformers, where its architecture cannot be."""
    file = gguf_file(path)
    if file is None:
        local = Path(path).expanduser()
        folder = local if local.is_dir() else cached_folder(path)
        if folder is not None:
            _check_folder(folder, steered)
    elif not lacking_packages():
        architecture, *_ = [_check_gguf(part) for part in gguf_parts(file)]
        if steered:
            check_architecture(_model_type(architecture), str(file))


def check_architecture(model_type: str, where: str) -> None:
    """Raise ModelError for what transformers does not know as a causal model, or has no key/values of its tokens."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    known: Any = MODEL_FOR_CAUSAL_LM_MAPPING
    config = CONFIG_MAPPING[model_type] if model_type in CONFIG_MAPPING else None  # noqa: SIM401 (`get` knows none)
    if config not in known:
        what = (
            f"transformers {transformers.__version__} has no causal model of the architecture {model_type!r}"
        )
    elif getattr(known[config], "_is_stateful", False):
        what = f"the architecture {model_type!r} cannot be steered: it is recurrent, in some layers or all"
    else:
        return
    hint = "use a decoder-only model that keeps key/values, such as Qwen2, Llama or Gemma"
    raise ModelError(what=what, where=where, hint=hint)


def _cut(file: Path, size: int, whole: int | None = None) -> ModelError:
    """The error of a file that ends too early. `whole`: the bytes it should have, where its header tells."""
    what = f"it ends within its header, after {size:,} bytes"
    if whole is not None:
        what = f"it has {size:,} of its {whole:,} bytes"
    return ModelError(what=f"this file is cut: {what}", where=str(file), hint=COPY_AGAIN)


def _check_gguf(file: Path) -> str:
    """The architecture that the file names."""
    size = file.stat().st_size
    try:
        architecture, whole = read_header(file)
    except UNREADABLE as error:
        what = f"this file is cut within its header, after {size:,} bytes, or the header is damaged"
        hint = f"{COPY_AGAIN}, or upgrade the package gguf"
        raise ModelError(what=what, where=str(file), hint=hint) from error
    if size < whole:
        raise _cut(file, size, whole)
    return architecture


def _model_type(name: str) -> str:
    """What transformers calls the architecture of a GGUF file, which writes some names in another way."""
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    plain = {other.replace("_", ""): other for other in GGUF_SUPPORTED_ARCHITECTURES}
    return plain.get(name.replace("-", "").replace("_", ""), f"{name} as a GGUF file")


def _check_folder(folder: Path, steered: bool) -> None:
    for file in _loaded(folder):
        try:
            (_check_safetensors if file.suffix == ".safetensors" else _check_archive)(file)
        except OSError as error:
            raise ModelError(
                what=f"cannot read the file: {error.strerror or error}", where=str(file), hint=COPY_AGAIN
            ) from error
    config = folder / "config.json"
    if steered and config.is_file():
        check_architecture(_configured_type(config), str(config))


def _loaded(folder: Path) -> list[Path]:
    """The weights that transformers loads: one file where there is one of that name."""
    single = folder / "model.safetensors"
    return [single] if single.is_file() else weight_files(folder)


def _check_safetensors(file: Path) -> None:
    size = file.stat().st_size
    with open_to_read(file) as opened:
        length = opened.read(8)
        begin = 8 + struct.unpack("<Q", length)[0] if len(length) == 8 else 8
        if begin <= LARGEST_HEADER and begin > size:
            raise _cut(file, size)
        header = opened.read(min(begin, LARGEST_HEADER) - 8)
    try:
        entries = [entry for name, entry in json.loads(header).items() if name != "__metadata__"]
        whole = begin + max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            what="this is no safetensors file, or its header is damaged", where=str(file), hint=COPY_AGAIN
        ) from error
    if size < whole:
        raise _cut(file, size, whole)
    if size > whole:
        what = f"this file has {size - whole:,} bytes beyond its {whole:,}"
        raise ModelError(what=what, where=str(file), hint=COPY_AGAIN)


def _check_archive(file: Path) -> None:
    """A file of torch's, whose table of contents stands at its end."""
    with open_to_read(file) as opened:
        if opened.read(2) == b"PK" and not zipfile.is_zipfile(opened):
            raise _cut(file, file.stat().st_size)


def _configured_type(config: Path) -> str:
    try:
        return str(json.loads(read_regular(config))["model_type"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ModelError(
            what="config.json does not name its `model_type`", where=str(config), hint=COPY_AGAIN
        ) from error
