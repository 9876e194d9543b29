"""One query: what mining found is committed or refused, injected, and cut to the wanted number of trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from numpy.typing import NDArray

from engine.pool.candidate_pool_injector import CandidatePoolInjector, Injection, pointing
from engine.pool.data.records import RLQueryData, TrajectoryData
from engine.pool.trajectory_quality_controller import (
    COMMITS,
    NEVER_SCORED,
    TrajectoryQualityController,
    is_partial,
    is_positive,
)
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, Pair

TRANSFER = "global_positive_transfer"
"""`gen_method` of what was mined."""
GIVEN, COMMITTED, REFUSED = "given", "committed", "refused"
WRONG_OUTSIDE, NO_PLACE, LOST = "wrong, and not in the pool", "no place left", "its candidate was replaced"


@dataclass(frozen=True)
class Verdict:
    """What became of a trajectory. `verdict`: given, committed or refused, by `rule`; `kept`: how often it stands in
    the final data; `score` None: never scored."""

    pair: Pair
    score: float | None
    origin: str
    verdict: str
    rule: str = ""
    kept: int = 0
    answer: str = ""


@dataclass(frozen=True)
class Improved:
    """`query`: with its final pool and trajectories, of which there are none where nothing was ever scored.

    Oracles are the best score known, at the end, of any pair within a pool: `oracle_before` of those that came with
    the data, `oracle_inside` of all in the pool before injection, `oracle_after` of all in the pool after it.
    """

    query: RLQueryData
    injection: Injection
    verdicts: list[Verdict]
    oracle_before: float
    oracle_inside: float
    oracle_after: float


@dataclass
class _Plan:
    """What is committed, in order, and the rows it brings; why the others are refused."""

    committed: dict[Pair, TrajectoryData] = field(default_factory=dict)
    rules: dict[Pair, str] = field(default_factory=dict)
    coming: list[int] = field(default_factory=list)


def improve(
    query: RLQueryData,
    mined: Sequence[EvaluatedPair],
    query_embedding: NDArray[Any],
    controller: TrajectoryQualityController,
    injector: CandidatePoolInjector,
) -> Improved:
    """Take in what `mined` improves on the normalised `query`, and settle on its trajectories."""
    plan = _plan(query, mined, controller, injector)
    given = query.pointer_candidates
    chosen = controller.choose([*given, *plan.committed.values()])
    stays = {row for one in chosen for row in rows(one)}
    injection = injector.inject_positives(
        msgspec.structs.replace(query, pointer_candidates=[]),
        [row for row in plan.coming if row in stays],
        query_embedding,
        keep=stays,
    )
    pool = injection.query.candidate_pool_indices
    refused = [transferred(one) for one in mined if one.score is not None and one.pair not in plan.committed]
    reserve = [one for one in refused if set(pool).issuperset(rows(one))]
    selected = controller.select_final_trajectories(chosen, reserve)
    final = msgspec.structs.replace(
        injection.query, pointer_candidates=[pointing(one, rows(one), pool) for one in selected]
    )
    known = {rows(one): one.vqa_acc_score for one in given if not one.failed}
    all_known = known | {one.pair: one.score for one in mined if one.score is not None}
    return Improved(
        query=final,
        injection=injection,
        verdicts=_verdicts(query, mined, plan, final),
        oracle_before=oracle(query.candidate_pool_indices, known),
        oracle_inside=oracle(query.candidate_pool_indices, all_known),
        oracle_after=oracle(pool, all_known),
    )


def oracle(pool: Iterable[int], scores: Mapping[Pair, float]) -> float:
    """oracle@64: the best score known of a pair within the pool; 0 where none is known."""
    inside = set(pool)
    return max((score for pair, score in scores.items() if inside.issuperset(pair)), default=0.0)


def transferred(one: EvaluatedPair) -> TrajectoryData:
    """A mined pair as a trajectory that has no place in a pool yet."""
    score = one.score or 0.0
    return TrajectoryData(
        pointer=[],
        pointer_global=list(one.pair),
        vqa_correct=int(is_positive(score)),
        vqa_acc_score=score,
        gen_method=TRANSFER,
    )


def rows(one: TrajectoryData) -> Pair:
    """The rows it points to: `pointer_global`, which normalised trajectories have."""
    if one.pointer_global is None:
        raise ValueError("the query is not normalised")
    first, second = one.pointer_global
    return first, second


def _plan(
    query: RLQueryData,
    mined: Sequence[EvaluatedPair],
    controller: TrajectoryQualityController,
    injector: CandidatePoolInjector,
) -> _Plan:
    """Best scores first; of equals those that need fewer new candidates, then those ranked first."""
    plan, pool = _Plan(), query.candidate_pool_indices
    inside = set(pool)
    current = list(query.pointer_candidates)
    stays = {row for one in controller.choose(current) for row in rows(one)}
    scored = [one for one in mined if one.score is not None]
    plan.rules.update({one.pair: NEVER_SCORED for one in mined if one.score is None})
    for one in sorted(scored, key=lambda one: (-(one.score or 0.0), len(set(one.pair) - inside))):
        trajectory = transferred(one)
        rule = controller.rule(current, trajectory)
        plan.rules[one.pair] = rule
        if rule not in COMMITS:
            continue
        coming = [*plan.coming, *(row for row in one.pair if row not in inside and row not in plan.coming)]
        worth_a_place = is_positive(trajectory.vqa_acc_score) or is_partial(trajectory.vqa_acc_score)
        if len(coming) > len(plan.coming) and not worth_a_place:
            plan.rules[one.pair] = WRONG_OUTSIDE
        elif not injector.fits(pool, stays.union(one.pair), coming):
            plan.rules[one.pair] = NO_PLACE
        else:
            stays.update(one.pair)
            plan.coming = coming
            plan.committed[one.pair] = trajectory
            current.append(trajectory)
    return plan


def _verdicts(
    query: RLQueryData, mined: Sequence[EvaluatedPair], plan: _Plan, final: RLQueryData
) -> list[Verdict]:
    """Given ones first, then mined ones in rank order."""
    kept = Counter(map(rows, final.pointer_candidates))
    inside = set(final.candidate_pool_indices)
    found: list[Verdict] = []
    for one in query.pointer_candidates:
        pair, origin = rows(one), one.gen_method
        if one.failed:
            found.append(Verdict(pair, None, origin, GIVEN, NEVER_SCORED))
        else:
            rule = "" if inside.issuperset(pair) else LOST
            found.append(Verdict(pair, one.vqa_acc_score, origin, GIVEN, rule, kept[pair]))
    for one in mined:
        verdict, rule = COMMITTED if one.pair in plan.committed else REFUSED, plan.rules[one.pair]
        found.append(Verdict(one.pair, one.score, TRANSFER, verdict, rule, kept[one.pair], one.answer or ""))
    return found
