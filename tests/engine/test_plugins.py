"""Methods that installed packages register."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from engine.errors import SteerError
from engine.plugins import plugins

GROUP = "steer_tui.sections"


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    plugins.cache_clear()
    yield
    plugins.cache_clear()


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint(name, value, GROUP) for name, value in values.items()] if group == GROUP else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_they_come_by_name_whatever_was_installed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, z="math:pi", a="math:tau", b="math:e")
    assert [*plugins("sections")] == ["a", "b", "z"] and plugins("sections")["z"] < plugins("sections")["a"]
    assert plugins("events") == {}


def test_one_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, good="math:pi", bad="no_such_module:x")
    with pytest.raises(SteerError) as caught:
        plugins("sections")
    assert caught.value.what == (
        "the method `bad` of another package cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert caught.value.where == "entry point steer_tui.sections: no_such_module:x"
    assert caught.value.hint == "fix or uninstall that package"
