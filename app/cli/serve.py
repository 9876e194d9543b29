"""`steer-tui serve`: OpenAI's interface in front of a run's model, with its levers on."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from shlex import quote

from app.cli.options import RUN, add_outputs, add_set, names


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help=f"{RUN}; of several, the first gives the model, each lever comes from the first that has one that fits",
    )
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1, this machine alone)")
    parser.add_argument("--port", type=int, help="port (default: 8899; 0: any free one)")
    parser.add_argument(
        "--key-env", metavar="NAME", help="environment variable that holds the key; `none`: ask for no key"
    )
    parser.add_argument(
        "--levers",
        type=names,
        metavar="A,B",
        help="levers of a request that does not choose (default: all that fit)",
    )
    add_set(parser, "change other fields of the configuration")
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Prepare a run that serves, show the key, and serve until Ctrl+C."""
    from app.batch.run_batch import run_batch
    from app.choose_run import choose_run
    from app.runs.client import prepare_serving
    from app.terminal.text_console import make_console

    sources = [choose_run(run, options.outputs) for run in options.runs]
    directory = prepare_serving(sources, _changes(options))
    _show_key(directory.path)
    return run_batch(directory, make_console(), make_console(stderr=True))


def _changes(options: Namespace) -> list[str]:
    """What the options change of the configuration."""
    from app.runs.client import as_changes

    given = {
        "serve.host": options.host,
        "serve.port": options.port,
        "serve.key_env": options.key_env,
        "serve.levers": options.levers,
    }
    return [*options.set, *as_changes(given)]


def _show_key(run_dir: Path) -> None:
    """Make the key where there is none yet, and show it once: it stands in its file alone from then on."""
    from engine.config.file import load_config
    from engine.run.directory import RunDirectory
    from engine.serve.key import server_key

    key = server_key(load_config(RunDirectory(run_dir).config).serve, run_dir)
    lines = [f"key: {key.secret}   (shown once; it is in {key.place})" if key.made else f"key: {key.place}"]
    lines.append(f"watch it: steer-tui {quote(str(run_dir))}   end it: Ctrl+C")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


SUMMARY = "answer programs as OpenAI's interface does, with a run's model and its levers"
DETAILS = (
    'A request may choose: "steer": {"esm": false, "k_scale": 0.5}. Its answer says in the field "steer" what '
    "was decided. More: engine/serve/README.md."
)
EXAMPLE = "steer-tui serve outputs/demo/20261122-140301-9f3c --port 8899"
