"""The command line: which command is meant, and what its errors look like."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from io import TextIOWrapper

from app.cli.command import COMMANDS, load_command
from engine.errors import DiskError, SteerError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
SHELLS = ("bash", "zsh", "tcsh")
_ABOUT = ("-h", "--help", "--version", "--print-completion")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 done, 1 a stage failed, 2 bad input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode still gets its lines
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given and given[0].partition("=")[0] in _ABOUT:
            return _about(given)
        name, rest = _command(given)
        command = load_command(name)
        return command.execute(command.parser().parse_args(rest))
    except SteerError as error:
        _print_error(error)
        return FAILED if isinstance(error, DiskError) else BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def _command(given: list[str]) -> tuple[str, list[str]]:
    """The command's name and what follows; without a name it is `run`, with `--batch` it is `batch`."""
    if given and given[0] in COMMANDS:
        return given[0], given[1:]
    if "--batch" in given:
        return "batch", [word for word in given if word != "--batch"]
    return "run", given


def _about(given: list[str]) -> int:
    """Help, version and completion of all commands."""
    parser = overview_parser()
    options = parser.parse_args(given)
    if options.print_completion:
        from app.cli.completion import completion

        sys.stdout.write(completion(parser, options.print_completion))
        return 0
    from engine.versions import package_version

    sys.stdout.write(f"steer-tui {package_version('steer-tui') or 'not installed'}\n")
    return 0


def overview_parser() -> ArgumentParser:
    """A parser with all commands, for help and completion; each command is parsed by its own."""
    from app.cli.options import add_config
    from app.cli.run import add_console_options

    parser = ArgumentParser(
        prog="steer-tui",
        usage="steer-tui [RUN] [options]\n       steer-tui COMMAND [options]",
        description="Watch, pause, resume and replay runs that steer language models. Without a command the console "
        "opens: on RUN if it is given, else on the list of runs.",
        epilog="`steer-tui COMMAND --help` explains a command, with an example.",
        add_help=False,
    )
    commands = parser.add_subparsers(prog="steer-tui", title="commands", metavar="COMMAND")
    for name in COMMANDS:
        load_command(name).add_to(commands, name)
    options = parser.add_argument_group("options")
    options.add_argument("-h", "--help", action="help", help="print this page")
    add_config(options)
    add_console_options(options)
    options.add_argument(
        "--batch", action="store_true", help="without a console: the same as `steer-tui batch`"
    )
    options.add_argument("--version", action="store_true", help="print the version")
    options.add_argument(
        "--print-completion", choices=SHELLS, help="print a script with which a shell completes commands"
    )
    return parser


def _print_error(error: SteerError) -> None:
    from rich.text import Text

    from app.terminal.text_console import make_console
    from app.wording.text import error_lines

    for line in error_lines(error):
        make_console(stderr=True).print(Text(line, style="red"), soft_wrap=True)
