"""What the tests of the loop leave out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def unchecked_processors() -> Iterator[None]:
    """A clean process for each processor takes seconds: test_processor.py starts them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.evolution.processor.check_processor", lambda *given: None)
        yield


@pytest.fixture
def undrawn_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn after each iteration."""
    monkeypatch.setattr("engine.evolution.evolve_stage.draw", lambda history: b"PNG")
