"""`steer-tui export deltas`: the evolution's deltas as OpenAI's logit_bias, or for vLLM."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.options import add_outputs, count

USES = {
    "logit-bias": 'client.chat.completions.create(…, **json.load(open("FILE")))',
    "vllm": "PYTHONPATH=FOLDER vllm serve MODEL --logits-processors STEM:ClusterDeltaVLLMProcessor",
}


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "run", metavar="RUN", help="folder, id or name of a run whose stage `evolve` has begun"
    )
    parser.add_argument("--format", required=True, choices=list(USES), help="which server takes it")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="file to write")
    parser.add_argument(
        "--limit",
        type=count,
        default=300,
        metavar="N",
        help="logit-bias: most entries (default 300; 0: any number)",
    )
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Write the file and say how to use it."""
    from app.choose_run import choose_run
    from engine.evolution.processors.export_deltas import export_deltas

    run = choose_run(options.run, options.outputs)
    out: Path = options.out
    done = export_deltas(run, options.format, out, options.limit)
    use = USES[options.format].replace("FILE", str(out)).replace("FOLDER", str(out.resolve().parent))
    lines = [f"{sum(delta != 0 for delta in done.deltas.values())} of {len(done.deltas)} clusters have a delta: {out}",
             f"use:  {use.replace('STEM', out.stem)}"]  # fmt: skip
    if done.bias is not None:
        tokens, shift = len(done.bias.values), done.bias.shift
        lines.append(f"bias: {tokens} tokens; {shift:g} was taken from all, which changes no probability")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


SUMMARY = "write the evolution's best deltas in the form of a server"
DETAILS = (
    "The deltas fit the tokens they were evolved with, no others. logit_bias holds 300 tokens on OpenAI's "
    "servers; other servers take more: --limit 0."
)
EXAMPLE = "steer-tui export deltas outputs/demo/20261122-140301-9f3c --format logit-bias --out bias.json"
