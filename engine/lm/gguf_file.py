"""Models in one GGUF file, as llama.cpp and Ollama keep them: weights, tokenizer and chat template together."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from engine.errors import ModelError
from engine.versions import package_version

MAGIC = b"GGUF"
PACKAGES = ("gguf", "accelerate")
"""What transformers needs to read the file."""
OLLAMA = "ollama:"
"""`ollama:NAME` or `ollama:NAME:TAG` names a model that Ollama has fetched to this machine."""
_PART = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_NAME = re.compile(r"\w[\w.-]*")
_MODEL_LAYER = "application/vnd.ollama.image.model"


def gguf_file(path: str) -> Path | None:
    """The GGUF file that `model.path` names, None where it names something else. Raises ModelError for one that is not
    there, is no GGUF file or is a part of one."""
    if path.startswith(OLLAMA):
        file = _ollama_blob(path.removeprefix(OLLAMA))
    elif path.lower().endswith(".gguf"):
        file = Path(path).expanduser()
    else:
        return None
    _check(file, path)
    return file


def lacking_packages() -> list[str]:
    """Packages that reading a GGUF file needs and this environment has not."""
    return [name for name in PACKAGES if package_version(name) is None]


def _check(file: Path, path: str) -> None:
    part = _PART.search(file.name)
    if part and int(part[1]) > 1:
        raise ModelError(
            what="this is one of several parts of a model",
            where=path,
            mend="join them: llama-gguf-split --merge FIRST_PART WHOLE.gguf",
        )
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(MAGIC))
    except OSError as error:
        raise ModelError(
            what=f"cannot read the file: {error.strerror or error}", where=path, mend="correct `model.path`"
        ) from error
    if magic != MAGIC:
        raise ModelError(what="this is no GGUF file", where=path, mend="copy or download the model again")


def _ollama_blob(name: str) -> Path:
    """The file with the weights of an Ollama model on this machine. Raises ModelError."""
    models = Path(os.environ.get("OLLAMA_MODELS") or "~/.ollama/models").expanduser()
    model, _, tag = name.partition(":")
    where, parts = f"{OLLAMA}{name}", [*model.split("/"), tag or "latest"]
    if len(parts) > 3 or not all(_NAME.fullmatch(part) for part in parts):
        raise ModelError(
            what="this is no name of an Ollama model",
            where=where,
            mend=f"write {OLLAMA}NAME or {OLLAMA}NAME:TAG",
        )
    owned = parts if len(parts) == 3 else ["library", *parts]
    manifest = models.joinpath("manifests", "registry.ollama.ai", *owned)
    try:
        layers = json.loads(manifest.read_text(encoding="utf-8"))["layers"]
        digest = next(layer["digest"] for layer in layers if layer["mediaType"] == _MODEL_LAYER)
    except FileNotFoundError as error:
        raise ModelError(
            what=f"Ollama has no such model here ({models})",
            where=where,
            mend=f"ollama pull {name}; if its models lie elsewhere, set OLLAMA_MODELS",
        ) from error
    except (OSError, ValueError, LookupError, TypeError, StopIteration) as error:
        raise ModelError(
            what="Ollama's list of this model's files cannot be read",
            where=str(manifest),
            mend=f"ollama pull {name}",
        ) from error
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", str(digest)):
        raise ModelError(
            what="Ollama's list names no file of weights", where=str(manifest), mend=f"ollama pull {name}"
        )
    return models / "blobs" / digest.replace(":", "-")
