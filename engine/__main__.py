"""`python -m engine run RUN_DIR`: the worker process."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
from pathlib import Path

from engine.errors import DiskError, SteerError

FAILED, BAD_INPUT = 1, 2
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's 700 make importing the libraries a third slower."""


def main(arguments: list[str] | None = None) -> int:
    """Run the worker; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Works on a prepared run.")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run the stages of a run folder that are not finished")
    run.add_argument("run_dir", type=Path)
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        from engine.run.worker import run_worker

        return run_worker(options.run_dir)
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
