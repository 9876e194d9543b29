"""Decoding in flight against fixed batches whose rows retire, on texts as long as GSM8K answers.

    python -m tests.bench.bench_in_flight [MODEL] [rows] [texts] [scale]

MODEL: a folder, GGUF file or name; none: a small random model. `rows` sequences at once, `texts` of them in all; their
lengths are drawn from those of 448 answers of Qwen2.5-Coder-0.5B-Instruct to GSM8K (mean 280, at most 400 tokens) times
`scale`. Both ways write the same tokens, in one process, in turns; what is compared is time. Writes
results/in_flight.csv.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.lm.transformers.model import TransformersModel

RESULTS = Path(__file__).resolve().parent / "results" / "in_flight.csv"
QUANTILES = (94, 193, 217, 236, 254, 272, 295, 319, 351, 396, 400)
"""Deciles of those lengths, in tokens."""
TURNS = 2


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


def main() -> None:
    """Measure in turns, write, print."""
    path, rows, texts, scale = (*sys.argv[1:], *("", "32", "128", "1")[len(sys.argv) - 1 :])
    if not path:
        from tempfile import mkdtemp

        from tests.tiny_models import save_tiny

        path = str(save_tiny(Path(mkdtemp()), "qwen2"))
    model = TransformersModel.load(path, max_num_seqs=int(rows))
    # A model ends its texts where it wants to: here each ends at its own length.
    model.tokenizer.eos_token_ids = frozenset()
    vocab = min(1000, model.info.vocab_size)
    requests = [
        Request([1 + index % (vocab - 1)] * 60, Sampling(length, temperature=1.0), seed=index)
        for index, length in enumerate(lengths(int(texts), float(scale)))
    ]
    found = []
    for turn in range(TURNS):
        for name, way in (("fixed batches", fixed), ("in flight", in_flight)):
            started = time.perf_counter()
            tokens = sum(map(len, way(model, requests, int(rows))))
            seconds = time.perf_counter() - started
            found.append(
                {
                    "model": Path(path).name, "rows": rows, "texts": texts, "tokens": tokens, "turn": turn, "way": name,
                    "seconds": round(seconds, 1), "tokens_per_second": round(tokens / seconds, 1),
                }
            )  # fmt: skip
            print(found[-1], flush=True)
    fastest = {
        name: min(row["seconds"] for row in found if row["way"] == name)
        for name in ("fixed batches", "in flight")
    }
    print("ratio", round(fastest["fixed batches"] / fastest["in flight"], 2))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
