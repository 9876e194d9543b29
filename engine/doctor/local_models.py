"""Language models that lie on this machine: in the SmolLM2 package, the hub's cache, and the folders
where people put them. Nothing is loaded, and a large disk is not searched through."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelError
from engine.lm.loading.gguf_file import gguf_file, gguf_parts
from engine.lm.loading.smollm2 import PACKAGE, packaged_file
from engine.lm.loading.weight_files import total_size, weight_files

FOLDERS = ("models", "~/models", "~/.lmstudio/models", "~/.cache/lm-studio/models", "~/.cache/llama.cpp")
"""Where model files are looked for, and up to `DEPTH` folders below."""
DEPTH = 3
SECONDS = 2.0
"""After which folders are not searched further."""
_CAUSAL = ("CausalLM", "LMHeadModel", "ForConditionalGeneration")


@dataclass(frozen=True)
class LocalModel:
    """`path`: what `model.path` takes; `size`: bytes on the disk; `place`: where it is, in words."""

    path: str
    size: int
    place: str


def local_models(environment: Mapping[str, str] = os.environ) -> Iterator[LocalModel]:
    """Every model that is found, each file once."""
    file = packaged_file()
    if file is not None:
        yield LocalModel("smollm2", total_size([file]), f"in the package {PACKAGE}")
    yield from _of_hub(_hub_cache(environment))
    yield from _in_folders(FOLDERS, time.monotonic() + SECONDS)


def _hub_cache(environment: Mapping[str, str]) -> Path:
    home = environment.get("HF_HOME") or "~/.cache/huggingface"
    return Path(environment.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()


def _of_hub(cache: Path) -> Iterator[LocalModel]:
    for folder in sorted(cache.glob("models--*")):
        snapshots = sorted(folder.glob("snapshots/*"), key=lambda path: path.stat().st_mtime, reverse=True)
        newest = next((snapshot for snapshot in snapshots if _is_causal(snapshot)), None)
        if newest is not None:
            name = folder.name.removeprefix("models--").replace("--", "/", 1)
            yield LocalModel(name, total_size(weight_files(newest)), "in the hub's cache")


def _in_folders(folders: tuple[str, ...], until: float) -> Iterator[LocalModel]:
    seen: set[Path] = set()
    for name in folders:
        for folder in _below(Path(name).expanduser(), DEPTH):
            if time.monotonic() > until:
                return
            if folder.resolve() in seen:
                continue
            seen.add(folder.resolve())
            if _is_causal(folder):
                yield LocalModel(str(folder), total_size(weight_files(folder)), "a folder")
            for file in sorted(folder.glob("*.gguf")):
                try:
                    gguf_file(str(file))
                except ModelError:  # a part after the first, or no GGUF file
                    continue
                yield LocalModel(str(file), total_size(gguf_parts(file)), "a GGUF file")


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """`folder` and the folders below it; none where it cannot be read."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        return
    yield folder
    for path in inside if depth else ():
        yield from _below(path, depth - 1)


def _is_causal(folder: Path) -> bool:
    """Whether a folder holds the weights of a model that writes text (the cache has embedders too)."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        architectures = [str(name) for name in config.get("architectures") or ()]
    except (OSError, ValueError, AttributeError, TypeError):
        return False
    return bool(weight_files(folder)) and any(kind in name for name in architectures for kind in _CAUSAL)
