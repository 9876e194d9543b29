"""`python -m engine COMMAND RUN`: the worker process, and the other processes that work for a run."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.errors import DiskError, SteerError

FAILED, BAD_INPUT = 1, 2
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's 700 make importing the libraries a third slower."""


def _run(run_dir: Path) -> int:
    """Run the stages of a run folder that are not finished."""
    from engine.run.worker import run_worker

    return run_worker(run_dir)


def _sweep(run_dir: Path) -> int:
    """Start the runs of a sweep, some at a time."""
    from engine.sweep.queue import run_queue

    return run_queue(run_dir)


def _chat(run_dir: Path) -> int:
    """Hold a conversation with the run's model, a line of JSON a turn."""
    from engine.services.chat import serve
    from engine.services.line_service import serve_console

    serve_console(serve, run_dir)
    return 0


def _what_if(run_dir: Path) -> int:
    """Give an answer of the run again under another choice, a line of JSON a try."""
    from engine.services.line_service import serve_console
    from engine.services.what_if import serve

    serve_console(serve, run_dir)
    return 0


COMMANDS: Mapping[str, Callable[[Path], int]] = {
    "run": _run,
    "sweep": _sweep,
    "chat": _chat,
    "what-if": _what_if,
}


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Works on a prepared run.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.__doc__).add_argument("run_dir", type=Path, metavar="RUN")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # Threads that wait by spinning, which is the rule, slow a model down to a fifth when another program wants a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        return COMMANDS[options.command](options.run_dir)
    except SteerError as error:
        logging.getLogger("engine").error("%s", error)
        return FAILED if isinstance(error, DiskError) else BAD_INPUT
    finally:
        _let_go_of_full_log()
        gc.freeze()  # or the end takes a second more, looking for cycles in the libraries


def _let_go_of_full_log() -> None:
    """Drop what a full disk keeps from the log: flushing it at exit would fail and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
