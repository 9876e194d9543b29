"""The online controller: segment by segment, retrieval, probing, steering (spec ESM 6).

A batch of examples advances together: at control point m all of them, whatever their lengths, are queried,
probed and committed in one call each. Every segment starts from an unsteered prefix unless
`online.carry_steering` keeps the steered key/values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm.decide import Choice, Hit, Probe, Retrieval, always, choose
from engine.esm.forced import Forced
from engine.esm.variants import Variant
from engine.events import Candidate, DecisionTaken
from engine.lm.protocol import Branch, Completion, LanguageModel, Prefixes, Sampling, Steer
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
class _Plan:
    """One row's way through one control point."""

    row: int
    retrieval: Retrieval
    candidates: list[Hit] = field(default_factory=list)
    probes: list[Completion] = field(default_factory=list)
    null_probe: Completion | None = None
    choice: Choice | None = None
    forced: Forced | None = None

    @property
    def chosen(self) -> Hit | None:
        if self.choice is None or self.choice.index is None:
            return None
        return self.candidates[self.choice.index]

    @property
    def steer(self) -> Steer | None:
        """What is injected when the segment is committed."""
        if self.forced is not None:
            return self.forced.steer
        hit = self.chosen
        return _steer(hit, self.choice.alpha) if hit is not None and self.choice is not None else None


class Controller:
    """Decodes answers with one variant. `model` and `config` stay as they are."""

    def __init__(self, model: LanguageModel, config: Config, variant: Variant) -> None:
        self.model = model
        self.variant = variant
        self.online: OnlineSection = variant.online or config.online
        self.decode = config.decode
        self.points = config.control_points
        self.seed = config.run.seed

    def run(
        self,
        examples: Sequence[str],
        prompts: Sequence[Sequence[int]],
        forced: Mapping[int, Forced] | None = None,
    ) -> list[Answer]:
        """One answer a prompt. `examples` are ids: they seed sampling and name the decisions. `forced`: by row, what
        is done instead of the controller's choice."""
        answers = [Answer(example) for example in examples]
        prefixes = self.model.open(prompts)
        for m in range(1, self.points.M + 1):
            rows = self._active(answers)
            if not rows:
                break
            self._segment(prefixes, answers, rows, m, forced or {})
        rows = self._active(answers)
        if rows:
            self._tail(prefixes, answers, rows)
        prefixes.close(range(len(prompts)))
        return answers

    def _active(self, answers: Sequence[Answer]) -> list[int]:
        budget = self.decode.max_new_tokens
        return [row for row, a in enumerate(answers) if not a.ended and len(a.tokens) < budget]

    def _segment(
        self,
        prefixes: Prefixes,
        answers: list[Answer],
        rows: list[int],
        m: int,
        forced: Mapping[int, Forced],
    ) -> None:
        plans = self._plans(prefixes, rows, m)
        self._probe(prefixes, plans, answers, m)
        for plan in plans:
            if plan.candidates and self.variant.strength is not None:
                plan.choice = always(self.variant.strength)
            elif plan.candidates:
                probe = (
                    Probe([p.mean_logprob for p in plan.probes], plan.null_probe.mean_logprob)
                    if (plan.null_probe)
                    else None
                )
                plan.choice = choose(plan.candidates, plan.retrieval.null_ahat(), probe, self.online)
            instead = forced.get(plan.row)
            plan.forced = instead if instead is not None and instead.at(m) else None
        committed = prefixes.branch([self._commit(plan, answers[plan.row], m) for plan in plans])
        nulls = self._null_segments(prefixes, plans, answers, m)
        for plan, completion in zip(plans, committed, strict=True):
            self._record(answers[plan.row], plan, completion, m, nulls.get(plan.row))
            prefixes.extend(plan.row, completion)

    def _plans(self, prefixes: Prefixes, rows: list[int], m: int) -> list[_Plan]:
        gate = self._closed(m)
        if gate or self.variant.retrieve is None:
            return [_Plan(row, Retrieval(gate)) for row in rows]
        states: NDArray[np.float32] = prefixes.states(rows, self.variant.layers)
        plans: list[_Plan] = []
        for row, state in zip(rows, states, strict=True):
            retrieval = self.variant.retrieve(m, state)
            candidates = retrieval.candidates(self.online.L) if retrieval.gate is None else []
            plans.append(_Plan(row, retrieval, candidates))
        return plans

    def _closed(self, m: int) -> str | None:
        if m == 1:
            return "first_segment"
        if self.variant.retrieve is None:
            return "no_memory"
        last = self.online.max_tool_m
        return "tool_range" if m < self.online.min_tool_m or (last is not None and m > last) else None

    def _probe(self, prefixes: Prefixes, plans: list[_Plan], answers: list[Answer], m: int) -> None:
        """L + 1 short continuations a row: every candidate at unit strength, and null, which is kept."""
        if not self.variant.probing or self.online.probe_tokens == 0:
            return
        sampling = Sampling(self.online.probe_tokens)
        probed = [plan for plan in plans if plan.candidates]
        branches: list[Branch] = []
        for plan in probed:
            branches.append(Branch(plan.row, sampling, keep=self.decode.temperature == 0))
            branches.extend(
                Branch(plan.row, sampling, steer=_steer(hit, PROBE_SCALE)) for hit in plan.candidates
            )
        results = iter(prefixes.branch(branches) if branches else [])
        for plan in probed:
            plan.null_probe = next(results)
            plan.probes = [next(results) for _ in plan.candidates]
            answers[plan.row].probe_tokens += _probe_tokens(plan)

    def _commit(self, plan: _Plan, answer: Answer, m: int) -> Branch:
        """The segment that counts. When null wins greedily it goes on from null's own probe."""
        sampling = self._sampling(answer, self.points.segment_delimiter)
        seed = derive_seed(self.seed, "commit", answer.example, m)
        if plan.steer is not None:
            return Branch(plan.row, sampling, plan.steer, seed, keep=self.online.carry_steering)
        earlier = plan.null_probe if self.decode.temperature == 0 else None
        return Branch(plan.row, sampling, seed=seed, continue_from=earlier, keep=True)

    def _null_segments(
        self, prefixes: Prefixes, plans: list[_Plan], answers: list[Answer], m: int
    ) -> dict[int, str]:
        """What null would have committed at steered points, if asked for (counted in no budget)."""
        steered = [plan for plan in plans if plan.steer is not None] if self.online.record_null else []
        branches = [
            Branch(
                plan.row,
                self._sampling(answers[plan.row], self.points.segment_delimiter),
                seed=derive_seed(self.seed, "commit", answers[plan.row].example, m),
                continue_from=plan.null_probe if self.decode.temperature == 0 else None,
            )
            for plan in steered
        ]
        texts = [completion.text for completion in prefixes.branch(branches)] if branches else []
        return {plan.row: text for plan, text in zip(steered, texts, strict=True)}

    def _tail(self, prefixes: Prefixes, answers: list[Answer], rows: list[int]) -> None:
        """What is left of the budget after M segments: no delimiter, no steering (spec ESM 6.10)."""
        seeds = [derive_seed(self.seed, "tail", answers[row].example) for row in rows]
        branches = [
            Branch(row, self._sampling(answers[row], None), seed=seed)
            for row, seed in zip(rows, seeds, strict=True)
        ]
        for row, completion in zip(rows, prefixes.branch(branches), strict=True):
            plan = _Plan(row, Retrieval("tail"))
            self._record(answers[row], plan, completion, self.points.M + 1, None, phase="tail")
            answers[row].ended = True

    def _sampling(self, answer: Answer, stop: str | None) -> Sampling:
        left = self.decode.max_new_tokens - len(answer.tokens)
        return Sampling(left, self.decode.temperature, stop)

    def _record(
        self,
        answer: Answer,
        plan: _Plan,
        done: Completion,
        m: int,
        null_segment: str | None,
        phase: str = "segment",
    ) -> None:
        answer.decisions.append(describe(self.variant.name, answer, plan, done, m, null_segment, phase))
        answer.tokens.extend(done.tokens)
        answer.text += done.text
        answer.steered += plan.steer is not None
        answer.ended = done.ended != "stop"


def _steer(hit: Hit, scale: float) -> Steer:
    assert hit.entry.vector is not None
    return Steer(hit.entry.vector, hit.entry.layer, scale)


def _probe_tokens(plan: _Plan) -> int:
    return sum(len(p.tokens) for p in plan.probes) + (len(plan.null_probe.tokens) if plan.null_probe else 0)


def describe(
    method: str, answer: Answer, plan: _Plan, done: Completion, m: int, null_segment: str | None, phase: str
) -> DecisionTaken:
    """The decision as an event: everything that was weighed, and what came of it."""
    choice, hit, retrieval = plan.choice, plan.chosen, plan.retrieval
    null = plan.null_probe
    gate = choice.gate if choice else (retrieval.gate or "no_candidates")
    chosen_probe = plan.probes[choice.index] if choice and choice.index is not None and plan.probes else None
    taken = DecisionTaken(
        method=method,
        example=answer.example,
        m=m,
        phase=phase,
        gate=gate,
        memory_size=retrieval.size,
        top_similarity=retrieval.top_similarity,
        best_ahat=plan.candidates[0].ahat if plan.candidates else None,
        null_ahat=retrieval.null_ahat() if retrieval.hits else None,
        null_logprob=null.mean_logprob if null else None,
        null_score=choice.null_score if choice else None,
        null_probe=null.text if null else "",
        candidates=_candidates(plan),
        chosen=hit.entry.tool_name if hit else None,
        layer=hit.entry.layer if hit else None,
        delta_logprob=chosen_probe.mean_logprob - null.mean_logprob if chosen_probe and null else None,
        score=choice.scores[choice.index] if choice and choice.index is not None else None,
        alpha=choice.alpha if choice else 0.0,
        tokens_before=len(answer.tokens),
        committed_tokens=len(done.tokens),
        probe_tokens=_probe_tokens(plan),
        ended=done.ended,
        prefix=answer.text,
        segment=done.text,
        null_segment=null_segment,
    )
    return taken if plan.forced is None else _as_forced(taken, plan.forced)


def _as_forced(taken: DecisionTaken, forced: Forced) -> DecisionTaken:
    """What was weighed stays as it was; what was done is another's choice."""
    steer = forced.steer
    return replace(
        taken,
        gate="forced",
        chosen=forced.name,
        layer=steer.layer if steer else None,
        alpha=steer.scale if steer else 0.0,
        delta_logprob=None,
        score=None,
    )


def _candidates(plan: _Plan) -> list[Candidate]:
    """The candidates with their probes, then the other retrieved entries by similarity."""
    probed = {id(hit): i for i, hit in enumerate(plan.candidates)}
    rest = [hit for hit in plan.retrieval.hits if id(hit) not in probed]
    return [_candidate(plan, hit, probed.get(id(hit))) for hit in [*plan.candidates, *rest]]


def _candidate(plan: _Plan, hit: Hit, index: int | None) -> Candidate:
    probe = plan.probes[index] if index is not None and plan.probes else None
    null = plan.null_probe
    return Candidate(
        entry=hit.entry.tool_name,
        kind=hit.entry.kind,
        similarity=hit.similarity,
        quality=hit.entry.quality,
        ahat=hit.ahat,
        layer=hit.entry.layer,
        source=hit.entry.source,
        probed=probe is not None,
        logprob=probe.mean_logprob if probe else None,
        delta_logprob=probe.mean_logprob - null.mean_logprob if probe and null else None,
        score=plan.choice.scores[index] if plan.choice and index is not None else None,
        probe_text=probe.text if probe else "",
        probe_tokens=len(probe.tokens) if probe else 0,
    )
