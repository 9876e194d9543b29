"""Decoding in flight against fixed batches whose rows retire, and against vLLM, on texts as long as GSM8K answers.

    python -m tests.bench.bench_in_flight [MODEL] [--rows 32] [--texts 128] [--scale 1] [--turns 2] [--vllm]

MODEL: a folder or GGUF file; none: a small random model. `rows` sequences at once, `texts` of them in all; their
lengths are drawn from those of 448 answers of Qwen2.5-Coder-0.5B-Instruct to GSM8K (mean 280, at most 400 tokens)
times `scale`. All ways write texts of the same lengths, in one process, in turns; what is compared is time. `--vllm`
wants an environment with vLLM (`make test-vllm` makes one): the same weights there, in bfloat16 on both sides, on the
same cores. Writes results/in_flight.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.lm.transformers.model import TransformersModel

RESULTS = Path(__file__).resolve().parent / "results" / "in_flight.csv"
QUANTILES = (94, 193, 217, 236, 254, 272, 295, 319, 351, 396, 400)
"""Deciles of those lengths, in tokens."""
THREADS = os.cpu_count() or 1


def lengths(count: int, scale: float) -> list[int]:
    """Lengths in tokens."""
    draws = np.random.default_rng(0).random(count)
    return (
        np.maximum(1, np.interp(draws, np.linspace(0, 1, len(QUANTILES)), QUANTILES) * scale)
        .astype(int)
        .tolist()
    )


def fixed(model: LanguageModel, requests: Sequence[Request], rows: int) -> list[list[int]]:
    """One batch after the other."""
    batches = [requests[first : first + rows] for first in range(0, len(requests), rows)]
    return [completion.tokens for batch in batches for completion in model.generate(batch)]


def in_flight(model: LanguageModel, requests: Sequence[Request], rows: int) -> list[list[int]]:
    """All requests in one call."""
    return [completion.tokens for completion in model.generate(requests)]


def as_folder(model: str, below: Path) -> str:
    """The model as a folder that every backend reads: a GGUF file's weights are written out in bfloat16."""
    if not model:
        from tests.tiny_models import save_tiny

        return str(save_tiny(below, "qwen2"))
    if not model.endswith(".gguf"):
        return model
    import torch
    import transformers

    folder, file = str(Path(model).parent), Path(model).name
    source = {"pretrained_model_name_or_path": folder, "gguf_file": file}
    network: Any = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    network.hf_quantizer = None  # the weights are unpacked by now
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    network.save_pretrained(below)
    transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(below)
    return str(below)


def start_vllm(folder: str, rows: int) -> LanguageModel:
    """Our vLLM backend on all cores, which ends no text before its length."""
    from engine.config.models.model import ModelSection, VllmSection
    from engine.lm.vllm.engine_options import start

    vllm = VllmSection(max_model_len=1024)
    section = ModelSection(
        backend="vllm", path=folder, dtype="bfloat16", max_num_seqs=rows, threads=THREADS, vllm=vllm
    )
    model = start(folder, section)
    model._driver._eos = frozenset()
    return model


def main() -> None:
    """Measure in turns, write, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--vllm", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as below:
        measure(options, as_folder(options.model, Path(below)))


def measure(options: argparse.Namespace, folder: str) -> None:
    """Every way in turns; the table is written after each turn."""
    dtype = "bfloat16" if options.vllm else "auto"
    own = TransformersModel.load(folder, dtype=dtype, max_num_seqs=options.rows, threads=THREADS)
    # A model ends its texts where it wants to: here each ends at its own length.
    own.tokenizer.eos_token_ids = frozenset()
    ways: dict[str, tuple[Callable[..., list[list[int]]], LanguageModel]] = {
        "fixed batches": (fixed, own),
        "in flight": (in_flight, own),
    }
    if options.vllm:
        ways["vLLM"] = (in_flight, start_vllm(folder, options.rows))
    vocab = min(1000, own.info.vocab_size)
    requests = [
        Request([1 + index % (vocab - 1)] * 60, Sampling(length, temperature=1.0), seed=index)
        for index, length in enumerate(lengths(options.texts, options.scale))
    ]
    for way, model in ways.values():
        way(model, requests[:4], options.rows)  # first calls compile and warm up
    found: list[dict[str, object]] = []
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(options.turns):
        for name, (way, model) in ways.items():
            started = time.perf_counter()
            tokens = sum(map(len, way(model, requests, options.rows)))
            seconds[name].append(time.perf_counter() - started)
            found.append(
                {
                    "model": Path(options.model or folder).name, "rows": options.rows, "texts": options.texts,
                    "tokens": tokens, "turn": turn, "way": name, "seconds": round(seconds[name][-1], 1),
                    "tokens_per_second": round(tokens / seconds[name][-1], 1),
                }
            )  # fmt: skip
            print(found[-1], flush=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    for name in ways:
        ratios = [slow / fast for slow, fast in zip(seconds[name], seconds["in flight"], strict=True)]
        print(name, "takes", [round(ratio, 2) for ratio in ratios], "times as long as in flight")


if __name__ == "__main__":
    main()
