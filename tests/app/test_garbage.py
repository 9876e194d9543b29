"""When the console looks for garbage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import garbage
from app.cli import main
from app.shell import SteerApp


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


def test_none_is_looked_for_until_the_console_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bool] = []
    monkeypatch.setattr("app.shell.run_console", lambda *_, **__: looked.append(gc.isenabled()) or 0)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["--outputs", str(tmp_path)]) == 0
    assert looked == [False] and gc.isenabled()


async def test_what_is_loaded_is_looked_through_no_more(tmp_path: Path) -> None:
    with garbage.put_off():
        app = SteerApp(outputs=tmp_path)
        async with app.run_test() as pilot:
            for _ in range(3_000):
                if gc.isenabled():
                    break
                await pilot.pause(0.01)
            assert gc.isenabled() and gc.get_freeze_count() > 10_000


def test_it_stays_as_it_is_where_it_was_not_put_off() -> None:
    frozen, thresholds = gc.get_freeze_count(), gc.get_threshold()
    garbage.settle()
    assert (gc.get_freeze_count(), gc.get_threshold()) == (frozen, thresholds)
