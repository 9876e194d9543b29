"""The exit code of the engine's processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import __main__ as module
from engine.errors import DiskError, RunError, SteerError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 5),
        (DiskError(what="the disk is full", where="run", hint="free some space"), 1),
        (RunError(what="it is at work", where="run", hint="wait"), 2),
    ],
)
def test_what_the_machine_lacks_is_no_wrong_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: SteerError | None, code: int
) -> None:
    """Of a command that is right it is the command's own."""
    given: list[Path] = []

    def command(run_dir: Path) -> int:
        """Works."""
        given.append(run_dir)
        if error is not None:
            raise error
        return 5

    monkeypatch.setattr(module, "COMMANDS", {"run": command})
    monkeypatch.setattr(module, "gc", SimpleNamespace(set_threshold=lambda *_: None, freeze=lambda: None))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert module.main(["run", str(tmp_path)]) == code
    assert given == [tmp_path]
