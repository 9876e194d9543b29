"""Tokens a second: plain batched decoding, the segments of an ESM controller on shared prefixes, the same
segments on the literal reference.

    python tests/bench/bench_language_model.py [model folder]     (the embedded model by default)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import Branch, LanguageModel, Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from tests.literal_model import LiteralModel

SEGMENTS, SEGMENT_TOKENS, PROBES, PROBE_TOKENS = 4, 25, 3, 8


def segments(model: LanguageModel, prompts: Sequence[Sequence[int]]) -> int:
    """Segments of fixed length, half of the commits steered: how many tokens were committed or probed."""
    rng = np.random.default_rng(0)
    prefixes, rows, total = model.open(prompts), range(len(prompts)), 0
    layer = model.info.num_layers // 2

    def steer() -> Steer:
        return Steer(rng.normal(size=model.info.hidden_size).astype(np.float32), layer, 0.1)

    for _ in range(SEGMENTS):
        prefixes.states(rows, [layer])
        probes = prefixes.branch(
            [
                Branch(row, Sampling(PROBE_TOKENS), steer() if k else None, keep=not k)
                for row in rows
                for k in range(PROBES + 1)
            ]
        )
        sampling = Sampling(SEGMENT_TOKENS)
        commits = [
            Branch(row, sampling, steer())
            if rng.random() < 0.5
            else Branch(row, sampling, continue_from=probes[row * (PROBES + 1)], keep=True)
            for row in rows
        ]
        done = prefixes.branch(commits)
        for row, commit in enumerate(done):
            prefixes.extend(row, commit)
        total += sum(len(completion.tokens) for completion in (*probes, *done))
    return total


def greedy(model: LanguageModel, prompts: Sequence[Sequence[int]]) -> int:
    """Continuations of the same length in one go: how many tokens."""
    sampling = Sampling(SEGMENTS * SEGMENT_TOKENS)
    return sum(len(c.tokens) for c in model.generate([Request(prompt, sampling) for prompt in prompts]))


Work = Callable[[LanguageModel, Sequence[Sequence[int]]], int]


def speed(work: Work, model: LanguageModel, prompts: Sequence[Sequence[int]], repeats: int = 5) -> float:
    """Median tokens a second."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        tokens = work(model, prompts)
        found.append(tokens / (time.perf_counter() - start))
    return float(np.median(found))


def main() -> None:
    model = TransformersModel.load(sys.argv[1] if len(sys.argv) > 1 else str(EMBEDDED), max_num_seqs=256)
    # An end of sequence would make the two ways decode different amounts.
    model.tokenizer.eos_token_ids = frozenset()
    rng = np.random.default_rng(0)
    for count in (8, 32, 64):
        lengths = rng.integers(40, 90, count)
        prompts = [rng.integers(1, model.info.vocab_size, int(length)).tolist() for length in lengths]
        greedy(model, prompts[:2])
        plain, fast = speed(greedy, model, prompts), speed(segments, model, prompts)
        print(
            f"{count:3d} examples: greedy {plain:7.0f} tokens/s, segments {fast:7.0f} ({fast / plain:.2f}x)"
        )
        if count == 8:
            literal = LiteralModel(
                model.network.model, list(model.network.layers), model.tokenizer, model.info
            )
            slow = speed(segments, literal, prompts, repeats=1)
            print(f"{count:3d} examples: literal reference {slow:5.0f} tokens/s, segments {fast / slow:.0f}x")


if __name__ == "__main__":
    main()
