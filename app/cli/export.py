"""`steer-tui export`: what a run has learnt, as files for other tools."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from app.cli.command import load_command

_KINDS = {kind: load_command(f"export {kind}") for kind in ("vectors", "deltas")}


def add_options(parser: ArgumentParser) -> None:
    """A command of its own for each kind of file."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, kind in _KINDS.items():
        kind.add_to(kinds, name)


def execute(options: Namespace) -> int:
    """Do what the kind's command does."""
    return _KINDS[options.kind].execute(options)


SUMMARY = "write ESM's vectors or the evolution's deltas as files for other tools"
DETAILS = "`steer-tui export KIND --help` lists the formats of a kind."
EXAMPLE = _KINDS["vectors"].example
