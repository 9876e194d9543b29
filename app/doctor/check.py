"""`steer-tui check`: is a configuration correct, and is what it needs on this machine? Nothing runs or is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from app.terminal.text_console import make_console
from engine.errors import ConfigError

if TYPE_CHECKING:
    from engine.check.finding import Finding

RIGHT, WRONG = 0, 2
_MARKS = {"here": ("ok", "green"), "absent": ("not here yet", "yellow"), "wrong": ("wrong", "red")}
_EMPTY = "sets nothing: every field has its default"
_WIDTH = max(len(mark) for mark, _ in _MARKS.values()) + 2


def run_check(configs: Sequence[Path], overrides: Sequence[str] = (), console: Console | None = None) -> int:
    """Print the findings of each file. 0: all files are correct (something may still be missing), 2: one is not."""
    console = console or make_console()
    good = [_check(path, overrides, console) for path in configs]
    return RIGHT if all(good) else WRONG


def _check(path: Path, overrides: Sequence[str], console: Console) -> bool:
    console.print(Text(str(path), style="bold"), soft_wrap=True)
    findings = findings_of(path, overrides)
    for finding in findings:
        console.print(_line(finding), soft_wrap=True)
    console.print(Text(_verdict(findings)), soft_wrap=True)
    return not any(finding.kind == "wrong" for finding in findings)


def findings_of(path: Path, overrides: Sequence[str] = ()) -> Sequence[Finding]:
    """What is right, missing or wrong with the configuration in `path`."""
    from engine.check import check_config  # pydantic and numpy: imported only by a check
    from engine.check.finding import Finding
    from engine.config.file import load_config

    try:
        config = load_config(path, overrides)
    except ConfigError as error:
        return [Finding("wrong", problem.words, problem.where) for problem in error.problems]
    empty = [] if config.model_fields_set else [Finding("here", _EMPTY, path.name)]
    return [*empty, *check_config(config)]


def _line(finding: Finding) -> Text:
    mark, style = _MARKS[finding.kind]
    line = Text(f"  {mark:<{_WIDTH}}", style=style) + Text(
        ": ".join(filter(None, (finding.where, finding.what)))
    )
    return line + Text(f" - {finding.hint}") if finding.hint else line


def _verdict(findings: Sequence[Finding]) -> str:
    wrong, absent = (sum(finding.kind == kind for finding in findings) for kind in ("wrong", "absent"))
    if wrong:
        return f"  {wrong} to correct" + (f", {absent} not here yet" if absent else "")
    return "  right; " + (f"{absent} not here yet" if absent else "everything it needs is here")
