"""`steer-tui export vectors`: ESM's vectors as files that other tools read."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.options import add_outputs, count, names
from app.wording.entry_names import typed_names
from engine.errors import RunError
from engine.vectors.names import FORMATS

if TYPE_CHECKING:
    from engine.esm.export import Exported

LOST = (
    "A file holds one vector a layer, and the tool adds it to every token. The rest of ESM is not in the file: choosing"
    " among entries by the state the model is in, probing them, leaving a segment alone where none helps, adding to one"
    " token before each segment. So expect less, and try weaker strengths first."
)


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("run", metavar="RUN", help="folder, id or name of a run whose stage `select` is done")
    parser.add_argument("--format", required=True, choices=list(FORMATS), help="which tool reads it")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="file to write; with --memory a folder"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--memory",
        action="store_true",
        help="in place of their mean a file for each entry, with keys and with the entries that hold no vector: "
        "`offline_memory.imports` reads the index.jsonl beside them as the same memory",
    )
    parser.add_argument(
        "--entries",
        type=typed_names,
        default=[],
        metavar="NAME,…",
        help="only these entries, by name, lib_id or tool name",
    )
    parser.add_argument(
        "--layers", type=_numbers, default=[], metavar="N,…", help="only these layers, counted from 0"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="S", help="write S times each vector (default 1)"
    )
    add_outputs(parser)


def _numbers(text: str) -> list[int]:
    return [count(name) for name in names(text)]


def execute(options: Namespace) -> int:
    """Write the file or files and say how to use them."""
    from app.choose_run import choose_run
    from engine.esm.export import export

    run = choose_run(options.run, options.outputs)
    if options.memory and options.out.is_file():
        raise RunError(
            what="--memory writes a folder, and this is a file", where=str(options.out), hint="name a folder"
        )
    exported = export(
        run, options.format, options.out, options.entries, options.layers, options.scale, options.memory,
    )  # fmt: skip
    lines = _words(exported, options)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _words(exported: Exported, options: Namespace) -> list[str]:
    files, more = ", ".join(map(str, exported.files[:3])), len(exported.files) - 3
    layers = f"layers {', '.join(map(str, exported.layers))} (counted from 0)"
    use = f"use:      {FORMATS[options.format].use}"
    scaled = "" if options.scale == 1 else f"; this file holds {options.scale:g} times"
    what = f"{exported.entries} entries, {layers}: {files}" + (f" and {more} more" if more > 0 else "")
    about = f"ESM adds about {exported.strength:.3g} times such a vector where an entry matches well"
    return [what, use, f"strength: {about}{scaled}", LOST]


SUMMARY = "write the vectors of ESM's library as files for llama.cpp, repeng and others"
DETAILS = (
    LOST
    + " Every format here counts decoder layers from 0 and adds to a layer's output, as ESM does; in transformers' "
    "hidden_states that output is number N + 1."
)
EXAMPLE = "steer-tui export vectors outputs/demo/20261122-140301-9f3c --format gguf --out esm.gguf"
