"""Choose the next token of every row.

A row's draw number t depends on its seed and t alone (a counter-based generator), so neither the other rows of
the batch nor the row's position in it can change what it samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.lm.protocol import LogitsProcessor

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_COLDEST = 1e-6
"""Logits divided by a lower temperature may be no numbers any more; this one is as good as greedy."""

_FIRST_OF_EQUALS = ("cpu", "cuda")
"""Devices whose argmax is documented to return the first of equal maxima."""


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(seeds: NDArray[np.uint64], counters: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Draw `counters[i]` of the generator with `seeds[i]`, in [0, 1) with 53 bits; shapes broadcast."""
    # The seed is mixed first: seeds 0, 1, 2 … must not give shifted copies of one sequence.
    with np.errstate(over="ignore"):
        bits = _mix(_mix(seeds + _GAMMA) + (counters + np.uint64(1)) * _GAMMA)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def seeds_array(seeds: list[int]) -> NDArray[np.uint64]:
    """Any integers as 64-bit seeds."""
    return np.array([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds], dtype=np.uint64)


def greedy(logits: Tensor) -> Tensor:
    """The most likely token of each row of (rows, vocab), the lowest id where several are equally likely: (rows,)."""
    if logits.device.type in _FIRST_OF_EQUALS:
        return logits.argmax(dim=-1)
    ids = torch.arange(logits.shape[-1], device=logits.device)
    best = logits == logits.amax(dim=-1, keepdim=True)
    return torch.where(best, ids, logits.shape[-1]).amin(dim=-1)


def sampled(logits: Tensor, temperatures: Tensor, draws: Tensor) -> Tensor:
    """Inverse of the cumulative distribution at `draws` (rows,) of softmax(logits / temperature): (rows,).
    `temperatures` and `draws`: (rows,), on the CPU.

    float64, where the device has it: in float32 the tail of a large vocabulary would be lost."""
    wide = torch.float32 if logits.device.type == "mps" else torch.float64
    # The type first, then the device: MPS takes no float64 at all.
    divisors, numbers = (numbers.to(wide).to(logits.device)[:, None] for numbers in (temperatures, draws))
    cumulative = torch.softmax(logits.to(wide) / divisors, dim=-1).cumsum(dim=-1)
    targets = numbers * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, targets, right=True)[:, 0]
    return tokens.clamp_(max=logits.shape[-1] - 1)


def choose(logits: Tensor, temperatures: NDArray[np.float64], draws: NDArray[np.float64] | None) -> Tensor:
    """Next token of each row of float32 logits (rows, vocab); greedy where the temperature is 0."""
    if draws is None:
        return greedy(logits)
    warm = temperatures > 0
    divisors = torch.from_numpy(np.where(warm, np.maximum(temperatures, _COLDEST), 1.0))
    tokens = sampled(logits, divisors, torch.from_numpy(draws))
    if warm.all():
        return tokens
    return torch.where(torch.from_numpy(warm).to(logits.device), tokens, greedy(logits))


def logprobs_of(logits: Tensor, tokens: Tensor) -> Tensor:
    """Log-probability, in nats at temperature 1, of one token a row: (rows,)."""
    return logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(dim=-1)


def processed(process: LogitsProcessor, written: Sequence[Sequence[int]], logits: Tensor) -> Tensor:
    """What a processor makes of logits (rows, vocab). Raises ValueError unless it keeps their shape."""
    output = process(written, logits)
    if not isinstance(output, Tensor) or output.shape != logits.shape:
        raise ValueError(f"the logits processor must return a tensor of shape {tuple(logits.shape)}")
    return output


def top_logprobs(logits: Tensor, count: int) -> list[list[tuple[int, float]]]:
    """The `count` likeliest tokens of each row of (rows, vocab) with their log-probabilities, best first."""
    values, tokens = logits.topk(min(count, logits.shape[-1]), dim=-1)
    values = values - logits.logsumexp(dim=-1, keepdim=True)
    return [list(zip(*row, strict=True)) for row in zip(tokens.tolist(), values.tolist(), strict=True)]


def within_nucleus(logits: Tensor, temperature: float, top_p: float) -> Tensor:
    """The logits (rows, vocab) of the fewest tokens that are as likely as `top_p` together at this temperature, -inf
    elsewhere (Holtzman et al. 2020). Of equally likely tokens those with lower ids come first."""
    wide = torch.float32 if logits.device.type == "mps" else torch.float64
    probabilities = torch.softmax(logits.to(wide) / max(temperature, _COLDEST), dim=-1)
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    beyond = ordered.cumsum(dim=-1) - ordered >= top_p
    beyond[:, 0] = False
    return logits.masked_fill(torch.zeros_like(beyond).scatter(-1, order, beyond), float("-inf"))
