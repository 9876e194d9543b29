"""What is printed commands no terminal: names, ids and messages come from files and servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from app.cli import main
from app.shell import SteerApp
from app.terminal.text_console import make_console
from app.wording.text import duration, without_controls

HOSTILE = "\x1b]0;owned\x07a\x1b[31mb\x9b2Jc\rd\u202ee"


def test_control_codes_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    console = make_console()
    assert console.width == 120, "where there is no terminal"
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE, style="bold"))
    for shown in (HOSTILE, Text(HOSTILE), table):
        console.print(shown, markup=False)
    printed = capsys.readouterr().out
    assert "owned" in printed and not set("\x1b\x07\x9b\r\u202e") & set(printed)


def test_check_prints_what_a_file_says_without_its_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text('run: {name: "\\e]0;owned\\a", stages: ["\\e[2J"]}\n')
    assert main(["check", str(path)]) == 2
    out = capsys.readouterr()
    assert "\x1b" not in out.out + out.err and "\x07" not in out.out + out.err


def test_what_is_bold_stays_bold() -> None:
    console = make_console()
    (bold, *_) = console.render(Text("a\x07b", style="bold"), console.options)
    assert bold.text == "ab" and bold.style is not None and bold.style.bold


@pytest.mark.parametrize("seconds", [1e300, float("inf"), float("nan")])
def test_no_duration_crashes_what_draws_it(seconds: float) -> None:
    assert duration(seconds) == "?" and duration(65.0) == "1:05"


def test_brackets_are_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files, clusters and stages are no markup, here as in the console."""
    table = Table()
    table.add_column("[/red]")
    table.add_row("[bold]x[/b]")
    make_console().print(table)
    make_console().print("a :smile: b")
    printed = capsys.readouterr().out
    assert "[bold]x[/b]" in printed and "a :smile: b" in printed
    console = SteerApp().console
    with console.capture() as captured:
        console.print(table)
    assert "[bold]x[/b]" in captured.get() or not captured.get()
    assert console.render_str("[/red]").plain == "[/red]"


def test_breaks_and_tabs_stay() -> None:
    assert without_controls("a\n\tb\x00") == "a\n\tb"
