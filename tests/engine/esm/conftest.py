"""The small run, as the tests of the method see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.events import Event


@pytest.fixture(scope="session")
def run(esm_run: tuple[Path, list[Event]]) -> tuple[Path, list[Event]]:
    """The method's folder, and everything logged, with the end of eval. Read only."""
    return esm_run[0] / "esm", esm_run[1]
