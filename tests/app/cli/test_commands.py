"""The commands of `steer-tui`: their pages of help, how they are chosen, and what loading them brings along."""

from __future__ import annotations

import io
import shlex
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from app.cli import command_line, main
from app.cli.command import COMMANDS, Command, load_command
from engine.errors import ConfigError, DiskError, Problem, RunError
from tests.test_import_rules import brought_along

ROOT = Path(__file__).parents[3]


def page(arguments: list[str], capsys: pytest.CaptureFixture[str], flag: str = "--help") -> str:
    with pytest.raises(SystemExit) as caught:
        main([*arguments, flag])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Namespace]]:
    """The commands that were executed, with their options; none does anything."""
    done: list[tuple[str, Namespace]] = []

    def load(name: str) -> Command:
        return replace(load_command(name), execute=lambda options: done.append((name, options)) or 7)

    monkeypatch.setattr(command_line, "load_command", load)
    return done


@pytest.mark.parametrize("name", COMMANDS)
def test_every_page_says_what_the_command_does_and_ends_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command, text = load_command(name), page([name], capsys)
    assert text.startswith(f"usage: steer-tui {name} ")
    first, *rest = command.summary
    assert f"\n{first.upper()}{''.join(rest)}.\n\n" in text
    assert text.endswith(f"\nexample:\n  {command.example}\n")


@pytest.mark.parametrize("example", [*(load_command(name).example for name in COMMANDS)])
def test_every_example_can_be_typed(example: str, parsed: list[tuple[str, Namespace]]) -> None:
    word, *arguments = shlex.split(example)
    assert word == "steer-tui" and main(arguments) == 7
    assert [name for name, _ in parsed] == arguments[:1]


def test_a_kind_of_export_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    text = page(["export", "deltas"], capsys)
    assert text.startswith("usage: steer-tui export deltas ")
    assert "The deltas fit the tokens they were evolved with" in text
    options = load_command("export").parser().parse_args(["deltas", "r", "--format", "vllm", "--out", "o.py"])
    assert (options.kind, options.limit, options.outputs) == ("deltas", 300, Path("outputs"))


def test_the_first_page_lists_every_command_before_the_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = page([], capsys).splitlines()
    assert page([], capsys, "-h").splitlines() == lines
    at = lines.index("commands:") + 2
    listed = [line.split(maxsplit=1) for line in lines[at : at + len(COMMANDS)]]
    assert listed == [[name, load_command(name).summary] for name in COMMANDS]
    assert lines.index("options:") == at + len(COMMANDS) + 1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([], "run"),
        (["outputs/demo/x@12"], "run"),
        (["--config", "c.yaml", "--set", "online.L=1"], "run"),
        (["run", "report"], "run"),  # a run of this name
        (["--batch"], "batch"),
        (["--config", "c.yaml", "--batch", "--stages", "eval"], "batch"),
        (["batch", "--config", "c.yaml"], "batch"),
        (["check"], "check"),
    ],
)
def test_which_command_is_meant(arguments: list[str], name: str, parsed: list[tuple[str, Namespace]]) -> None:
    assert main(arguments) == 7
    assert [done for done, _ in parsed] == [name]


def test_what_was_typed_is_taken_where_nothing_is_given(
    parsed: list[tuple[str, Namespace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/steer-tui", "check", "a.yaml"])
    assert main() == 7 and [name for name, _ in parsed] == ["check"]


def test_the_flag_batch_means_the_same_as_the_command(parsed: list[tuple[str, Namespace]]) -> None:
    given = ["--resume", "x", "--stages", "a, b", "--outputs", "o"]
    main(["--batch", *given])
    main(["batch", *given])
    (_, old), (_, new) = parsed
    assert old == new and (new.resume, new.stages, new.outputs) == ("x", ["a", "b"], "o")
    assert (new.config, new.set) == (None, [])


def test_the_console_takes_what_it_took(parsed: list[tuple[str, Namespace]]) -> None:
    main(["--config", "c.yaml", "--set", "a=1", "b=2", "--set", "c=3", "--outputs", "o"])
    main([])
    (_, given), (_, none) = parsed
    assert (given.config, given.set, given.outputs) == (Path("c.yaml"), ["a=1", "b=2", "c=3"], "o")
    assert (none.run, none.config, none.set, none.outputs) == (None, None, [], None)


def test_what_commands_take(parsed: list[tuple[str, Namespace]]) -> None:
    main(["sweep", "online.L=1,2", "run.seed=0..2", "--jobs", "2", "--most", "300", "--choose-on", ""])
    main(["report", "a", "--md", "--output", "o.md"])
    main(["compare", "a", "b"])
    main(["check", "c.yaml", "d.yaml", "--set", "x=1"])
    main(["report", "a"])
    sweep, report, compare, check, plain = (options for _, options in parsed)
    assert (sweep.specs, sweep.jobs, sweep.most, sweep.choose_on) == (
        ["online.L=1,2", "run.seed=0..2"],
        2,
        300,
        "",
    )
    assert (report.run, report.form, report.output) == ("a", "md", Path("o.md"))
    assert (compare.a, compare.b, compare.outputs) == ("a", "b", Path("outputs"))
    assert (check.files, check.set) == ([Path("c.yaml"), Path("d.yaml")], ["x=1"])
    assert (plain.form, plain.output) == ("html", None)


def test_help_loads_nothing_heavy() -> None:
    """`steer-tui --help` loads every command's module; what a command needs is imported when it is executed."""
    modules = [f"app.cli.{name.replace('-', '_')}" for name in COMMANDS]
    heavy = {
        "textual",
        "rich",
        "msgspec",
        "pydantic",
        "yaml",
        "numpy",
        "torch",
        "shtab",
        "engine.run",
        "asyncio",
    }
    assert brought_along(["app.cli", *modules], heavy) == set()


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (RunError(what="w"), 2),
        (ConfigError([Problem("a.b", "1", "2")]), 2),
        (DiskError(what="w"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_how_a_command_ends(
    raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(options: Namespace) -> int:
        raise raised

    monkeypatch.setattr(command_line, "load_command", lambda name: replace(load_command(name), execute=fails))
    assert main(["doctor"]) == code
    assert len(capsys.readouterr().err.splitlines()) == (0 if code == 130 else 1)


def test_every_command_has_a_module_and_every_module_of_a_command_is_listed() -> None:
    parts = {"command", "command_line", "completion", "options", "export_vectors", "export_deltas"}
    files = {path.stem for path in (ROOT / "app" / "cli").glob("*.py") if not path.stem.startswith("_")}
    assert files - parts == {name.replace("-", "_") for name in COMMANDS}


def test_the_line_says_which_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("steer-tui 0.")


def test_an_error_is_one_line_however_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(options: Namespace) -> int:
        raise RunError(what="word " * 60 + "end", where="here", hint="wait")

    monkeypatch.setattr(command_line, "load_command", lambda name: replace(load_command(name), execute=fails))
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == "word " * 60 + "end (here): wait\n"


def test_errors_are_red_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()

    def make_console(stderr: bool = False) -> Console:
        assert stderr
        return Console(file=written, width=80, force_terminal=True, color_system="standard", no_color=False)

    monkeypatch.setattr("app.terminal.text_console.make_console", make_console)
    command_line._print_error(RunError(what="no room"))
    assert written.getvalue() == "\x1b[31mno room\x1b[0m\n"
