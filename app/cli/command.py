"""A command of `steer-tui`: its page of help, its options and what it does."""

from __future__ import annotations

from argparse import ArgumentParser, HelpFormatter, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

COMMANDS = (
    "run", "batch", "sweep", "compare", "report", "check", "doctor", "serve", "ctl", "export",
)  # fmt: skip
"""Their names, in the order of the list that `steer-tui --help` shows."""


class _PageFormatter(HelpFormatter):
    """Wraps paragraphs; one that has line breaks of its own keeps them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n" in part else super(_PageFormatter, self)._fill_text(part, width, indent)
                           for part in parts)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """What a module of this package says of its command. Such modules import what is heavy only in `execute`: help and
    completion load all of them."""

    name: str
    """With that of the command it belongs to: `export vectors`."""
    summary: str
    """What it does, in a line of the list of commands."""
    details: str
    """What else a newcomer needs to know, as paragraphs."""
    example: str
    add_options: Callable[[ArgumentParser], None]
    execute: Callable[[Namespace], int]
    """Does it; returns the exit code. Raises SteerErrors."""

    def parser(self) -> ArgumentParser:
        """The parser of what follows the command's name."""
        return self._filled(ArgumentParser(prog=f"steer-tui {self.name}"))

    def add_to(self, commands: Any, word: str) -> None:
        """Add its parser to the sub-parsers of another one, where it is called `word`."""
        self._filled(commands.add_parser(word, help=self.summary))

    def _filled(self, parser: ArgumentParser) -> ArgumentParser:
        parser.formatter_class = _PageFormatter
        parser.description = f"{self.summary[0].upper()}{self.summary[1:]}.\n\n{self.details}"
        parser.epilog = f"example:\n  {self.example}"
        self.add_options(parser)
        return parser


def load_command(name: str) -> Command:
    """The command of this name, from its module."""
    module = import_module(f"app.cli.{name.replace('-', '_').replace(' ', '_')}")
    return Command(name, module.SUMMARY, module.DETAILS, module.EXAMPLE, module.add_options, module.execute)
