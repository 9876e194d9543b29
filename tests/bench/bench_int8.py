"""What weights and inputs of 8 bits change in a model's answers.

    python -m tests.bench.bench_int8 MODEL [GSM8K/train.jsonl] [--texts 60]

The texts are questions of GSM8K with their published answers. For `int8` and for `float32`, both beside `bfloat16`:
the Kullback-Leibler divergence of the next token's probabilities from bfloat16's, in nats a token, with quartiles over
the texts; how often the likeliest next token is the same; and of greedy answers of 64 tokens to the questions, how many
are the same to the last token, and how many tokens they share before the first that differs. float32 shows how much of
that is rounding. One model is in memory at a time.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel

TOKENS = 64


def measure(path: str, dtype: str, items: list[dict[str, str]]) -> tuple[list[torch.Tensor], list[list[int]]]:
    """Log-probabilities (tokens, vocab) after every token of each text, and each question's greedy answer."""
    model = TransformersModel.load(path, device="cpu", dtype=dtype)
    encode = model.tokenizer.encode
    tables = []
    with torch.inference_mode():
        for item in items:
            pieces = model.network.logits(encode(f"{item['question']}\n{item['answer']}"))
            tables.append(torch.cat([piece.log_softmax(-1).half() for piece in pieces]))
    prompts = [encode(f"Question: {item['question']}\nAnswer:") for item in items]
    done = model.generate([Request(prompt, Sampling(TOKENS)) for prompt in prompts])
    return tables, [list(completion.tokens) for completion in done]


def divergence(base: torch.Tensor, other: torch.Tensor) -> float:
    """Mean over a text's tokens of KL(base || other), in nats."""
    base, other = base.float(), other.float()
    return float((base.exp() * (base - other)).sum(-1).mean())


def shared(first: list[int], second: list[int]) -> int:
    """Tokens before the first that differs."""
    pairs = list(zip(first, second, strict=False))
    return next((place for place, (left, right) in enumerate(pairs) if left != right), len(pairs))


def main() -> None:
    """Measure all three and print a line for each of two."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("data", nargs="?", default="../shared/data/gsm8k/train.jsonl")
    parser.add_argument("--texts", type=int, default=60)
    options = parser.parse_args()
    lines = Path(options.data).read_text().splitlines()[: options.texts]
    items = [json.loads(line) for line in lines]
    base, answers = measure(options.model, "bfloat16", items)
    for dtype in ("int8", "float32"):
        tables, others = measure(options.model, dtype, items)
        nats = [divergence(left, right) for left, right in zip(base, tables, strict=True)]
        low, middle, high = np.quantile(nats, [0.25, 0.5, 0.75])
        same = np.mean(
            torch.cat([a.argmax(-1) == b.argmax(-1) for a, b in zip(base, tables, strict=True)]).numpy()
        )
        lengths = [shared(left, right) for left, right in zip(answers, others, strict=True)]
        whole = sum(left == right for left, right in zip(answers, others, strict=True))
        print(
            f"{dtype}: KL {np.mean(nats):.4f} nats [{low:.4f}, {middle:.4f}, {high:.4f}], likeliest token the same "
            f"{same:.1%}, {whole} of {len(items)} answers the same, {np.mean(lengths):.1f} of {TOKENS} tokens shared",
            flush=True,
        )


if __name__ == "__main__":
    main()
