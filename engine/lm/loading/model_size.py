"""How large the files of a model's weights are, without loading it."""

from __future__ import annotations

from pathlib import Path

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.loading.gguf_file import gguf_file, gguf_parts
from engine.lm.loading.hub_cache import cached_folder
from engine.lm.loading.load import model_path
from engine.lm.loading.weight_files import total_size, weight_files


def model_size(config: ModelSection) -> int:
    """Bytes on this machine; 0 where none are here yet, or the model is not right (loading then says so)."""
    try:
        path, _ = model_path(config)
        file = gguf_file(path)
    except ModelError:
        return 0
    if file is not None:
        return total_size(gguf_parts(file))
    local = Path(path).expanduser()
    folder = local if local.is_dir() else cached_folder(path)
    return 0 if folder is None else total_size(weight_files(folder))
