"""Which folder of the hub's cache a name leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.lm.loading.hub_cache import cached_folder, looks_local


@pytest.mark.parametrize("path", ["/models/a", "./a", "../a", "~/a", "a/b/c", "C:\\models"])
def test_what_can_only_be_a_folder(path: str) -> None:
    assert looks_local(path)


@pytest.mark.parametrize("path", ["gpt2", "owner/name", "owner.of/name~1"])
def test_what_may_be_a_name_of_the_hub(path: str) -> None:
    assert not looks_local(path)


def test_the_folder_of_the_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = {"owner/here": str(tmp_path / "snapshot" / "config.json"), "owner/gone": object()}
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: there.get(name))
    assert cached_folder("owner/here") == tmp_path / "snapshot"
    assert cached_folder("owner/gone") is None, "the hub is known to have no such file"
    assert cached_folder("owner/other") is None


def test_what_is_no_name_is_in_no_cache() -> None:
    assert cached_folder("no name of/a model!") is None
