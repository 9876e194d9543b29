"""One GGUF file on one CPU thread: loading, peak memory and greedy decoding of 1 and 16 streams, here, by
transformers' `generate` and by llama.cpp.

    python -m tests.bench.bench_gguf_cpu FILE.gguf [--turns 3] [--llama PYTHON]

PYTHON is an interpreter with the package `xllamacpp`. Each way runs in a process of its own, in turns, and is measured
in seconds of processor time, which other programs change little; loading by the clock, too (imports of torch and
transformers included, the interpreter's start not). Prints a line for each run, then the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

TOKENS, STREAMS = 32, (1, 16)
PROMPT = "def quicksort(items):\n    # variant {}\n"
WAYS = ("here", "here in int8", "transformers", "llama.cpp")


def here(file: str, dtype: str = "bfloat16") -> Any:
    """Loads; returns what decodes `count` streams."""
    from engine.lm.protocol import Request, Sampling
    from engine.lm.transformers.model import TransformersModel

    model = TransformersModel.load(file, device="cpu", dtype=dtype, threads=1)
    model.tokenizer.eos_token_ids = frozenset()

    def decode(count: int) -> None:
        prompts = [model.tokenizer.encode(PROMPT.format(10 + row)) for row in range(count)]
        model.generate([Request(prompt, Sampling(TOKENS)) for prompt in prompts])

    return decode


def here_in_int8(file: str) -> Any:
    """The same in 8 bits."""
    return here(file, "int8")


def transformers_generate(file: str) -> Any:
    """The same of the library."""
    import torch
    import transformers

    torch.set_num_threads(1)
    source: Any = {"pretrained_model_name_or_path": str(Path(file).parent), "gguf_file": Path(file).name}
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**source)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)

    def decode(count: int) -> None:
        prompts = tokenizer([PROMPT.format(10 + row) for row in range(count)], return_tensors="pt")
        model.generate(**prompts, min_new_tokens=TOKENS, max_new_tokens=TOKENS, do_sample=False)

    return decode


def llama_cpp(file: str) -> Any:
    """The same of llama.cpp's server, in this process."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path, params.n_parallel, params.n_ctx, params.cont_batching = file, 16, 16 * 128, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)

    def one(row: int) -> None:
        request = {
            "prompt": PROMPT.format(10 + row),
            "n_predict": TOKENS,
            "temperature": 0,
            "ignore_eos": True,
        }
        answer = server.handle_completions({**request, "cache_prompt": False})
        assert answer["usage"]["completion_tokens"] == TOKENS

    def decode(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(one, range(count)))

    return decode


def worker(way: str, file: str) -> None:
    """Measure one way and print it."""
    load = (here, here_in_int8, transformers_generate, llama_cpp)[WAYS.index(way)]
    started = time.perf_counter()
    decode = load(file)
    found = {"loading s": time.process_time(), "by the clock": time.perf_counter() - started}
    for count in STREAMS:
        decode(1)
        started = time.process_time()
        decode(count)
        found[f"tokens/s of {count}"] = count * TOKENS / (time.process_time() - started)
    status = Path("/proc/self/status").read_text()
    found["peak GB"] = int(status.split("VmHWM:")[1].split()[0]) / 1e6
    print(json.dumps(found))


def main() -> None:
    """All ways in turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--llama", default="")
    parser.add_argument("--way", choices=WAYS)
    options = parser.parse_args()
    if options.way:
        worker(options.way, options.file)
        return
    runs: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.turns):
        for way in WAYS if options.llama else WAYS[:3]:
            python = options.llama if way == "llama.cpp" else sys.executable
            command = [python, __file__, options.file, "--way", way]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()},
            )  # fmt: skip
            runs.setdefault(way, []).append(json.loads(done.stdout.splitlines()[-1]))
            print(way, runs[way][-1], flush=True)
    for way, measured in runs.items():
        print(way, {name: round(median(run[name] for run in measured), 2) for name in measured[0]})


if __name__ == "__main__":
    main()
