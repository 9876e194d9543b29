"""The exit code of the engine's processes."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import __main__ as module
from engine.errors import DiskError, RunError, SteerError
from engine.run import worker
from engine.services import chat, line_service, what_if
from engine.sweep import queue


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
    monkeypatch.setattr(module, "_let_go_of_full_log", lambda: given.append(Path("end")))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert module.main(["run", str(tmp_path)]) == code
    assert given == [tmp_path, Path("end")]


@pytest.mark.parametrize(("policy", "kept"), [("ACTIVE", "ACTIVE"), (None, "PASSIVE")])
def test_threads_leave_the_processor_to_others_while_they_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, policy: str | None, kept: str
) -> None:
    """Unless the user wants it otherwise; the tokenizers' own threads are always off."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("OMP_WAIT_POLICY", policy or "")
    if policy is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    seen: list[str] = []

    def command(run_dir: Path) -> int:
        """Looks at its environment."""
        seen.extend(os.environ[name] for name in ("OMP_WAIT_POLICY", "TOKENIZERS_PARALLELISM"))
        return 0

    monkeypatch.setattr(module, "COMMANDS", {"run": command})
    monkeypatch.setattr(module, "gc", SimpleNamespace(set_threshold=lambda *_: None, freeze=lambda: None))
    module.main(["run", str(tmp_path)])
    assert seen == [kept, "false"]


def test_a_command_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        module.main([])
    assert left.value.code == 2
    assert "the following arguments are required: command" in capsys.readouterr().err


def test_what_a_full_disk_keeps_from_the_log_is_dropped_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A log that can be written is left as it is."""
    with Path("/dev/full").open("w") as full, (tmp_path / "log").open("w") as good:
        full.write("x")
        good.write("y")
        monkeypatch.setattr(module.sys, "stdout", full)
        monkeypatch.setattr(module.sys, "stderr", good)
        module._let_go_of_full_log()
        assert Path(f"/proc/self/fd/{full.fileno()}").readlink() == Path(os.devnull)
        assert (tmp_path / "log").read_text() == "y"


@pytest.mark.parametrize(("command", "code"), [("run", 7), ("sweep", 8), ("chat", 0), ("what-if", 0)])
def test_each_command_does_its_work_on_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, code: int
) -> None:
    done: list[tuple[object, ...]] = []
    monkeypatch.setattr(worker, "run_worker", lambda run: done.append(("run", run)) or 7)
    monkeypatch.setattr(queue, "run_queue", lambda run: done.append(("sweep", run)) or 8)
    monkeypatch.setattr(line_service, "serve_console", lambda *given: done.append(given))
    assert module.COMMANDS[command](tmp_path) == code
    served = {"chat": chat.serve, "what-if": what_if.serve}
    assert done == [(served.get(command, command), tmp_path)]
