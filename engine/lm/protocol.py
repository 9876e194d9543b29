"""The interface of a language model, in token ids. Only `engine/lm/` knows a backend.

*Layer l* is the output of decoder layer l (0-based) before the final norm, i.e. the residual stream after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Shape (hidden_size,)."""

LogitsProcessor = Callable[[Sequence[Sequence[int]], "object"], "object"]
"""(generated token ids per row, logits (rows, vocab)) -> logits of the same shape."""


@dataclass(frozen=True)
class ModelInfo:
    """Identity of a loaded model. `fingerprint` changes with weights or shape: a memory stores it. `context`: most
    tokens of prompt and continuation together; 0: not known. `dtype_reason`: why this number type, where `auto` chose
    it."""

    name: str
    backend: str
    device: str
    dtype: str
    num_layers: int
    hidden_size: int
    vocab_size: int
    parameters: int
    fingerprint: str
    context: int = 0
    dtype_reason: str = ""


@dataclass(frozen=True)
class Steer:
    """Add `scale * vector` to layer `layer` at the last prompt token, in prefill only (spec ESM 2)."""

    vector: Vector
    layer: int
    scale: float


@dataclass(frozen=True)
class Sampling:
    """How to decode. `temperature` 0 is greedy; ties go to the lowest token id.

    `stop` is a string: generation ends with the token that completes its first occurrence in the
    continuation, and that token is kept. The model's end-of-sequence tokens always end a continuation and
    are kept in `tokens` (they cost budget) but not in the text.
    """

    max_tokens: int
    temperature: float = 0.0
    stop: str | None = None


@dataclass(frozen=True)
class Request:
    """One continuation of `prompt`. `seed` fixes its random draws, whatever else is in the batch.

    `capture_layers`/`capture_after`: record the residual stream at every token of the continuation that ends a
    segment, the last token included. A segment ends with the token that completes the string `capture_after` in the
    text since the last such token: exactly where `Sampling.stop` would end it if every segment were decoded alone.
    `begun`: what an earlier call had written of this continuation (`Unfinished`); it goes on after that.
    """

    prompt: Sequence[int]
    sampling: Sampling
    seed: int = 0
    steer: Steer | None = None
    capture_layers: tuple[int, ...] = ()
    capture_after: str | None = None
    begun: Completion | None = None


@dataclass
class Completion:
    """`logprobs`: log-probability (nats, at temperature 1) of each token of `tokens` under the model as it
    was steered, after the logits processor if there is one. `ended`: eos, stop or length; empty: it was left under way.

    `states`: (segments, len(capture_layers), hidden_size) if requested; `state_ends[i]`: the number of
    continuation tokens up to and including the one that ends segment i.
    `kept`: the backend's own handle to key/values."""

    tokens: list[int]
    logprobs: list[float]
    text: str
    ended: str
    states: NDArray[np.float32] | None = None
    state_ends: list[int] = field(default_factory=list)
    kept: object = field(default=None, repr=False, compare=False)

    @property
    def mean_logprob(self) -> float:
        """Mean token log-probability; 0 for an empty continuation (spec ESM 6.7)."""
        return float(np.mean(self.logprobs)) if self.logprobs else 0.0


NEWEST_TOKENS = 48
"""Tokens of a sequence under way that are shown."""


@dataclass(frozen=True)
class Working:
    """What a call to a model has done so far: `done` of `sequences` are finished, `tokens` were generated; `text` is
    the newest of a sequence under way."""

    sequences: int
    done: int
    tokens: int
    text: str


Between = Callable[[object, Callable[[], Working]], None]
"""Called between the passes of a model with a mark of the call, the same for all its passes, and what tells how far it
is. It may block (pause) or raise (stop: `Unfinished` is then told what is under way). Only the mark may be held on
to."""


@dataclass(frozen=True)
class TokenLogprob:
    """Log-probability (nats, at temperature 1) of `token`, and the likeliest tokens with theirs, best first."""

    token: int
    logprob: float
    top: list[tuple[int, float]]


@dataclass(frozen=True)
class Branch:
    """A continuation of row `row` of open prefixes that leaves the prefix as it is.

    `continue_from`: go on with this kept completion of the same row instead of starting anew (`sampling` then
    counts the whole continuation, and its `stop` also cuts the earlier part; the null probe becomes the commit
    without being decoded twice). It keeps its own steering: `steer` is not added again. `keep`: hold the
    key/values, for a later `continue_from` or `extend` of the same prefix. `processor`: changes the logits of every
    token of the continuation; those of other branches stay as they are. `begun`: as of a `Request`, in place of
    `continue_from`.
    """

    row: int
    sampling: Sampling
    steer: Steer | None = None
    seed: int = 0
    continue_from: Completion | None = None
    keep: bool = False
    processor: LogitsProcessor | None = None
    begun: Completion | None = None


def go_on(call: object, working: Callable[[], Working]) -> None:
    """A `Between` that neither waits nor stops."""


Finished = Callable[[int, Completion], None]
"""Called once for each request, as soon as it has ended, with its number and its completion. What it raises ends the
call."""

Unfinished = Callable[[int, Completion], None]
"""Where a call is ended before its end: called for each request under way with what is written of it, which a later
request continues as its `begun`. A backend that cannot go on in the middle of a text calls it for none."""


def ignore(number: int, text: object) -> None:
    """A `Finished` or `Unfinished` that does nothing."""


class Prefixes(Protocol):
    """A batch of growing, *unsteered* prefixes that share their key/values among the query state, the
    probes and the commit. Rows are numbered as they were opened."""

    def add(self, prompt: Sequence[int]) -> int:
        """Open one more prefix: its row. It runs with the next call that needs it."""
        ...

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        """Residual stream at each prefix's last token: (len(rows), len(layers), hidden_size)."""
        ...

    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """Continue prefixes, also several times from one row, without changing them. `finished` and `unfinished` as in
        `generate`."""
        ...

    def extend(self, row: int, committed: Completion) -> None:
        """Append a continuation's tokens. A kept continuation adds its key/values, steered if it was steered;
        any other is prefilled again, unsteered."""
        ...

    def close(self, rows: Sequence[int]) -> None:
        """Drop rows that are done."""
        ...


class Tokenizer(Protocol):
    """The text side of a model."""

    eos_token_ids: frozenset[int]

    @property
    def longest_token(self) -> int:
        """Characters of the longest token."""
        ...

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text, no special tokens added."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, special tokens left out."""
        ...

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """The text that each token adds, special tokens by their names. Of a character in several tokens, the last one
        has it, and the others nothing."""
        ...

    def encode_chat(self, user: str, system: str | None = None) -> list[int]:
        """Token ids of a one-turn conversation up to where the assistant begins."""
        ...

    def encode_messages(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Token ids of a conversation (`role`, `content`) up to where the assistant's next answer begins."""
        ...


class LanguageModel(Protocol):
    """A frozen causal language model."""

    @property
    def between(self) -> Between:
        """Called between its passes: it may block (pause) or raise (stop)."""
        ...

    @between.setter
    def between(self, between: Between) -> None: ...

    @property
    def info(self) -> ModelInfo: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """One completion a request, in order. `finished` is told each completion as it ends, `unfinished` those that a
        stop leaves under way."""
        ...

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Residual stream of whole sequences at the named positions: (len(positions[i]), len(layers), d)."""
        ...

    def open(self, prompts: Sequence[Sequence[int]]) -> Prefixes:
        """Open prefixes to branch from and extend."""
        ...


@runtime_checkable
class ScoringModel(Protocol):
    """A model that also says how likely given tokens are, and whose logits processors run in this process."""

    def score(
        self, tokens: Sequence[int], top: int, processor: LogitsProcessor | None = None
    ) -> list[TokenLogprob]:
        """Each token but the first, given those before it, with the `top` likeliest in its place. `processor` changes
        the logits; it is given no written tokens."""
        ...
