"""Growing, unsteered prefixes that share their key/values among query state, probes and commit.

A row holds key/values of all its tokens and what its last token's pass gave: residual stream and logits.
Unsteered continuations start from those at no cost. Steered ones feed the last token once more, steered,
over the key/values before it. Tokens that `extend` appends without key/values wait until a call needs them; then
all rows run in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from engine.lm.context import check_prompt, within_context
from engine.lm.continuation import cut, earlier_end, is_whole
from engine.lm.loading.device import memory_errors
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import (
    Between,
    Branch,
    Completion,
    Finished,
    ModelInfo,
    Tokenizer,
    Unfinished,
    Working,
    ignore,
)
from engine.lm.transformers.decoding import Decoding, Job, Kept, numbered
from engine.lm.transformers.kv_cache import joined
from engine.lm.transformers.network import Network, Prefilled
from engine.lm.transformers.prefix_row import PrefixRow, run_pending


class SharedPrefixes:
    """`Prefixes` of the transformers backend."""

    def __init__(
        self,
        network: Network,
        tokenizer: Tokenizer,
        info: ModelInfo,
        find: Callable[[str], Occurrences],
        prompts: Sequence[Sequence[int]],
        max_rows: int,
        between: Between,
    ) -> None:
        self._network = network
        self._tokenizer = tokenizer
        self._info = info
        self._find = find
        self._max_rows = max_rows
        self._between = between
        self._mark = object()
        self._rows: dict[int, PrefixRow] = {}
        self._opened = 0
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Sequence[int]) -> int:
        """Open one more prefix: its row. Raises ModelError for a prompt that fills the model's context."""
        row = self._opened
        if not prompt:
            raise ValueError(f"prompt {row} is empty: there is no token to continue")
        check_prompt(len(prompt), self._info)
        self._rows[row] = PrefixRow(last_token=prompt[-1], pending=list(prompt))
        self._opened += 1
        return row

    @torch.inference_mode()
    @memory_errors("reading states")
    def states(self, rows: Sequence[int], layers: Sequence[int]) -> NDArray[np.float32]:
        """Residual stream at each prefix's last token: (len(rows), len(layers), hidden_size)."""
        if not rows:
            return np.zeros((0, len(layers), self._network.hidden_size), dtype=np.float32)
        passes = self._up_to_date(rows)
        stacked = torch.stack([ran.states for ran in passes])
        chosen = torch.tensor(list(layers), device=stacked.device, dtype=torch.long)
        return stacked[:, chosen].float().cpu().numpy()

    @torch.inference_mode()
    @memory_errors("continuing prefixes")
    def branch(
        self,
        branches: Sequence[Branch],
        finished: Finished = ignore,
        unfinished: Unfinished = ignore,
    ) -> list[Completion]:
        """Continue prefixes without changing them, each as far as the model's context goes."""
        ran = self._up_to_date([branch.row for branch in branches])
        branches = [
            replace(branch, sampling=within_context(branch.sampling, prefix.kv.length, self._info))
            for branch, prefix in zip(branches, ran, strict=True)
        ]
        done: dict[int, Completion] = {}
        jobs: dict[int, Job] = {}
        for index, branch in enumerate(branches):
            earlier = self._earlier(branch)
            if earlier is not None and is_whole(earlier, branch):
                done[index] = earlier if branch.keep else replace(earlier, kept=None)
                finished(index, done[index])
            else:
                jobs[index] = self._job(branch, earlier)
        decoding = Decoding(
            self._network,
            self._tokenizer,
            self._find,
            list(jobs.values()),
            self._max_rows,
            between=self._between,
            finished=numbered(finished, list(jobs)),
            unfinished=numbered(unfinished, list(jobs)),
        )
        done.update(zip(jobs, decoding.run(), strict=True))
        return [done[index] for index in range(len(branches))]

    @torch.inference_mode()
    def extend(self, row: int, committed: Completion) -> None:
        """Append a continuation's tokens, with its key/values if they were kept."""
        if not committed.tokens:
            return
        prefix = self._rows[row]
        if committed.kept is None:
            prefix.pending += committed.tokens
        else:
            ran = self._ran(row)
            kv = self._kept(row, committed).kv
            ran.kv = joined([ran.kv.part(0, ran.kv.length - 1), kv])
            prefix.pending = committed.tokens[-1:]
        prefix.last_token = committed.tokens[-1]
        prefix.version = object()

    def close(self, rows: Sequence[int]) -> None:
        """Drop rows that are done."""
        for row in rows:
            self._rows.pop(row, None)

    def _up_to_date(self, rows: Sequence[int]) -> list[Prefilled]:
        pending = [self._rows[row] for row in rows]
        run_pending(self._network, pending, self._max_rows, lambda: self._pass_between(len(rows)))
        return [self._ran(row) for row in rows]

    def _pass_between(self, sequences: int) -> None:
        self._between(self._mark, lambda: Working(sequences, 0, 0, ""))

    def _ran(self, row: int) -> Prefilled:
        prefix = self._rows[row]
        if prefix.ran is None or prefix.pending:
            raise ValueError(f"row {row} has not run yet, so no kept key/values can belong to it")
        return prefix.ran

    def _kept(self, row: int, completion: Completion) -> Kept:
        kept = completion.kept
        if not isinstance(kept, Kept):
            raise ValueError(f"this continuation of row {row} was not kept: branch it with `keep`")
        if kept.prefix is not self._rows[row].version:
            raise ValueError(f"these key/values continue an earlier or another prefix than row {row} is now")
        return kept

    def _job(self, branch: Branch, earlier: Completion | None) -> Job:
        return Job(
            row=self._rows[branch.row],
            sampling=branch.sampling,
            seed=branch.seed,
            steer=branch.steer,
            keep=branch.keep,
            continue_from=earlier,
            processor=branch.processor,
            begun=branch.begun,
        )

    def _earlier(self, branch: Branch) -> Completion | None:
        """The completion to continue from, cut where this branch's own stop and budget would have ended it."""
        earlier = branch.continue_from
        if earlier is None or not earlier.tokens:
            return None
        kept = self._kept(branch.row, earlier)
        end = earlier_end(earlier, branch.sampling, self._find)
        if end is None:
            return earlier
        return cut(earlier, *end, self._tokenizer, Kept(kept.prefix, kept.kv.part(0, end[0])))
