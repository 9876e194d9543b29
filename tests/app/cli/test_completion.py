"""The scripts that complete commands in a shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.cli.command import COMMANDS


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    pytest.importorskip("shtab")
    assert main(["--print-completion", shell]) == 0
    return capsys.readouterr().out


def completed(line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> set[str]:
    """What bash offers for the last word of `line`, in a folder with a folder `runs` and a file `my.yaml`."""
    (tmp_path / "runs").mkdir(exist_ok=True)
    (tmp_path / "my.yaml").touch()
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"{script('bash', capsys)}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        f"_shtab_steer_tui steer-tui '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", ("bash", "zsh", "tcsh"))
def test_every_shell_gets_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert all(name in text for name in COMMANDS) and "steer-tui" in text


def test_commands_options_files_and_folders(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert completed("steer-tui co", capsys, tmp_path) == {"compare"}
    assert completed("steer-tui compare --o", capsys, tmp_path) == {"--outputs"}
    assert completed("steer-tui ctl pa", capsys, tmp_path) == {"pause"}
    assert completed("steer-tui export vectors --format g", capsys, tmp_path) == {"gguf"}
    assert completed("steer-tui batch --config my", capsys, tmp_path) == {"my.yaml"}
    assert completed("steer-tui compare r", capsys, tmp_path) == {"runs"}
    assert completed("steer-tui run r", capsys, tmp_path) == {"runs"}
    assert completed("steer-tui sweep --resume r", capsys, tmp_path) == {"runs"}
    assert completed("steer-tui run m", capsys, tmp_path) == set(), "a run is a folder"
    assert completed("steer-tui check m", capsys, tmp_path) == {"my.yaml"}


def test_without_the_package_one_line_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    error = capsys.readouterr().err
    assert "shell completion needs the package shtab" in error and "pip install shtab" in error


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--print-completion=fish"])
    assert caught.value.code == 2 and "invalid choice: 'fish'" in capsys.readouterr().err
