"""Models in the hub's local cache. The hub is not asked."""

from __future__ import annotations

from pathlib import Path


def cached_folder(name: str) -> Path | None:
    """Folder of the model `name` of the hub; None where its configuration is not here, or this is no such name."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(config).parent if isinstance(config, str) else None


def looks_local(path: str) -> bool:
    """Whether `path` can only be a folder: no name of the hub is written so."""
    return path.startswith(("/", "./", "../", "~")) or path.count("/") > 1 or "\\" in path
