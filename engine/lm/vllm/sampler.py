"""Choose tokens inside vLLM exactly as the transformers backend does.

The same counter-based draws (`engine.lm.sampling`) depend on a request's seed and its token number alone: the same
request gives the same continuation on every backend, whatever else is in the batch, and many seeds cost no more
than a single seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from vllm.v1.outputs import LogprobsTensors, SamplerOutput  # pyright: ignore[reportMissingImports]
from vllm.v1.sample.sampler import Sampler  # pyright: ignore[reportMissingImports]

from engine.lm.protocol import LogitsProcessor
from engine.lm.sampling import choose, logprobs_of, processed, seeds_array, uniforms
from engine.lm.vllm.pass_plan import Draw


class CounterSampler(Sampler):
    """Replaces vLLM's sampler. `draws` says how the rows of the pass are sampled; `processor` changes the logits
    first."""

    def __init__(self, plain: Any, draws: Callable[[], list[Draw | None]]) -> None:
        super().__init__(plain.logprobs_mode)
        self._plain = plain
        self._draws = draws
        self.processor: LogitsProcessor | None = None
        self.error = ""
        """The first error of the processor; it is not raised here, which would end the engine."""

    def forward(self, logits: Tensor, sampling_metadata: Any, *args: Any, **kwargs: Any) -> Any:
        """vLLM's output, a row for each request: the token and its log-probability at temperature 1."""
        planned = self._draws()
        draws = [draw for draw in planned if draw is not None]
        if len(draws) != len(planned) or len(planned) != len(logits):
            return self._plain(logits, sampling_metadata, *args, **kwargs)
        logits = logits.float()
        if self.processor is not None:
            logits = self._processed(self.processor, sampling_metadata.output_token_ids, logits)
        chosen = choose(logits, *_temperatures_and_draws(draws))
        tokens = chosen.to(torch.int32)[:, None]
        logprobs = LogprobsTensors(
            logprob_token_ids=tokens,
            logprobs=logprobs_of(logits, chosen)[:, None],
            selected_token_ranks=torch.zeros(len(tokens), dtype=torch.int64, device=tokens.device),
        )
        return SamplerOutput(sampled_token_ids=tokens, logprobs_tensors=logprobs)

    def _processed(self, processor: LogitsProcessor, written: list[list[int]], logits: Tensor) -> Tensor:
        try:
            return processed(processor, written, logits)
        except Exception as error:  # a generated processor may raise anything
            self.error = self.error or f"{type(error).__name__}: {error}"
            return logits


def _temperatures_and_draws(draws: list[Draw]) -> tuple[Any, Any]:
    temperatures = np.array([draw.temperature for draw in draws], dtype=np.float64)
    if not temperatures.any():
        return temperatures, None
    counts = np.array([draw.count for draw in draws], dtype=np.uint64)
    return temperatures, uniforms(seeds_array([draw.seed for draw in draws]), counts)
