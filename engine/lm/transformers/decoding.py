"""Decode continuations token by token (not `model.generate`: that can neither steer per row, share prefixes, nor
capture states on the way), in flight: once enough rows of the device batch have ended, the next jobs take their places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.lm.continuation import check_numbers
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import (
    NEWEST_TOKENS,
    Between,
    Completion,
    Finished,
    LogitsProcessor,
    Sampling,
    Steer,
    Tokenizer,
    Unfinished,
    Working,
)
from engine.lm.sampling import choose, logprobs_of, processed, seeds_array, uniforms
from engine.lm.transformers.capture_hook import capturing, last_column
from engine.lm.transformers.kv_cache import GROWTH, RowKv, RunningKv
from engine.lm.transformers.network import Network, Prefilled
from engine.lm.transformers.prefix_row import PrefixRow, run_pending
from engine.lm.transformers.steering_hook import steering, steering_matrices

ROOM = 8
"""Rows join once an eighth of the batch is free: joining copies the batch."""


@dataclass(frozen=True)
class Kept:
    """Key/values of a continuation, from the last prefix token (steered if it was) up to the last but one:
    the last token was sampled, never fed. `prefix`: the version of the prefix that they continue."""

    prefix: object
    kv: RowKv


@dataclass
class Job:
    """One continuation of `row` to decode. The row is let go when the job is taken up."""

    row: PrefixRow | None
    sampling: Sampling
    seed: int = 0
    steer: Steer | None = None
    keep: bool = False
    continue_from: Completion | None = None
    processor: LogitsProcessor | None = None
    capture_layers: tuple[int, ...] = ()
    capture_after: str | None = None
    begun: Completion | None = None


@dataclass
class _Watch:
    """Jobs that stop or capture at one string, and how many tokens each had when its last segment ended."""

    occurrences: Occurrences
    jobs: NDArray[np.bool_]
    ends: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.ends = np.zeros(len(self.jobs), dtype=np.int64)


class Decoding:
    """Runs jobs to their ends, at most `max_rows` of them at once, taken up in their order. Arrays are indexed by job;
    `slots` holds the job of each row of the device batch."""

    def __init__(
        self,
        network: Network,
        tokenizer: Tokenizer,
        find: Callable[[str], Occurrences],
        jobs: Sequence[Job],
        max_rows: int,
        between: Between,
        finished: Finished,
        unfinished: Unfinished,
    ) -> None:
        """`finished` is called with the number and completion of each job as it ends, `unfinished` with what is under
        way where `between` or `finished` raises."""
        self.network = network
        self.tokenizer = tokenizer
        self.max_rows = max_rows
        self.between = between
        self.mark = object()
        self.finished = finished
        self.unfinished = unfinished
        count = len(jobs)
        self.jobs = jobs
        self.versions = [self._row(job).version for job in range(count)]
        self.last_tokens = np.array([self._row(job).last_token for job in range(count)], dtype=np.int64)
        self.limits = np.array([job.sampling.max_tokens for job in jobs], dtype=np.int64)
        self.temperatures = np.array([job.sampling.temperature for job in jobs], dtype=np.float64)
        self.seeds = seeds_array([job.seed for job in jobs])
        self.tokens = np.zeros((count, max(1, int(self.limits.max(initial=1)))), dtype=np.int64)
        self.logprobs = np.zeros(self.tokens.shape, dtype=np.float32)
        self.counts = np.zeros(count, dtype=np.int64)
        self.alive = self.limits > 0
        self.ended = ["length"] * count
        self.kept: list[Kept | None] = [None] * count
        self.to_capture = np.zeros(count, dtype=bool)
        """Jobs whose newest token ended a segment: its state is read when that token is fed."""
        self.state_ends: list[list[int]] = [[] for _ in jobs]
        self.states: list[list[NDArray[np.float32]]] = [[] for _ in jobs]
        self.capture_layers = sorted({layer for job in jobs for layer in job.capture_layers})
        self.is_eos = np.zeros(network.vocab_size, dtype=bool)
        self.is_eos[[token for token in tokenizer.eos_token_ids if token < network.vocab_size]] = True
        self.watches = self._watches(find)
        self._load_earlier_tokens()
        self.earlier = int(self.counts.sum())
        self.waiting = deque(np.flatnonzero(self.alive | self.to_capture).tolist())
        self.slots = np.zeros(0, dtype=np.int64)
        self.kv = RunningKv.empty(network.layout)
        self.mask: Tensor | None = None
        self.completions: dict[int, Completion] = {}
        self.completed = np.zeros(count, dtype=bool)

    def _watches(self, find: Callable[[str], Occurrences]) -> list[_Watch]:
        requested: dict[str, NDArray[np.bool_]] = {}
        for index, job in enumerate(self.jobs):
            for needle in {job.sampling.stop, job.capture_after if job.capture_layers else None} - {None}:
                assert needle is not None
                requested.setdefault(needle, np.zeros(len(self.jobs), dtype=bool))[index] = True
        return [_Watch(find(needle), jobs) for needle, jobs in sorted(requested.items())]

    def run(self) -> list[Completion]:
        """The completion of each job, in order."""
        try:
            self._decode()
        except BaseException:
            self._leave()
            raise
        return [self.completions[index] for index in range(len(self.jobs))]

    def _decode(self) -> None:
        self._pass_between()
        self._start_waiting()
        self._complete()
        while len(self.slots):
            self._pass_between()
            self._step()
            self._start_waiting()
            self._complete()

    def _leave(self) -> None:
        """Tell of the jobs under way."""
        for job in np.flatnonzero((self.counts > 0) & ~self.completed).tolist():
            self.unfinished(job, self._text(job, "" if self.alive[job] else self.ended[job]))

    def _complete(self) -> None:
        """Note the completions of jobs that have ended, and tell of them."""
        for job in np.flatnonzero(~(self.alive | self.to_capture | self.completed)).tolist():
            self.completed[job] = True
            self.completions[job] = self._completion(job)
            self.finished(job, self.completions[job])

    def working(self) -> Working:
        """How far the decoding is."""
        text = ""
        if len(self.slots):
            job = int(self.slots[0])
            count = int(self.counts[job])
            text = self.tokenizer.decode(self.tokens[job, max(0, count - NEWEST_TOKENS) : count].tolist())
        done = len(self.jobs) - int(self.alive.sum())
        return Working(len(self.jobs), done, int(self.counts.sum()) - self.earlier, text)

    def _pass_between(self) -> None:
        self.between(self.mark, self.working)

    def _load_earlier_tokens(self) -> None:
        for index, job in enumerate(self.jobs):
            earlier = job.begun or job.continue_from
            if earlier is not None:
                count = len(earlier.tokens)
                self.tokens[index, :count] = earlier.tokens
                self.logprobs[index, :count] = earlier.logprobs
                self.counts[index] = count
            if job.begun is not None:
                self._load_begun(index, job.begun)

    def _load_begun(self, index: int, begun: Completion) -> None:
        """The state in which a job was left."""
        self.alive[index], self.ended[index] = not begun.ended, begun.ended
        self.states[index] = [] if begun.states is None else list(begun.states)
        self.state_ends[index] = list(begun.state_ends)
        self.to_capture[index] = len(begun.state_ends) > len(self.states[index])
        for watch in self.watches:
            if begun.state_ends and self.jobs[index].capture_after == watch.occurrences.needle:
                watch.ends[index] = begun.state_ends[-1]

    def _start_waiting(self) -> None:
        """Fill the free rows with waiting jobs, once that is worth a copy of the batch."""
        if not self.waiting or (len(self.slots) and (self.max_rows - len(self.slots)) * ROOM < self.max_rows):
            return
        joining: list[int] = []
        while self.waiting and len(self.slots) + len(joining) < self.max_rows:
            free = self.max_rows - len(self.slots) - len(joining)
            taken = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
            run_pending(self.network, [self._row(job) for job in taken], self.max_rows, self._pass_between)
            self._run_begun([job for job in taken if self.jobs[job].begun is not None])
            self._take_ready_tokens(taken)
            for job in taken:
                if self.alive[job] or self.to_capture[job]:
                    joining.append(job)
                else:
                    self.jobs[job].row = None
        if joining:
            self._join(joining)

    def _join(self, joining: list[int]) -> None:
        spare = int((self.limits - self.counts)[joining].max()) + 1
        self.kv = self.kv.with_rows([self._cached(job) for job in joining], min(spare, GROWTH))
        self.slots = np.concatenate([self.slots, np.array(joining, dtype=np.int64)])
        for job in joining:
            self.jobs[job].row = None
        self.mask = self.network.decode_mask(self.kv)

    def _run_begun(self, jobs: Sequence[int]) -> None:
        """Put rows that end before the newest token in the places of the prefixes, so that the jobs go on there."""
        for job in jobs:
            row, steer = self._row(job), self.jobs[job].steer
            ran = self._ran(job) if steer is None else self._steered(row.last_token, self._ran(job), steer)
            written = self.tokens[job, : self.counts[job] - 1].tolist()
            self.jobs[job].row = PrefixRow(row.last_token, written, ran)
        run_pending(self.network, [self._row(job) for job in jobs], self.max_rows, self._pass_between)

    def _steered(self, last_token: int, ran: Prefilled, steer: Steer) -> Prefilled:
        """A prefix whose last token runs once more, steered."""
        layers = self.network.layers
        with steering(layers, steering_matrices([steer], len(layers), self.network.hidden_size)):
            return self.network.prefill([[last_token]], [ran.kv.part(0, ran.kv.length - 1)])[0]

    def _row(self, job: int) -> PrefixRow:
        row = self.jobs[job].row
        assert row is not None, "it was taken up before"
        return row

    def _ran(self, job: int) -> Prefilled:
        ran = self._row(job).ran
        assert ran is not None, "prefixes run before their jobs are taken up"
        return ran

    def _take_ready_tokens(self, jobs: Sequence[int]) -> None:
        """Choose the first token of new, unsteered jobs: the prefix's own pass computed its logits."""
        ready = [job for job in jobs if not self.counts[job] and self.jobs[job].steer is None]
        if not ready:
            return
        self._accept(np.array(ready), torch.stack([self._ran(job).logits for job in ready]))
        for job in ready:
            if self.jobs[job].keep and not self.alive[job]:
                kv = self._ran(job).kv
                self.kept[job] = Kept(self.versions[job], kv.part(kv.length - 1, kv.length))

    def _cached(self, job: int) -> list[RowKv]:
        """Key/values of all tokens before the token that is fed next."""
        kv, earlier = self._ran(job).kv, self.jobs[job].continue_from
        if earlier is not None:
            assert isinstance(earlier.kept, Kept)
            return [kv.part(0, kv.length - 1), earlier.kept.kv.part(0, int(self.counts[job]))]
        return [kv if self.counts[job] else kv.part(0, kv.length - 1)]

    def _step(self) -> None:
        """Feed each row's newest token, read states, choose the next token, and drop finished rows."""
        if self.kv.used == self.kv.capacity:
            self.kv = self.kv.with_rows([], max(GROWTH, int(self.kv.lengths.max()) // 2))
            self.mask = self.network.decode_mask(self.kv)
        logits = self._forward()
        live = self.alive[self.slots]
        if live.all():
            self._accept(self.slots, logits)
        elif live.any():
            rows = np.flatnonzero(live)
            self._accept(self.slots[rows], logits[torch.from_numpy(rows).to(logits.device)])
        self._keep_finished(live)
        self._retire()

    def _forward(self) -> Tensor:
        inputs = self.tokens[self.slots, np.maximum(self.counts[self.slots] - 1, 0)]
        fresh = self.counts[self.slots] == 0
        steers: list[Steer | None] = []
        if fresh.any():
            # A last prefix token is fed only here, in the first pass of steered jobs.
            inputs = np.where(fresh, self.last_tokens[self.slots], inputs)
            new = zip(self.slots.tolist(), fresh.tolist(), strict=True)
            steers = [self.jobs[job].steer if is_new else None for job, is_new in new]
        captured = np.flatnonzero(self.to_capture[self.slots])
        layers = self.network.layers
        matrices = steering_matrices(steers, len(layers), self.network.hidden_size) if steers else {}
        requested = self.capture_layers if len(captured) else []
        with (
            steering(layers, matrices) if matrices else nullcontext(),
            capturing(layers, requested, last_column) if requested else nullcontext({}) as states,
        ):
            logits = self.network.step(inputs, self.kv, self.mask)
        if requested:
            self._store_states(captured, states)
        return logits

    def _store_states(self, rows: NDArray[np.int64], by_layer: dict[int, Tensor]) -> None:
        index = torch.from_numpy(rows).to(self.network.device)
        states = (
            torch.stack([by_layer[layer][index].float() for layer in self.capture_layers], dim=1)
            .cpu()
            .numpy()
        )
        for state, job in zip(states, self.slots[rows].tolist(), strict=True):
            layers = [self.capture_layers.index(layer) for layer in self.jobs[job].capture_layers]
            self.states[job].append(state[layers])
            self.to_capture[job] = False

    def _accept(self, ids: NDArray[np.int64], logits: Tensor) -> None:
        """Choose the next token of jobs `ids` from their logits (len(ids), vocab) and note which jobs have ended."""
        logits = self._processed(ids, logits)
        temperatures = self.temperatures[ids]
        counts = self.counts[ids]
        draws = uniforms(self.seeds[ids], counts.astype(np.uint64)) if temperatures.any() else None
        chosen = choose(logits, temperatures, draws)
        self.logprobs[ids, counts] = logprobs_of(logits, chosen).cpu().numpy()
        tokens = chosen.cpu().numpy()
        self.tokens[ids, counts] = tokens
        self.counts[ids] = counts + 1
        eos = self.is_eos[tokens]
        self._finish(ids[eos], "eos")
        for watch in self.watches:
            watched = watch.jobs[ids] & ~eos
            if watched.any():
                watched[watched] = watch.occurrences.may_complete(tokens[watched])
                for job in ids[watched].tolist():
                    self._end_segment(watch, job)
        full = (self.counts[ids] >= self.limits[ids]) & self.alive[ids]
        self._finish(ids[full], "length")

    def _processed(self, ids: NDArray[np.int64], logits: Tensor) -> Tensor:
        """The logits as each job's own processor leaves them; jobs with the same one go through it together."""
        processors = {
            id(process): process for i in ids.tolist() if (process := self.jobs[i].processor) is not None
        }
        for process in processors.values():
            rows = [row for row, i in enumerate(ids.tolist()) if self.jobs[i].processor is process]
            written = [self.tokens[i, : self.counts[i]].tolist() for i in ids[rows]]
            if len(rows) == len(ids):
                return processed(process, written, logits)
            logits = logits.clone()
            logits[rows] = processed(process, written, logits[rows])
        return logits

    def _end_segment(self, watch: _Watch, job: int) -> None:
        count = int(self.counts[job])
        if not watch.occurrences.ends_segment(self.tokens[job, watch.ends[job] : count].tolist()):
            return
        watch.ends[job] = count
        needle = watch.occurrences.needle
        if self.jobs[job].capture_layers and self.jobs[job].capture_after == needle:
            self.to_capture[job] = True
            self.state_ends[job].append(count)
        if self.jobs[job].sampling.stop == needle:
            self._finish(np.array([job]), "stop")

    def _finish(self, ids: NDArray[np.int64], how: str) -> None:
        self.alive[ids] = False
        for job in ids.tolist():
            self.ended[job] = how

    def _keep_finished(self, live: NDArray[np.bool_]) -> None:
        """Copy the key/values of rows that have just finished, before further columns are written."""
        for row in np.flatnonzero(live & ~self.alive[self.slots]).tolist():
            job = int(self.slots[row])
            if self.jobs[job].keep:
                start, end = self.kv.used - int(self.counts[job]), self.kv.used
                self.kept[job] = Kept(self.versions[job], self.kv.take(row, start, end))

    def _retire(self) -> None:
        """Drop finished rows."""
        needed = self.alive[self.slots] | self.to_capture[self.slots]
        remaining = int(needed.sum())
        if remaining == len(self.slots):
            return
        self.slots = self.slots[self.kv.leave(needed)]
        self.mask = self.network.decode_mask(self.kv) if remaining else None

    def _completion(self, index: int) -> Completion:
        check_numbers(self.logprobs[index, : self.counts[index]])
        return self._text(index, self.ended[index])

    def _text(self, index: int, ended: str) -> Completion:
        """What is written so far."""
        job = self.jobs[index]
        count = int(self.counts[index])
        tokens: list[int] = self.tokens[index, :count].tolist()
        return Completion(
            tokens=tokens,
            logprobs=self.logprobs[index, :count].tolist(),
            text=self.tokenizer.decode(tokens[:-1] if ended == "eos" else tokens),
            ended=ended,
            states=self._captured(index) if job.capture_layers else None,
            state_ends=self.state_ends[index],
            kept=self.kept[index],
        )

    def _captured(self, index: int) -> NDArray[np.float32]:
        shape = (len(self.states[index]), len(self.jobs[index].capture_layers), self.network.hidden_size)
        return np.array(self.states[index], dtype=np.float32).reshape(shape)


def numbered(report: Finished, numbers: Sequence[int]) -> Finished:
    """`report`, with `numbers[job]` in place of a job's number."""
    return lambda job, text: report(numbers[job], text)
