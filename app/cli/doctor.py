"""`steer-tui doctor`: what works on this machine, or on a server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from app.cli.options import add_outputs, default_config
from engine.errors import RunError


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--server", metavar="URL", help="check an OpenAI-compatible server instead")
    parser.add_argument(
        "--model", metavar="NAME", help="the server's model to check (default: the first it lists)"
    )
    parser.add_argument(
        "--key-env",
        metavar="NAME",
        help="environment variable that holds the server's key (default: OPENAI_API_KEY)",
    )
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    if options.server:
        from app.doctor.server import run_server_doctor

        return run_server_doctor(options.server, options.model, options.key_env or "OPENAI_API_KEY")
    if options.model or options.key_env:
        raise RunError(what="--model and --key-env are for a server", where="", hint="add --server URL")
    from app.doctor.machine import run_doctor

    return run_doctor(options.outputs, default_config())


SUMMARY = "show what works on this machine and what is missing, or what a server can do"
DETAILS = (
    "Every line that is not right says how to get what is missing. Exit code 0: the demo runs here, or the "
    "server can take a role in a run; 1: not yet."
)
EXAMPLE = "steer-tui doctor --server http://127.0.0.1:8000/v1"
