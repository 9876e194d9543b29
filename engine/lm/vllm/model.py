"""The vLLM backend's `LanguageModel`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.continuation import check_numbers
from engine.lm.occurrences import Occurrences
from engine.lm.positions import from_front
from engine.lm.protocol import (
    NEWEST_TOKENS,
    Between,
    Completion,
    Finished,
    LogitsProcessor,
    ModelInfo,
    Request,
    Steer,
    Unfinished,
    Working,
    go_on,
    ignore,
)
from engine.lm.tokenizer import HfTokenizer
from engine.lm.vllm.driver import Driver, EngineRequest, captured
from engine.lm.vllm.prefixes import CachedPrefixes
from engine.lm.vllm.request_args import RequestArgs


class VllmModel:
    """`LanguageModel` over an `LLMEngine` that was started by `engine_options.start`."""

    def __init__(self, engine: Any, driver: Driver, tokenizer: HfTokenizer, info: ModelInfo) -> None:
        self.engine = engine
        self._driver = driver
        self.tokenizer = tokenizer
        self.info = info
        self._find = cache(partial(Occurrences, tokenizer, info.vocab_size))
        self._captures = 0
        self.between: Between = go_on
        driver.between = self._pass_between

    def _pass_between(self, mark: object, requests: Sequence[EngineRequest], unfinished: int) -> None:
        self.between(mark, lambda: self._working(requests, unfinished))

    def _working(self, requests: Sequence[EngineRequest], unfinished: int) -> Working:
        newest = max(requests, key=lambda request: len(request.tokens)).tokens[-NEWEST_TOKENS:]
        tokens = sum(len(request.tokens) for request in requests)
        return Working(len(requests), len(requests) - unfinished, tokens, self.tokenizer.decode(newest))

    def generate(
        self,
        requests: Sequence[Request],
        *,
        logits_processor: LogitsProcessor | None = None,
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """The completion of each request, in order. States are read in a second pass over the written tokens, so that
        decoding runs at vLLM's full speed, without a hook: completions with states are reported after it."""
        for index, request in enumerate(requests):
            if not request.prompt:
                raise ValueError(f"request {index} has an empty prompt: there is no token to continue")
            self._driver.check_layers(request.capture_layers)
        runs = [self._run(request) for request in requests]
        number, early = {id(run): index for index, run in enumerate(runs)}, dict[int, Completion]()

        def take(run: EngineRequest) -> None:
            index = number[id(run)]
            if not requests[index].capture_layers:
                early[index] = self._completion(run)
                finished(index, early[index])

        self._driver.run(runs, logits_processor, take)
        completions = [early.get(index) or self._completion(run) for index, run in enumerate(runs)]
        self._read_states(requests, runs, completions)
        for index in set(range(len(requests))) - early.keys():
            finished(index, completions[index])
        return completions

    def _run(self, request: Request) -> EngineRequest:
        sampling = request.sampling
        last = len(request.prompt) - 1
        steers = (self._driver.injection(request.steer, last),) if request.steer is not None else ()
        args = RequestArgs(injections=steers, temperature=sampling.temperature, seed=request.seed)
        stop = self._find(sampling.stop) if sampling.stop else None
        return self._new_run(request.prompt, sampling.max_tokens, args, stop)

    def _completion(self, run: EngineRequest) -> Completion:
        check_numbers(run.logprobs)
        written = run.tokens[:-1] if run.ended == "eos" else run.tokens
        return Completion(run.tokens, run.logprobs, self.tokenizer.decode(written), run.ended)

    def _read_states(
        self,
        requests: Sequence[Request],
        runs: Sequence[EngineRequest],
        completions: Sequence[Completion],
    ) -> None:
        """Fill in `states` and `state_ends` of the completions whose requests capture."""
        reads: dict[int, EngineRequest] = {}
        for index, (request, run, completion) in enumerate(zip(requests, runs, completions, strict=True)):
            if not request.capture_layers:
                continue
            completion.states = np.zeros((0, len(request.capture_layers), self.info.hidden_size), np.float32)
            completion.state_ends = self._ends(request.capture_after, completion)
            if completion.state_ends:
                tokens = [*request.prompt, *completion.tokens[: completion.state_ends[-1]]]
                positions = [len(request.prompt) + end - 1 for end in completion.state_ends]
                reads[index] = self._read(tokens, positions, request.capture_layers, run.args)
        self._driver.run(list(reads.values()))
        for index, run in reads.items():
            completions[index].states = run.states

    def _ends(self, needle: str | None, completion: Completion) -> list[int]:
        """The number of tokens up to the end of each segment that `needle` ends."""
        text_end = len(completion.tokens) - (completion.ended == "eos")
        return self._find(needle).segment_ends(completion.tokens[:text_end]) if needle else []

    def states(
        self, sequences: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], layers: Sequence[int]
    ) -> list[NDArray[np.float32]]:
        """Residual stream of whole sequences at the named positions: (len(positions[i]), len(layers), d)."""
        self._driver.check_layers(layers)
        empty = np.zeros((0, len(layers), self.info.hidden_size), dtype=np.float32)
        states = [empty] * len(sequences)
        reads: dict[int, EngineRequest] = {}
        for index, (tokens, read_at) in enumerate(zip(sequences, positions, strict=True)):
            from_start = from_front(read_at, len(tokens))
            if from_start and layers:
                # Tokens after the last wanted position cannot change its state.
                reads[index] = self._read(tokens[: max(from_start) + 1], from_start, layers, RequestArgs())
        self._driver.run(list(reads.values()))
        for index, run in reads.items():
            assert run.states is not None
            states[index] = run.states
        return states

    def steered_state(
        self, tokens: Sequence[int], steer: Steer, position: int, layers: Sequence[int]
    ) -> NDArray[np.float32]:
        """Residual stream at the last token of a sequence steered at `position`: (len(layers), d)."""
        self._driver.check_layers(layers)
        steered = RequestArgs((self._driver.injection(steer, position),))
        run = self._read(tokens, [len(tokens) - 1], layers, steered)
        self._driver.run([run])
        assert run.states is not None
        return run.states[0]

    def open(self, prompts: Sequence[Sequence[int]]) -> CachedPrefixes:
        """Open prefixes to branch from and extend."""
        return CachedPrefixes(self._driver, self.tokenizer, self._find, self._new_run, prompts)

    def close(self) -> None:
        """End vLLM's processes."""
        self.engine.engine_core.shutdown(timeout=10)

    def _read(
        self, tokens: Sequence[int], positions: Sequence[int], layers: Sequence[int], steered: RequestArgs
    ) -> EngineRequest:
        self._captures += 1
        args = RequestArgs(
            injections=steered.injections, capture_positions=tuple(positions), capture_layers=tuple(layers)
        )
        return self._new_run(tokens, 1, captured(args, str(self._captures)))

    def _new_run(
        self,
        prompt: Sequence[int],
        max_tokens: int,
        args: RequestArgs,
        stop: Occurrences | None = None,
        written: Sequence[int] = (),
    ) -> EngineRequest:
        """A request cut to the model's context, in which one token is left for reading the last token's state."""
        room = self.engine.vllm_config.model_config.max_model_len - len(prompt)
        if room < 1:
            raise ModelError(
                what=f"a prompt of {len(prompt)} tokens leaves no room in a context of {len(prompt) + room}",
                where="model.vllm.max_model_len",
                hint="raise it, or shorten the prompt",
            )
        reading = bool(args.capture_positions)
        return EngineRequest(
            list(prompt), min(max_tokens, room if reading else room - 1), args, stop, list(written)
        )
