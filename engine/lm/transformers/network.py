"""Forward passes over rows of different lengths, of which every call to a model is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.lm.decoder_layers import decoder_layers
from engine.lm.loading.int8_linear import parameter_total
from engine.lm.transformers.attention_mask import additive, mask_for, mask_windows
from engine.lm.transformers.batching import MAX_TOKENS
from engine.lm.transformers.capture_hook import capturing, last_column
from engine.lm.transformers.grouped_attention import use_grouped_attention
from engine.lm.transformers.kv_cache import BatchKv, KvProbe, RowKv, RunningKv, joined
from engine.lm.transformers.packed_linear import pack_linear_layers

CPU_PASS = 250_000_000_000
"""Tokens times parameters of a prefill pass on a CPU: two seconds on two slow cores."""
WINDOW = 256
"""Tokens of a text whose logits are held at once: each takes as many numbers as the vocabulary has tokens."""


@dataclass
class Prefilled:
    """A row's key/values over all its tokens, the next token's logits (vocab,) in float32, and the residual
    stream of every layer at the last token (layers, hidden_size)."""

    kv: RowKv
    logits: Tensor
    states: Tensor


class Network:
    """A frozen causal model in eval mode on one device."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self.config = model.config.get_text_config()
        self.layers = decoder_layers(model, int(self.config.num_hidden_layers))
        self.windows = mask_windows(self.config)
        use_grouped_attention(model)
        pack_linear_layers(model)
        parameter = next(model.parameters())
        self.device: torch.device = parameter.device
        if self.device.type == "cuda":
            # cuDNN plans an attention for every new shape, which takes longer than the pass; here the number of
            # columns changes with every token.
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.dtype: torch.dtype = parameter.dtype
        self.pass_tokens = pass_tokens(self.device, parameter_total(model))
        probe = KvProbe()
        logits = self._probe(probe)
        self.layout = probe.layout()
        self.vocab_size = int(logits.shape[-1])
        self.hidden_size = int(self.config.hidden_size)

    @property
    def num_layers(self) -> int:
        return len(self.layers)

    @torch.inference_mode()
    def _probe(self, probe: KvProbe) -> Tensor:
        tokens = torch.zeros((1, 2), dtype=torch.long, device=self.device)
        positions = torch.arange(2, device=self.device)[None]
        return self._run(tokens, positions, probe, mask_for(self.windows, positions, positions, self.dtype))

    def _run(self, tokens: Tensor, positions: Tensor, kv: Any, mask: Any) -> Tensor:
        """Logits (rows, vocab) in float32 after the last column."""
        width = tokens.shape[1]
        # By index, not as a count: the last column as a view is not contiguous, and on a CPU the product with it would
        # first copy the output matrix once for every row.
        last = torch.tensor([width - 1], device=self.device) if width > 1 else 1
        return self._forward(tokens, positions, kv, mask, last)[:, -1].float()

    def _forward(self, tokens: Tensor, positions: Tensor, kv: Any, mask: Any, keep: Tensor | int) -> Tensor:
        """Logits (rows, columns, vocab) after the columns `keep`; 0: after all."""
        return self.model(
            input_ids=tokens,
            position_ids=positions,
            attention_mask=mask,
            past_key_values=kv,
            use_cache=True,
            logits_to_keep=keep,
        ).logits

    def logits(self, tokens: Sequence[int]) -> Iterator[Tensor]:
        """Logits (tokens, vocab) in float32 after every token of one text, `WINDOW` tokens at a time."""
        positions = torch.arange(len(tokens), device=self.device)[None]
        kv = BatchKv(self.layout, positions, used=0)
        ids = torch.tensor([list(tokens)], device=self.device)
        for start in range(0, len(tokens), WINDOW):
            end = min(start + WINDOW, len(tokens))
            queries = positions[:, start:end]
            mask = mask_for(self.windows, queries, positions[:, :end], self.dtype)
            yield self._forward(ids[:, start:end], queries, kv, mask, 0)[0].float()
            kv.used = end

    def prefill(self, pending: Sequence[Sequence[int]], cached: Sequence[RowKv | None]) -> list[Prefilled]:
        """Run each row's pending tokens after its cached tokens, all rows in one pass."""
        widths = np.array([len(tokens) for tokens in pending])
        lengths = np.array([0 if kv is None else kv.length for kv in cached])
        before, width = int(lengths.max()), int(widths.max())
        positions = torch.from_numpy(_prefill_positions(lengths, widths)).to(self.device)
        kv = BatchKv(self.layout, positions, used=before)
        for row, cached_row in enumerate(cached):
            if cached_row is not None:
                kv.load(row, cached_row, before)
        tokens = torch.from_numpy(_padded(pending, width, right=True)).to(self.device)
        queries = positions[:, before:]
        mask = mask_for(self.windows, queries, positions, self.dtype)
        with capturing(self.layers, range(self.num_layers), last_column) as captured:
            logits = self._run(tokens, queries.clamp(min=0), kv, mask)
        states = torch.stack([captured[layer] for layer in range(self.num_layers)], dim=1)
        end = before + width
        return [
            Prefilled(
                _appended(cached_row, kv.take(row, end - int(widths[row]), end)), logits[row], states[row]
            )
            for row, cached_row in enumerate(cached)
        ]

    def start(self, rows: Sequence[Sequence[RowKv]], spare: int) -> RunningKv:
        """A running batch of rows, each given as consecutive pieces, with room for `spare` more tokens."""
        return RunningKv.empty(self.layout).with_rows(rows, spare)

    def step(self, tokens: NDArray[np.int64], kv: RunningKv, full_mask: Tensor | None) -> Tensor:
        """Feed one token a row: logits (rows, vocab) in float32. `full_mask` is `decode_mask`'s."""
        if full_mask is None:
            seen = kv.positions[:, : kv.used + 1]
            mask = mask_for(self.windows, seen[:, -1:], seen, self.dtype)
        else:
            mask = full_mask[..., : kv.used + 1]
        queries = kv.positions[:, kv.used : kv.used + 1]
        logits = self._run(torch.from_numpy(tokens)[:, None].to(self.device), queries, kv, mask)
        kv.advance()
        return logits

    def decode_mask(self, kv: RunningKv) -> Tensor | None:
        """Mask of a one-token pass over all columns, (rows, 1, 1, capacity), of which `step` uses the filled columns.
        None for models with sliding windows, whose mask changes with every token."""
        slides = any(window is not None for window in self.windows.values())
        return None if slides else additive((kv.positions >= 0)[:, None, None], self.dtype)

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Residual stream at `positions` of each sequence, in one pass without key/values or logits:
        (len(positions[i]), len(layers), hidden_size)."""
        width = max(map(len, sequences))
        tokens = torch.from_numpy(_padded(sequences, width, right=False)).to(self.device)
        text_positions = torch.arange(width, device=self.device)[None]
        # Padding is on the right, and no token attends to later tokens: one mask serves all rows.
        mask = mask_for(self.windows, text_positions, text_positions, self.dtype)
        rows = torch.tensor([row for row, places in enumerate(positions) for _ in places], device=self.device)
        columns = torch.tensor([position for places in positions for position in places], device=self.device)
        with capturing(self.layers, layers, lambda hidden: hidden[rows, columns]) as captured:
            self.model.base_model(
                input_ids=tokens,
                position_ids=text_positions.expand(len(sequences), -1),
                attention_mask=mask,
                use_cache=False,
            )
        picked = torch.stack([captured[layer].float() for layer in layers], dim=1).cpu().numpy()
        return np.split(picked, np.cumsum([len(places) for places in positions])[:-1])


def pass_tokens(device: torch.device, parameters: int) -> int:
    """Most tokens of one prefill pass. On a CPU it takes a few seconds at most, so that a pause or stop is answered."""
    if device.type != "cpu":
        return MAX_TOKENS
    return min(MAX_TOKENS, max(256, CPU_PASS // parameters))


def _appended(cached: RowKv | None, new: RowKv) -> RowKv:
    return new if cached is None else joined([cached, new])


def _prefill_positions(lengths: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Text positions of the columns of a pass: cached tokens end at column max(lengths), pending tokens at
    the last one; -1 in the gaps. (rows, max(lengths) + max(widths))."""
    before, width = int(lengths.max()), int(widths.max())
    cached = np.arange(before)[None] - (before - lengths)[:, None]
    pending = np.arange(width)[None] - (width - widths)[:, None]
    pending = np.where(pending < 0, -1, pending + lengths[:, None])
    return np.concatenate([np.maximum(cached, -1), pending], axis=1)


def _padded(sequences: Sequence[Sequence[int]], width: int, right: bool) -> NDArray[np.int64]:
    """Tokens (rows, width), aligned at the right or else at the left; zeros elsewhere."""
    tokens = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        start = width - len(sequence) if right else 0
        tokens[row, start : start + len(sequence)] = sequence
    return tokens
