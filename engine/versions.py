"""Versions of what a result depends on, without importing any of it."""

from __future__ import annotations

import platform

_PACKAGES = (
    "steer-tui",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "numpy",
    "scikit-learn",
    "sentence-transformers",
    "msgspec",
    "pydantic",
)


def package_version(name: str) -> str | None:
    """Version of an installed package, None if it is not installed."""
    # Importing it takes a while, which must not be before the first paint.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Python's and the packages' versions, by name; what is not installed is left out."""
    installed = {name: package_version(name) for name in _PACKAGES}
    return {"python": platform.python_version()} | {name: text for name, text in installed.items() if text}
