"""`steer-tui export deltas`: the evolution's deltas as OpenAI's logit_bias, for vLLM, SGLang or transformers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.options import add_outputs, count

USES = {
    "logit-bias": 'client.chat.completions.create(…, **json.load(open("FILE")))',
    "vllm": "PYTHONPATH=FOLDER vllm serve MODEL --logits-processors STEM:ClusterDeltaVLLMProcessor",
    "sglang": "send the file's field with each request, to a server with --enable-custom-logit-processor",
    "transformers": "model.generate(…, logits_processor=LogitsProcessorList([ClusterDeltaLogitsProcessor()]))",
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
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="logit-bias: where not all fit, keep the entries that matter most",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="folder or hub name of the model it is for: its tokens are compared"
    )
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Write the file and say how to use it."""
    from app.choose_run import choose_run
    from engine.evolution.processors.export_deltas import export_deltas

    run = choose_run(options.run, options.outputs)
    out: Path = options.out
    done = export_deltas(run, options.format, out, options.limit, options.lossy, options.model)
    use = USES[options.format].replace("FILE", str(out)).replace("FOLDER", str(out.resolve().parent))
    lines = [f"{sum(delta != 0 for delta in done.deltas.values())} of {len(done.deltas)} clusters have a delta: {out}",
             f"use:  {use.replace('STEM', out.stem)}"]  # fmt: skip
    if done.bias is not None:
        bias = done.bias
        lines.append(
            f"bias: {len(bias.values)} tokens; {bias.shift:g} was taken from all, which changes no probability"
        )
        if bias.exact:
            lines.append("lost: nothing")
        else:
            share = "" if bias.share is None else f" ({bias.share:.1%} of the tokens that were counted)"
            lines.append(
                f"lost: the deltas of {bias.left_out} tokens{share}; {bias.cut} biases were cut to the limit"
            )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


SUMMARY = "write the evolution's best deltas in the form of a server"
DETAILS = (
    "The deltas fit the tokens they were evolved with, no others. logit_bias holds 300 tokens on OpenAI's "
    "servers; other servers take more: --limit 0."
)
EXAMPLE = "steer-tui export deltas outputs/demo/20261122-140301-9f3c --format logit-bias --out bias.json"
