"""Tokens a second, plain and with a different steering vector for each of 64 prompts: vLLM, our transformers
backend, and transformers with the libraries `steering-vectors` and `repeng`, which take one vector a batch. Then the
segments of an ESM controller on vLLM with and without its prefix cache.

    .venv-vllm/bin/python -m tests.bench.bench_vllm [--libraries PYTHON] [--rounds 3]

`--libraries`: the interpreter of an environment in which `pip install torch==2.13.0 steering-vectors repeng` was done
(they need another transformers). The model is random, of 79 M parameters, in float32 on the CPU's cores.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

PROMPTS, PROMPT_TOKENS, NEW_TOKENS, LAYER, VOCAB, HIDDEN = 64, 64, 48, 6, 8192, 768
RESULTS = Path(__file__).parent / "results" / "vllm.csv"
THREADS = os.cpu_count() or 1


def prompts(seed: int = 0) -> list[list[int]]:
    """Random tokens, no two prompts alike; another seed, other prompts, of which no cache knows anything."""
    return np.random.default_rng(seed).integers(400, VOCAB, (PROMPTS, PROMPT_TOKENS)).tolist()


def vectors() -> np.ndarray[Any, np.dtype[np.float32]]:
    """One a prompt, of about the stream's own length: (PROMPTS, HIDDEN)."""
    return np.random.default_rng(1).normal(size=(PROMPTS, HIDDEN)).astype(np.float32)


def save_model(folder: Path) -> None:
    """A random Qwen2 with a small tokenizer."""
    import torch
    import transformers

    from tests.tiny_models import tiny_tokenizer

    torch.manual_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=12, num_attention_heads=12,
        num_key_value_heads=4, intermediate_size=2048, max_position_embeddings=1024, bos_token_id=None,
        eos_token_id=0, pad_token_id=0, tie_word_embeddings=True,
    )  # fmt: skip
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)


def rate(run: Callable[[], int]) -> float:
    """Tokens a second of one call."""
    started = time.monotonic()
    tokens = run()
    return tokens / (time.monotonic() - started)


def rates(run: Callable[[bool, int], int], rounds: int) -> dict[str, float]:
    """`run(steered, seed)` in alternation: medians, and the median of each round's ratio."""
    run(True, 1000)
    run(False, 1001)
    found = [
        (rate(lambda: run(False, 2 * number)), rate(lambda: run(True, 2 * number + 1)))  # noqa: B023
        for number in range(rounds)
    ]
    return {
        "plain": median(p for p, _ in found),
        "steered": median(s for _, s in found),
        "ratio": median(s / p for p, s in found),
    }


def ours(model: Any, rounds: int) -> dict[str, float]:
    """A backend of this product."""
    from engine.lm.protocol import Request, Sampling, Steer

    steers = [Steer(vector, LAYER, 1.0) for vector in vectors()]

    def run(steered: bool, seed: int) -> int:
        requests = [
            Request(prompt, Sampling(NEW_TOKENS), steer=steer if steered else None)
            for prompt, steer in zip(prompts(seed), steers, strict=True)
        ]
        return sum(len(completion.tokens) for completion in model.generate(requests))

    return rates(run, rounds)


def library(name: str, folder: Path) -> dict[str, float]:
    """Transformers' own `generate`: plain in one batch; steered prompt by prompt, a vector each."""
    import torch
    import transformers

    torch.set_num_threads(THREADS)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    settings = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}

    def generate(net: Any, rows: Sequence[Sequence[int]]) -> int:
        ids = torch.tensor(rows)
        return net.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **settings)[
            :, ids.shape[1] :
        ].numel()

    def plain() -> int:
        return generate(model, prompts())

    with torch.inference_mode():
        unsteered = rate(plain)
        steered = rate(lambda: sum(_each(name, model, generate)))
    return {"plain": unsteered, "steered": steered, "ratio": steered / unsteered}


def _each(name: str, model: Any, generate: Callable[[Any, Any], int]) -> list[int]:
    import torch

    pairs = list(zip(prompts(), torch.from_numpy(vectors()), strict=True))
    if name == "repeng":
        from repeng import ControlModel  # pyright: ignore[reportMissingImports]

        controlled = ControlModel(model, [LAYER])
        wrapped = model.model.layers[LAYER]
        wrapped.attention_type = wrapped.block.attention_type  # newer transformers ask the layer for it
        found: list[int] = []
        for prompt, vector in pairs:
            controlled.set_raw_control({LAYER: vector})
            found.append(generate(controlled, [prompt]))
        return found
    from steering_vectors import SteeringVector  # pyright: ignore[reportMissingImports]

    found = []
    for prompt, vector in pairs:
        with SteeringVector({LAYER: vector}).apply(model):
            found.append(generate(model, [prompt]))
    return found


def cache(folder: Path, rounds: int) -> dict[str, float]:
    """Tokens a second of an ESM controller's segments, without and with the prefix cache."""
    without, with_cache = (_segments(folder, enabled, rounds) for enabled in (False, True))
    return {"plain": without, "steered": with_cache, "ratio": with_cache / without}


def _segments(folder: Path, enable_prefix_caching: bool, rounds: int) -> float:
    from tests.bench.bench_language_model import segments

    model = start_vllm(folder, engine_args={"enable_prefix_caching": enable_prefix_caching})
    segments(model, prompts(1000)[:16])
    found = median(rate(lambda: segments(model, prompts(number)[:16])) for number in range(rounds))  # noqa: B023
    model.close()
    return found


def start_vllm(folder: Path, **options: Any) -> Any:
    """Our vLLM backend on all cores."""
    from engine.config.models.model import ModelSection, VllmSection
    from engine.lm.vllm.engine_options import start

    vllm = VllmSection(**{"max_model_len": 1024, **options})
    section = ModelSection(backend="vllm", path=str(folder), dtype="float32", threads=THREADS, vllm=vllm)
    return start(str(folder), section)


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--libraries", help="interpreter that has steering-vectors and repeng")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(library(arguments.one[0], Path(arguments.one[1]))))
        return
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(folder)
        model = start_vllm(folder)
        table["vLLM, this backend"] = ours(model, arguments.rounds)
        model.close()
        from engine.lm.transformers.model import TransformersModel

        own = TransformersModel.load(str(folder), device="cpu", dtype="float32", threads=THREADS)
        table["transformers, this backend"] = ours(own, arguments.rounds)
        for library_name in ("steering-vectors", "repeng") if arguments.libraries else ():
            command = [arguments.libraries, __file__, "--one", library_name, name]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            table[f"transformers + {library_name}"] = json.loads(output.splitlines()[-1])
        table["ESM segments on vLLM: prefix cache off, on"] = cache(folder, arguments.rounds)
    write(table)


def write(table: dict[str, dict[str, float]]) -> None:
    """Print it and put it into the results."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "plain_tokens_per_s", "steered_tokens_per_s", "ratio"])
        for what, row in table.items():
            print(f"{what:45} {row['plain']:8.1f} {row['steered']:8.1f} {row['ratio']:6.3f}", file=sys.stderr)
            writer.writerow([what, *(round(row[key], 3) for key in ("plain", "steered", "ratio"))])


if __name__ == "__main__":
    main()
