"""Growing, unsteered prefixes over vLLM's prefix cache.

A row is its tokens and the injections that are to stay in them (none, unless steered key/values are kept). The
cache holds the key/values by content: query state, probes and commit of a prefix share its blocks, and steered
ones never stand in for unsteered (`block_hash`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.lm.continuation import begun_end, cut, is_whole
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import Branch, Completion, Tokenizer
from engine.lm.vllm.driver import Driver, Run
from engine.lm.vllm.request_args import Injection, RequestArgs


@dataclass(frozen=True)
class KeptInjections:
    """What a kept continuation needs to go on: the injections its key/values hold. `prefix` names what it
    continues."""

    prefix: object
    injections: tuple[Injection, ...]


@dataclass
class _Row:
    tokens: list[int]
    injections: tuple[Injection, ...] = ()
    version: object = field(default_factory=object)
    """Replaced as the prefix grows: what was kept of an earlier one does not fit."""


class CachedPrefixes:
    """`Prefixes` of the vLLM backend. `new_run` makes a run and checks that it fits the model's context."""

    def __init__(
        self,
        driver: Driver,
        tokenizer: Tokenizer,
        find: Callable[[str], Occurrences],
        new_run: Callable[..., Run],
        prompts: Sequence[Sequence[int]],
    ) -> None:
        self._driver = driver
        self._tokenizer = tokenizer
        self._find = find
        self._new_run = new_run
        for index, prompt in enumerate(prompts):
            if not prompt:
                raise ValueError(f"prompt {index} is empty: there is no token to continue")
        self._rows = {index: _Row(list(prompt)) for index, prompt in enumerate(prompts)}

    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        """Residual stream at each prefix's last token: (len(rows), len(layers), hidden_size)."""
        self._driver.check_layers(layers)
        runs = [self._state_run(self._rows[row], layers) for row in rows]
        self._driver.run(runs)
        found = [run.states[0] for run in runs if run.states is not None]
        return np.stack(found) if found else np.zeros((0, len(layers), self._driver.hidden_size), np.float32)

    def _state_run(self, row: _Row, layers: Sequence[int]) -> Run:
        last = len(row.tokens) - 1
        args = RequestArgs(row.injections, capture_positions=(last,), capture_layers=tuple(layers))
        return self._new_run(row.tokens, 1, args)

    def branch(self, branches: Sequence[Branch]) -> list[Completion]:
        """Continue prefixes without changing them."""
        begun = [self._begun(branch) for branch in branches]
        runs: dict[int, Run] = {}
        for index, (branch, part) in enumerate(zip(branches, begun, strict=True)):
            if part is None or not is_whole(part, branch):
                runs[index] = self._run(branch, part)
        self._driver.run(list(runs.values()))
        return [
            self._completion(branch, part, runs.get(index))
            for index, (branch, part) in enumerate(zip(branches, begun, strict=True))
        ]

    def _begun(self, branch: Branch) -> Completion | None:
        """What was begun, cut to where this branch's own stop and budget would have ended it."""
        begun = branch.begun
        if begun is None or not begun.tokens:
            return None
        kept = self._kept(branch.row, begun)
        end = begun_end(begun, branch.sampling, self._find)
        return begun if end is None else cut(begun, *end, self._tokenizer, kept)

    def _run(self, branch: Branch, begun: Completion | None) -> Run:
        row = self._rows[branch.row]
        written = begun.tokens if begun is not None else []
        sampling = branch.sampling
        args = RequestArgs(
            injections=self._injections(branch, begun),
            temperature=sampling.temperature,
            seed=branch.seed,
            drawn=len(written),
        )
        stop = self._find(sampling.stop) if sampling.stop else None
        return self._new_run([*row.tokens, *written], sampling.max_tokens - len(written), args, stop, written)

    def _injections(self, branch: Branch, begun: Completion | None) -> tuple[Injection, ...]:
        row = self._rows[branch.row]
        if begun is not None:  # it keeps its own steering
            return self._kept(branch.row, begun).injections
        if branch.steer is None:
            return row.injections
        return (*row.injections, self._driver.injection(branch.steer, len(row.tokens) - 1))

    def _completion(self, branch: Branch, begun: Completion | None, run: Run | None) -> Completion:
        if run is None:
            assert begun is not None
            return begun if branch.keep else replace(begun, kept=None)
        tokens = [*run.begun, *run.tokens]
        row = self._rows[branch.row]
        return Completion(
            tokens=tokens,
            logprobs=[*(begun.logprobs if begun is not None else []), *run.logprobs],
            text=self._tokenizer.decode(tokens[:-1] if run.ended == "eos" else tokens),
            ended=run.ended,
            kept=KeptInjections(row.version, run.args.injections) if branch.keep else None,
        )

    def extend(self, row: int, committed: Completion) -> None:
        """Append a continuation's tokens; a kept one brings its steering, if it was steered."""
        if not committed.tokens:
            return
        prefix = self._rows[row]
        if committed.kept is not None:
            prefix.injections = self._kept(row, committed).injections
        prefix.tokens = [*prefix.tokens, *committed.tokens]
        prefix.version = object()

    def close(self, rows: Sequence[int]) -> None:
        """Forget rows that are done."""
        for row in rows:
            self._rows.pop(row, None)

    def _kept(self, row: int, completion: Completion) -> KeptInjections:
        kept = completion.kept
        if not isinstance(kept, KeptInjections):
            raise ValueError(f"this continuation of row {row} was not kept: branch it with `keep`")
        if kept.prefix is not self._rows[row].version:
            raise ValueError(f"what was kept continues another prefix than row {row} as it is now")
        return kept
