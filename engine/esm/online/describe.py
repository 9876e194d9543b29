"""A decision as an event: everything that was weighed, and what came of it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.esm.online.control_point import Answer, Plan
from engine.esm.online.decide import Hit
from engine.esm.online.forced import Forced
from engine.events import Candidate, DecisionTaken
from engine.lm.protocol import Completion


def describe(
    method: str, answer: Answer, plan: Plan, done: Completion, m: int, null_segment: str | None, phase: str
) -> DecisionTaken:
    """The decision of `plan`, whose segment is `done`, in `answer` as it was before."""
    choice, retrieval, null = plan.choice, plan.retrieval, plan.null_probe
    candidates = _candidates(plan)
    chosen = candidates[choice.index] if choice and choice.index is not None else None
    figures: dict[str, Any] = {
        name: getattr(chosen, name, None) for name in ("layer", "logprob", "delta_logprob", "score")
    }
    taken = DecisionTaken(
        method=method,
        example=answer.example,
        m=m,
        phase=phase,
        gate=choice.gate if choice else (retrieval.gate or "no_candidates"),
        memory_size=retrieval.size,
        top_similarity=retrieval.top_similarity,
        best_ahat=plan.candidates[0].ahat if plan.candidates else None,
        null_ahat=retrieval.null_ahat() if retrieval.hits else None,
        null_logprob=null.mean_logprob if null else None,
        null_score=choice.null_score if choice else None,
        null_probe=null.text if null else "",
        candidates=candidates,
        chosen=chosen.entry if chosen else None,
        **figures,
        alpha=choice.alpha if choice else 0.0,
        tokens_before=len(answer.tokens),
        committed_tokens=len(done.tokens),
        probe_tokens=plan.probe_tokens,
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
        logprob=None,
        delta_logprob=None,
        score=None,
    )


def _candidates(plan: Plan) -> list[Candidate]:
    """The candidates with their probes, then the other retrieved entries by similarity."""
    probed = {id(hit): i for i, hit in enumerate(plan.candidates)}
    rest = [hit for hit in plan.retrieval.hits if id(hit) not in probed]
    return [_candidate(plan, hit, probed.get(id(hit))) for hit in [*plan.candidates, *rest]]


def _candidate(plan: Plan, hit: Hit, index: int | None) -> Candidate:
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
        name=hit.entry.name,
    )
