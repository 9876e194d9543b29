"""`steer-tui export`: what a run has learnt, as files for other tools."""

from __future__ import annotations

from argparse import ArgumentParser

from app.cli import export_deltas, export_vectors
from app.cli.command import Command

_KINDS = {command.name: command for command in (export_vectors.COMMAND, export_deltas.COMMAND)}


def _add_options(parser: ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind in _KINDS.values():
        kind.add_to(kinds)


COMMAND = Command(
    name="export",
    summary="write ESM's vectors or the evolution's deltas as files for other tools",
    details="`steer-tui export KIND --help` lists the formats of a kind.",
    example=export_vectors.COMMAND.example,
    add_options=_add_options,
    execute=lambda options: _KINDS[options.kind].execute(options),
)
