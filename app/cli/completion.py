"""The script with which a shell completes commands, options, files and folders."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from importlib import import_module

from engine.errors import RunError

_FOLDERS = {"RUN", "A", "B", "DIR", "SWEEP"}
"""Metavars of folders; `FILE` stands for files."""


def completion(parser: ArgumentParser, shell: str) -> str:
    """The script for `shell`. Raises RunError where the package that writes it is not installed."""
    try:
        shtab = import_module("shtab")
    except ImportError as error:
        raise RunError(
            what="shell completion needs the package shtab",
            where="it is not installed",
            hint="pip install shtab",
        ) from error
    for each in _parsers(parser):
        for action in each._actions:
            if action.metavar == "FILE":
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return shtab.complete(parser, shell)


def _parsers(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """`parser` and all parsers below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from _parsers(below)
