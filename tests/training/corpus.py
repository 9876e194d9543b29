"""Documents as token sequences with loss weights, in batches of similar length, drawn by batch number."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.training.documents import Document, draw_document
from tests.training.recipes import Recipe
from tests.training.tokenizer import PAD, TURN_END

BATCHES_PER_POOL = 16
"""Documents of so many batches are drawn together and sorted, so that a batch pads little."""

DECISIVE_WEIGHT = 1.0
"""What an answer hangs on: a recipe's decisive tokens, and those with which a segment or sentence opens."""
EARLIER_WEIGHT = 0.25
"""Factor for answers of earlier turns."""
PROMPT_WEIGHT = 0.02
"""Tokens of the question: mostly names and numbers drawn at random, which nobody can learn."""


@dataclass(frozen=True)
class TokenRow:
    """Token ids and, of the same length, the weight of predicting each of them."""

    tokens: list[int]
    weights: list[float]


@dataclass(frozen=True)
class Batch:
    """Right-padded token ids (documents, longest) and loss weights of the same shape, 0 at padding.

    No attention mask: the model is causal and padding comes last, so nothing that counts ever sees it.
    """

    tokens: Tensor
    weights: Tensor

    @property
    def size(self) -> int:
        """Number of positions, padding included."""
        return self.tokens.numel()


class Corpus:
    """Batches by number: batch k depends on (seed, k, total) alone, so training resumes without a reader's state."""

    def __init__(self, tokenizer: Any, recipe: Recipe, batch_documents: int, total: int, seed: int) -> None:
        self._tokenizer = tokenizer
        self._formats = recipe.formats
        self._documents = batch_documents
        self._total = total
        self._seed = seed
        self._pool: tuple[int, list[Batch]] = (-1, [])
        self._pad: int = tokenizer.convert_tokens_to_ids(PAD)
        self._decisive = frozenset(tokenizer.encode(piece)[0] for piece in recipe.decisive)
        self._filler_weight = recipe.filler_weight
        self._openers = frozenset(tokenizer.encode(piece)[0] for piece in recipe.openers)

    def batch(self, number: int) -> Batch:
        """Batch `number` of `total`, counted from 0."""
        pool, offset = divmod(number, BATCHES_PER_POOL)
        if self._pool[0] != pool:
            self._pool = (pool, self._draw_pool(pool))
        return self._pool[1][offset]

    def _draw_pool(self, pool: int) -> list[Batch]:
        rng = random.Random(f"corpus:{self._seed}:{pool}")
        progress = pool * BATCHES_PER_POOL / self._total
        count = self._documents * BATCHES_PER_POOL
        rows = [self.encode(draw_document(self._formats, progress, rng)) for _ in range(count)]
        rows.sort(key=lambda row: len(row.tokens))
        batches = [self._pad_rows(rows[at : at + self._documents]) for at in range(0, count, self._documents)]
        rng.shuffle(batches)
        return batches

    def encode(self, document: Document) -> TokenRow:
        """The document as the model sees it in use: chat turns by the template, plain text as it is."""
        tokens: list[int] = []
        weights: list[float] = []
        between = ""
        last = len(document.earlier)
        for number, (prompt, completion) in enumerate(
            (*document.earlier, (document.prompt, document.completion))
        ):
            asked = self._tokenizer.encode(between + self._user_turn(prompt))
            answered = self._tokenizer.encode(completion + TURN_END)
            tokens += asked + answered
            share = EARLIER_WEIGHT if number < last else 1.0
            weights += [PROMPT_WEIGHT] * len(asked)
            weights += [share * weight for weight in self._completion_weights(answered)]
            between = "\n"
        return TokenRow(tokens, weights)

    def _user_turn(self, prompt: str | None) -> str:
        if prompt is None:
            return ""
        turn = [{"role": "user", "content": prompt}]
        return self._tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)

    def _completion_weights(self, tokens: list[int]) -> list[float]:
        opens = [True, *(before in self._openers for before in tokens[:-1])]
        return [
            DECISIVE_WEIGHT if first or token in self._decisive else self._filler_weight
            for first, token in zip(opens, tokens, strict=True)
        ]

    def _pad_rows(self, rows: list[TokenRow]) -> Batch:
        longest = max(len(row.tokens) for row in rows)
        tokens = torch.full((len(rows), longest), self._pad)
        weights = torch.zeros(len(rows), longest)
        for at, row in enumerate(rows):
            tokens[at, : len(row.tokens)] = torch.tensor(row.tokens)
            weights[at, : len(row.tokens)] = torch.tensor(row.weights)
        return Batch(tokens, weights)
