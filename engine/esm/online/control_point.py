"""One answer's way through one control point: retrieve, probe, choose, commit (spec ESM 6.3 to 6.10).

`Decider` says what is to be decoded at each step; who decodes, and with whom together, is another's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm.online.decide import Choice, Hit, Probe, Retrieval, always, choose
from engine.esm.online.forced import Forced
from engine.esm.online.variants import Variant
from engine.events import DecisionTaken
from engine.lm.protocol import Branch, Completion, LogitsProcessor, Sampling, Steer
from engine.seeds import derive_seed

PROBE_SCALE = 1.0
"""Probes inject at unit strength (spec ESM 6.7)."""


@dataclass
class Answer:
    """What one example has so far. Token counts as in spec ESM 6.2."""

    example: str
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    probe_tokens: int = 0
    steered: int = 0
    decisions: list[DecisionTaken] = field(default_factory=list)
    ended: bool = False


@dataclass
class Plan:
    """One row's way through one control point."""

    row: int
    retrieval: Retrieval
    candidates: list[Hit] = field(default_factory=list)
    probes: list[Completion] = field(default_factory=list)
    null_probe: Completion | None = None
    choice: Choice | None = None
    forced: Forced | None = None

    @property
    def steer(self) -> Steer | None:
        """What is injected when the segment is committed."""
        if self.forced is not None:
            return self.forced.steer
        if self.choice is None or self.choice.index is None:
            return None
        return _steer(self.candidates[self.choice.index], self.choice.alpha)

    @property
    def probe_tokens(self) -> int:
        """Of null's probe and the candidates'."""
        null = len(self.null_probe.tokens) if self.null_probe else 0
        return null + sum(len(probe.tokens) for probe in self.probes)


@dataclass(frozen=True)
class Decider:
    """The rules of one variant. `budget`: most tokens of an answer; `points`: control points before its tail;
    `processor`: changes the logits of everything that is decoded, probes included; `committing`: in its place for what
    is committed, and for the greedy probe that null's segment goes on from."""

    variant: Variant
    online: OnlineSection
    points: int
    delimiter: str
    budget: int
    temperature: float
    seed: int
    processor: LogitsProcessor | None = None
    committing: LogitsProcessor | None = None

    @classmethod
    def of(cls, config: Config, variant: Variant) -> Decider:
        """As the configuration says."""
        points, decode = config.control_points, config.decode
        return cls(
            variant, variant.online or config.online, points.M, points.segment_delimiter, decode.max_new_tokens,
            decode.temperature, config.run.seed,
        )  # fmt: skip

    def closed(self, m: int) -> str | None:
        """The gate that keeps memory out at control point `m` whatever it holds; None where it may be asked."""
        if m == 1:
            return "first_segment"
        if self.variant.retrieve is None:
            return "no_memory"
        last = self.online.max_tool_m
        return "tool_range" if m < self.online.min_tool_m or (last is not None and m > last) else None

    def plan(self, row: int, m: int, state: NDArray[np.float32] | None) -> Plan:
        """What memory offers. `state`: (len(variant.layers), hidden_size), None where it is not needed."""
        if state is None or self.variant.retrieve is None:
            return Plan(row, Retrieval(self.closed(m)))
        retrieval = self.variant.retrieve(m, state)
        return Plan(row, retrieval, retrieval.candidates(self.online.L) if retrieval.gate is None else [])

    def probes(self, plan: Plan) -> list[Branch]:
        """L + 1 short continuations: null, which is kept, and every candidate at unit strength. None where nothing is
        probed."""
        if not self.variant.probing or self.online.probe_tokens == 0 or not plan.candidates:
            return []
        sampling, under = Sampling(self.online.probe_tokens), self.processor
        greedy = self.temperature == 0
        null = Branch(plan.row, sampling, keep=greedy, processor=self._committing if greedy else under)
        steers = [_steer(hit, PROBE_SCALE) for hit in plan.candidates]
        return [null, *(Branch(plan.row, sampling, steer, processor=under) for steer in steers)]

    def take_probes(self, plan: Plan, answer: Answer, results: Iterator[Completion]) -> None:
        """Note what `probes` gave."""
        plan.null_probe = next(results)
        plan.probes = [next(results) for _ in plan.candidates]
        answer.probe_tokens += plan.probe_tokens

    def decide(self, plan: Plan, m: int, forced: Forced | None = None) -> None:
        """Choose. `forced`: what is done instead, if it holds at `m`."""
        if plan.candidates and self.variant.strength is not None:
            plan.choice = always(self.variant.strength)
        elif plan.candidates:
            null = plan.null_probe
            probe = Probe([p.mean_logprob for p in plan.probes], null.mean_logprob) if null else None
            plan.choice = choose(plan.candidates, plan.retrieval.null_ahat(), probe, self.online)
        plan.forced = forced if forced is not None and forced.at(m) else None

    def commit(self, plan: Plan, answer: Answer, m: int) -> Branch:
        """The segment that counts. When null wins greedily it goes on from null's own probe."""
        null = self.null_segment(plan, answer, m)
        if plan.steer is None:
            return replace(null, keep=True)
        return replace(null, steer=plan.steer, continue_from=None, keep=self.online.carry_steering)

    def null_segment(self, plan: Plan, answer: Answer, m: int) -> Branch:
        """What null would commit."""
        return Branch(
            plan.row,
            self.sampling(answer, self.delimiter),
            seed=derive_seed(self.seed, "commit", answer.example, m),
            continue_from=plan.null_probe if self.temperature == 0 else None,
            processor=self._committing,
        )

    def tail(self, row: int, answer: Answer) -> Branch:
        """What is left of the budget after the control points: no delimiter, no steering (spec ESM 6.10)."""
        seed = derive_seed(self.seed, "tail", answer.example)
        return Branch(row, self.sampling(answer, None), seed=seed, processor=self._committing)

    @property
    def _committing(self) -> LogitsProcessor | None:
        return self.committing or self.processor

    def sampling(self, answer: Answer, stop: str | None) -> Sampling:
        """With what is left of the budget."""
        return Sampling(self.budget - len(answer.tokens), self.temperature, stop)


def _steer(hit: Hit, scale: float) -> Steer:
    assert hit.entry.vector is not None
    return Steer(hit.entry.vector, hit.entry.layer, scale)
