"""Growing, unsteered prefixes over vLLM's prefix cache.

A row is its tokens and the injections that stay in them (none, unless steered key/values are kept). The cache holds
key/values by content: query state, probes and commit of a prefix share its blocks, and steered blocks are never
used for unsteered tokens (`block_hash`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.lm.continuation import cut, earlier_end, is_whole
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import Branch, Completion, Finished, Tokenizer, Unfinished, ignore
from engine.lm.vllm.driver import Driver, EngineRequest
from engine.lm.vllm.request_args import Injection, RequestArgs


@dataclass(frozen=True)
class KeptInjections:
    """The injections in the key/values of a kept continuation, needed to go on with it. `prefix`: the version of the
    prefix that it continues."""

    prefix: object
    injections: tuple[Injection, ...]


@dataclass
class _Row:
    tokens: list[int]
    injections: tuple[Injection, ...] = ()
    version: object = field(default_factory=object)
    """Replaced when the prefix grows: continuations kept from an earlier version do not fit."""


class CachedPrefixes:
    """`Prefixes` of the vLLM backend. `new_run` makes a run and checks that it fits the model's context."""

    def __init__(
        self,
        driver: Driver,
        tokenizer: Tokenizer,
        find: Callable[[str], Occurrences],
        new_run: Callable[..., EngineRequest],
        prompts: Sequence[Sequence[int]],
    ) -> None:
        self._driver = driver
        self._tokenizer = tokenizer
        self._find = find
        self._new_run = new_run
        self._rows: dict[int, _Row] = {}
        self._opened = 0
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Sequence[int]) -> int:
        """Open one more prefix: its row."""
        row = self._opened
        if not prompt:
            raise ValueError(f"prompt {row} is empty: there is no token to continue")
        self._rows[row] = _Row(list(prompt))
        self._opened += 1
        return row

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        """Residual stream at each prefix's last token: (len(rows), len(layers), hidden_size)."""
        self._driver.check_layers(layers)
        runs = [self._state_run(self._rows[row], layers) for row in rows]
        self._driver.run(runs)
        states = [run.states[0] for run in runs if run.states is not None]
        return (
            np.stack(states) if states else np.zeros((0, len(layers), self._driver.hidden_size), np.float32)
        )

    def _state_run(self, row: _Row, layers: Sequence[int]) -> EngineRequest:
        last = len(row.tokens) - 1
        args = RequestArgs(row.injections, capture_positions=(last,), capture_layers=tuple(layers))
        return self._new_run(row.tokens, 1, args)

    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """Continue prefixes without changing them."""
        earlier = [self._earlier(branch) for branch in branches]
        runs: dict[int, EngineRequest] = {}
        for index, (branch, completion) in enumerate(zip(branches, earlier, strict=True)):
            if completion is None or not is_whole(completion, branch):
                runs[index] = self._run(branch, completion)
        done: dict[int, Completion] = {}

        def take(index: int) -> None:
            done[index] = self._completion(branches[index], earlier[index], runs.get(index))
            finished(index, done[index])

        for index in range(len(branches)):
            if index not in runs:
                take(index)
        self._run_all(branches, runs, take)
        for index in runs.keys() - done.keys():  # those without a token to write
            take(index)
        return [done[index] for index in range(len(branches))]

    def _run_all(
        self, branches: Sequence[Branch], runs: dict[int, EngineRequest], take: Callable[[int], None]
    ) -> None:
        """The engine has one logits processor at a time: branches with the same one run together."""
        processors = {id(branches[index].processor): branches[index].processor for index in runs}
        number = {id(run): index for index, run in runs.items()}
        for process in processors.values():
            group = [run for index, run in runs.items() if branches[index].processor is process]
            self._driver.run(group, process, ended=lambda run: take(number[id(run)]))

    def _earlier(self, branch: Branch) -> Completion | None:
        """The completion to continue from, cut where this branch's own stop and budget would have ended it."""
        earlier = branch.continue_from
        if earlier is None or not earlier.tokens:
            return None
        kept = self._kept(branch.row, earlier)
        end = earlier_end(earlier, branch.sampling, self._find)
        return earlier if end is None else cut(earlier, *end, self._tokenizer, kept)

    def _run(self, branch: Branch, earlier: Completion | None) -> EngineRequest:
        row = self._rows[branch.row]
        written = earlier.tokens if earlier is not None else []
        sampling = branch.sampling
        args = RequestArgs(
            injections=self._injections(branch, earlier),
            temperature=sampling.temperature,
            seed=branch.seed,
            drawn=len(written),
        )
        stop = self._find(sampling.stop) if sampling.stop else None
        return self._new_run([*row.tokens, *written], sampling.max_tokens - len(written), args, stop, written)

    def _injections(self, branch: Branch, earlier: Completion | None) -> tuple[Injection, ...]:
        row = self._rows[branch.row]
        if earlier is not None:  # the earlier completion keeps its own steering
            return self._kept(branch.row, earlier).injections
        if branch.steer is None:
            return row.injections
        return (*row.injections, self._driver.injection(branch.steer, len(row.tokens) - 1))

    def _completion(
        self, branch: Branch, earlier: Completion | None, run: EngineRequest | None
    ) -> Completion:
        if run is None:
            assert earlier is not None
            return earlier if branch.keep else replace(earlier, kept=None)
        tokens = [*run.written, *run.tokens]
        row = self._rows[branch.row]
        return Completion(
            tokens=tokens,
            logprobs=[*(earlier.logprobs if earlier is not None else []), *run.logprobs],
            text=self._tokenizer.decode(tokens[:-1] if run.ended == "eos" else tokens),
            ended=run.ended,
            kept=KeptInjections(row.version, run.args.injections) if branch.keep else None,
        )

    def extend(self, row: int, committed: Completion) -> None:
        """Append a continuation's tokens; a kept continuation adds its steering, if it was steered."""
        if not committed.tokens:
            return
        prefix = self._rows[row]
        if committed.kept is not None:
            prefix.injections = self._kept(row, committed).injections
        prefix.tokens = [*prefix.tokens, *committed.tokens]
        prefix.version = object()

    def close(self, rows: Sequence[int]) -> None:
        """Drop rows that are done."""
        for row in rows:
            self._rows.pop(row, None)

    def _kept(self, row: int, completion: Completion) -> KeptInjections:
        kept = completion.kept
        if not isinstance(kept, KeptInjections):
            raise ValueError(f"this continuation of row {row} was not kept: branch it with `keep`")
        if kept.prefix is not self._rows[row].version:
            raise ValueError(
                f"this continuation continues an earlier or another prefix than row {row} is now"
            )
        return kept
