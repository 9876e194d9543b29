"""`steer-tui export-vectors`: ESM's vectors as files that other tools read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from app.choose_run import choose_run
from app.entry_names import typed_names
from engine.errors import RunError
from engine.vectors.names import FORMATS

LOST = (
    "A file holds one vector a layer, and the tool adds it to every token. The rest of ESM is not in the file: choosing"
    " among entries by the state the model is in, probing them, leaving a segment alone where none helps, adding to one"
    " token before each segment. So expect less, and try weaker strengths first."
)


def export_vectors(arguments: Sequence[str]) -> int:
    """Write the file or files and say how to use them. Raises SteerError."""
    options = _parser().parse_args(arguments)
    from engine.esm.export import export  # numpy and torch: imported only here

    run = choose_run(options.run, Path(options.outputs))
    if (options.each or options.memory) and options.out.is_file():
        raise RunError(
            what="--each writes a folder, and this is a file", where=str(options.out), mend="name a folder"
        )
    if options.contrast:
        from engine.esm.export_contrast import export_contrast

        arm = "contrast_mean" if options.contrast == "mean" else "contrast_pca"
        exported = export_contrast(run, options.format, options.out, arm, options.scale, options.hookpoint)
    else:
        exported = export(
            run,
            options.format,
            options.out,
            options.entries,
            options.layers,
            options.scale,
            options.each or options.memory,
            options.hookpoint,
            options.memory,
        )
    lines = [
        f"{exported.entries} {'pairs' if options.contrast else 'entries'}, "
        f"layers {', '.join(map(str, exported.layers))} (counted from 0): "
        + ", ".join(map(str, exported.files[:3]))
        + (f" and {len(exported.files) - 3} more" if len(exported.files) > 3 else ""),
        f"use:      {FORMATS[options.format].use}",
        (
            f"strength: the run adds {exported.strength:.3g} times this vector"
            if options.contrast
            else f"strength: ESM adds about {exported.strength:.3g} times such a vector where an entry matches well"
        )
        + ("" if options.scale == 1 else f"; this file holds {options.scale:g} times"),
        *([] if options.contrast else [LOST]),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="steer-tui export-vectors",
        description="Write the vectors of a run's ESM library as a file that another tool reads.",
        epilog=LOST
        + " Every format here counts decoder layers from 0 and adds to a layer's output, as ESM does; in "
        "transformers' hidden_states that output is number N + 1.",
    )
    parser.add_argument("run", metavar="RUN", help="folder, id or name of a run whose stage `select` is done")
    parser.add_argument("--format", required=True, choices=list(FORMATS), help="which tool reads it")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="file to write; with --each a folder"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--mean", action="store_true", help="the mean of all entries, layer by layer (the default)"
    )
    which.add_argument(
        "--each", action="store_true", help="a file for each entry, and index.jsonl beside them"
    )
    which.add_argument(
        "--memory",
        action="store_true",
        help="as --each, with keys and with the entries that hold no vector: `offline_memory.imports` reads its "
        "index.jsonl as the same memory",
    )
    which.add_argument(
        "--contrast",
        choices=("mean", "pca"),
        help="the vector of the run's pairs of prompts (eval.contrast) instead of the library",
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
    parser.add_argument(
        "--hookpoint",
        default="layers.{N}",
        metavar="NAME",
        help="for lm-eval: what the model's base_model calls decoder layer {N} (default layers.{N}; GPT-2: h.{N})",
    )
    parser.add_argument("--outputs", default="outputs", metavar="DIR", help="folder of the runs")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(name) for name in text.split(",") if name.strip()]
