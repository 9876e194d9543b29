"""The command line: a parser for each command, in a file of its own."""

from app.cli.command_line import main

__all__ = ["main"]
