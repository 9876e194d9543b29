"""What a run's record says of the programs it depends on."""

from __future__ import annotations

import platform

import pytest

from engine import versions


def test_versions_are_those_of_all_that_computes_and_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "package_version", lambda name: None if name == "tokenizers" else "1.0")
    computing = (
        "steer-tui torch transformers safetensors numpy scikit-learn sentence-transformers msgspec pydantic"
    )
    assert versions.versions() == {
        "python": platform.python_version(),
        **dict.fromkeys(computing.split(), "1.0"),
    }


def test_what_is_not_installed_has_no_version() -> None:
    assert versions.package_version("no-such-package") is None and versions.package_version("numpy")
