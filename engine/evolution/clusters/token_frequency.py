"""How often each token occurs in answers that the model itself generates.

A delta acts most through frequent tokens, so a cluster is described by its frequent tokens too.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.evolution import layout
from engine.evolution.questions import load_splits, prompt_of, system_of
from engine.files import append_jsonl, recover_records
from engine.lm.protocol import Request, Sampling
from engine.lm.vocabulary import Vocabulary
from engine.run.stage import StageContext

BATCH = 32
"""Fewest answers per write."""
TEMPERATURE = 1.0


@dataclass(frozen=True)
class TokenFrequency:
    """`counts`: int64 (vocab_size,); `source` says in words what was counted."""

    counts: NDArray[np.int64]
    source: str


class GeneratedAnswer(msgspec.Struct, frozen=True):
    """A line of the file of generated answers: the question's id, and the answer's tokens."""

    id: str
    tokens: list[int]


def count_tokens(context: StageContext, vocabulary: Vocabulary, done: int, total: int) -> TokenFrequency:
    """Count tokens of sampled answers to as many questions of the pool as the configuration says; answers of an earlier
    attempt are kept. `done` of the stage's `total` items came before."""
    config, counts = context.config, np.zeros(len(vocabulary), dtype=np.int64)
    if config.clusters.frequency_texts == 0:
        return TokenFrequency(counts, "not counted")
    examples = load_splits(config).pool[: config.clusters.frequency_texts]
    path = layout.token_frequency(context.run_dir)
    records = recover_records(path, GeneratedAnswer)
    model = context.load_model(config.evolution_model)
    while len(records) < len(examples):
        context.checkpoint()
        size = max(BATCH, config.evolution.batch_size)
        batch = examples[len(records) : len(records) + size]
        requests = [
            Request(
                model.tokenizer.encode_chat(prompt_of(example), system_of(example)),
                Sampling(config.evolution.max_new_tokens, TEMPERATURE),
                seed=context.seed(f"frequency/{example.id}"),
            )
            for example in batch
        ]
        completions = model.generate(requests)
        new = [GeneratedAnswer(e.id, c.tokens) for e, c in zip(batch, completions, strict=True)]
        append_jsonl(path, map(msgspec.to_builtins, new))
        records += new
        tokens = sum(len(completion.tokens) for completion in completions)
        context.progress(done + len(records), total, tokens, "token frequencies")
    for record in records:
        counts += np.bincount(record.tokens, minlength=len(vocabulary))
    source = f"{len(records)} answers of {model.info.name} to questions of the pool"
    return TokenFrequency(counts, f"{source} at temperature {TEMPERATURE:g}")
