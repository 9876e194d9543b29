"""The transformers backend: any decoder-only model of the library, on CPU, CUDA or MPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.context import check_prompt, within_context
from engine.lm.loading.device import memory_errors
from engine.lm.loading.int8_linear import parameter_total
from engine.lm.loading.pretrained import load_pretrained
from engine.lm.occurrences import Occurrences
from engine.lm.positions import check_layers, from_front
from engine.lm.protocol import (
    Between,
    Completion,
    Finished,
    LogitsProcessor,
    ModelInfo,
    Request,
    TokenLogprob,
    Unfinished,
    Working,
    go_on,
    ignore,
)
from engine.lm.sampling import logprobs_of, processed, top_logprobs
from engine.lm.tokenizer import HfTokenizer
from engine.lm.transformers.batching import similar_lengths
from engine.lm.transformers.decoding import Decoding, Job, numbered
from engine.lm.transformers.network import Network
from engine.lm.transformers.prefix_row import PrefixRow
from engine.lm.transformers.prefixes import SharedPrefixes
from engine.lm.transformers.self_check import check_network
from engine.torch_file import ALL_THREADS

ONE_THREAD = 20_000_000
"""Parameters up to which one CPU thread is fastest: its matrix products end before a second thread has started, and on
busy cores waiting for that thread costs many times the products themselves."""


class TransformersModel:
    """`LanguageModel` over a transformers model. `max_num_seqs`: rows of one device batch."""

    def __init__(
        self, network: Network, tokenizer: HfTokenizer, info: ModelInfo, max_num_seqs: int = 64
    ) -> None:
        self.network = network
        self.max_num_seqs = max_num_seqs
        self.tokenizer = tokenizer
        self.info = info
        self._find = cache(partial(Occurrences, tokenizer, network.vocab_size))
        self.between: Between = go_on

    @classmethod
    def load(
        cls,
        path: str,
        *,
        device: str = "auto",
        dtype: str = "auto",
        max_num_seqs: int = 64,
        threads: int = 0,
        name: str | None = None,
        backend: str = "transformers",
    ) -> TransformersModel:
        """Load from a folder or a hub name. `threads`: CPU threads; 0 takes one for a small model, for others
        what torch chooses.

        Raises ModelError for anything that keeps the model from loading or from being steered exactly."""
        pretrained = load_pretrained(path, device, dtype)
        parameters = parameter_total(pretrained.model)
        torch.set_num_threads(threads or (1 if parameters <= ONE_THREAD else ALL_THREADS))
        try:
            with memory_errors(path):
                network = Network(pretrained.model)
                check_network(network)
        except (ValueError, TypeError, AttributeError, RuntimeError, LookupError) as error:
            raise ModelError(
                what=f"this architecture cannot be steered: {error}",
                where=f"{path} ({type(pretrained.model).__name__})",
                hint="use a decoder-only model that keeps key/values, such as Qwen2, Llama or Gemma",
            ) from error
        info = ModelInfo(
            name=name or path,
            backend=backend,
            device=str(network.device),
            dtype=pretrained.dtype,
            dtype_reason=pretrained.dtype_reason,
            num_layers=network.num_layers,
            hidden_size=network.hidden_size,
            vocab_size=network.vocab_size,
            parameters=parameters,
            fingerprint=pretrained.fingerprint,
            context=int(
                getattr(pretrained.model.config.get_text_config(), "max_position_embeddings", None) or 0
            ),
        )
        return cls(network, HfTokenizer(pretrained.tokenizer, pretrained.eos), info, max_num_seqs)

    @torch.inference_mode()
    @memory_errors("generating")
    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """The completion of each request, in order. Requests with the same prompt share its prefill."""
        for index, request in enumerate(requests):
            if not request.prompt:
                raise ValueError(f"request {index} has an empty prompt: there is no token to continue")
            check_layers(request.capture_layers, self.network.num_layers)
        requests = [self._within_context(request) for request in requests]
        # Requests with one prompt stand together: its key/values are dropped when the last of them has begun.
        order = sorted(
            range(len(requests)), key=lambda i: (len(requests[i].prompt), tuple(requests[i].prompt))
        )
        jobs = _jobs([requests[index] for index in order], logits_processor)

        decoding = Decoding(
            self.network,
            self.tokenizer,
            self._find,
            jobs,
            self.max_num_seqs,
            self.between,
            numbered(finished, order),
            numbered(unfinished, order),
        )
        done = dict(zip(order, decoding.run(), strict=True))
        return [done[index] for index in range(len(requests))]

    def _within_context(self, request: Request) -> Request:
        length = len(request.prompt)
        check_prompt(length, self.info)
        return replace(request, sampling=within_context(request.sampling, length, self.info))

    @torch.inference_mode()
    @memory_errors("reading states")
    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Residual stream of whole sequences at the named positions: (len(positions[i]), len(layers), d)."""
        check_layers(layers, self.network.num_layers)
        places = [
            from_front(read_at, len(tokens)) for tokens, read_at in zip(sequences, positions, strict=True)
        ]
        shape = (len(layers), self.network.hidden_size)
        states = [np.zeros((len(read_at), *shape), dtype=np.float32) for read_at in places]
        # Tokens after the last wanted position cannot change its state.
        needed = [
            list(tokens[: max(read_at) + 1]) if read_at else []
            for tokens, read_at in zip(sequences, places, strict=True)
        ]
        used = [index for index, tokens in enumerate(needed) if tokens and layers]
        lengths, mark = [len(needed[index]) for index in used], object()
        for group in similar_lengths(lengths, self.max_num_seqs, self.network.pass_tokens):
            self.between(mark, lambda: Working(len(used), 0, 0, ""))
            batch = [used[member] for member in group]
            batch_states = self.network.states([needed[i] for i in batch], [places[i] for i in batch], layers)
            for index, read in zip(batch, batch_states, strict=True):
                states[index] = read
        return states

    @torch.inference_mode()
    @memory_errors("scoring a text")
    def score(
        self, tokens: Sequence[int], top: int, processor: LogitsProcessor | None = None
    ) -> list[TokenLogprob]:
        """Each token but the first, given those before it, with the `top` likeliest in its place."""
        check_prompt(len(tokens), self.info)
        scored: list[TokenLogprob] = []
        mark = object()
        for logits in self.network.logits(tokens[:-1]):
            self.between(mark, lambda: Working(1, 0, 0, ""))
            if processor is not None:
                logits = processed(processor, [()] * len(logits), logits)
            given = tokens[len(scored) + 1 :][: len(logits)]
            chosen = logprobs_of(logits, torch.tensor(given, device=logits.device)).tolist()
            scored += map(TokenLogprob, given, chosen, top_logprobs(logits, top))
        return scored

    def open(self, prompts: Sequence[Sequence[int]]) -> SharedPrefixes:
        """Open prefixes to branch from and extend."""
        return SharedPrefixes(
            self.network, self.tokenizer, self.info, self._find, prompts, self.max_num_seqs, self.between
        )


def _jobs(requests: Sequence[Request], processor: LogitsProcessor | None) -> list[Job]:
    rows: dict[tuple[int, ...], PrefixRow] = {}
    return [
        Job(
            row=rows.setdefault(prompt := tuple(request.prompt), PrefixRow(prompt[-1], list(prompt))),
            sampling=request.sampling,
            seed=request.seed,
            steer=request.steer,
            processor=processor,
            capture_layers=request.capture_layers,
            capture_after=request.capture_after,
            begun=request.begun,
        )
        for request in requests
    ]
