"""Every page of help, word for word, as a terminal of 100 columns has it. After a change that is meant:
`pytest tests/app/cli/test_help_pages.py --snapshot-update`, and read the difference."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from app.cli import main
from app.cli.command import COMMANDS
from tests.screens.test_what_methods_show import TextFile

KINDS = {
    "ctl": ("list", "show", "pause", "unpause", "stop", "stage", "events", "wait", "decisions"),
    "export": ("vectors", "deltas"),
}


def test_pages_of_help(
    snapshot: SnapshotAssertion, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    commands = [
        [name, *more] for name in COMMANDS for more in [[], *([kind] for kind in KINDS.get(name, ()))]
    ]
    for command in [[], *commands]:
        with pytest.raises(SystemExit):
            main([*command, "--help"])
    assert capsys.readouterr().out == snapshot(extension_class=TextFile)
