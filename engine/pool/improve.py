"""Improves a query: commits or refuses mined pairs, injects their rows, selects the final trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from numpy.typing import NDArray

from engine.events import PoolTrajectory
from engine.pool.candidate_pool_injector import CandidatePoolInjector, PoolInjection, pointing
from engine.pool.data.records import RLQueryData, TrajectoryData
from engine.pool.global_positive_miner import by_worth
from engine.pool.trajectory_quality_controller import (
    COMMITS,
    NEVER_SCORED,
    REFUSED_BY,
    TrajectoryQualityController,
    is_partial,
    is_positive,
)
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, RowPair

TRANSFER = "global_positive_transfer"
"""`gen_method` of mined trajectories."""
GIVEN, COMMITTED, REFUSED = "given", "committed", "refused"
NOT_IN_POOL, NO_PLACE, LOST = ("wrong, and not in the pool", "no place left", "its candidate was replaced")


@dataclass(frozen=True)
class Improved:
    """`query` with its final pool and trajectories; without trajectories if none was scored and given or committed.

    An oracle is the best known score of any pair within a pool: `oracle_before` of the data's own pairs,
    `oracle_after` of all in the pool after injection.
    """

    query: RLQueryData
    injection: PoolInjection
    verdicts: list[PoolTrajectory]
    oracle_before: float
    oracle_after: float


@dataclass
class _CommitPlan:
    """Mined trajectories to commit, in order, and the rows they bring; each mined pair's rule."""

    committed: dict[RowPair, TrajectoryData] = field(default_factory=dict)
    rules: dict[RowPair, str] = field(default_factory=dict)
    coming: list[int] = field(default_factory=list)


def improve(
    query: RLQueryData,
    mined: Sequence[EvaluatedPair],
    query_embedding: NDArray[Any],
    controller: TrajectoryQualityController,
    injector: CandidatePoolInjector,
) -> Improved:
    """Add to the normalised `query` each mined pair that improves it, and select its trajectories."""
    plan = _plan(query, mined, controller, injector)
    given = query.pointer_candidates
    chosen = controller.choose([*given, *plan.committed.values()])
    stays = {row for trajectory in chosen for row in trajectory.rows}
    injection = injector.inject_positives(
        msgspec.structs.replace(query, pointer_candidates=[]),
        [row for row in plan.coming if row in stays],
        query_embedding,
        keep=stays,
    )
    pool = injection.query.candidate_pool_indices
    scores = {evaluated.pair: evaluated.score for evaluated in mined if evaluated.score is not None}
    refused = [
        msgspec.structs.replace(transferred(pair, score), extra={REFUSED_BY: plan.rules[pair]})
        for pair, score in scores.items()
        if pair not in plan.committed
    ]
    inside = [trajectory for trajectory in refused if set(pool).issuperset(trajectory.rows)]
    selected = controller.select_final_trajectories(chosen, inside)
    final = msgspec.structs.replace(
        injection.query, pointer_candidates=[pointing(old, old.rows, pool) for old in selected]
    )
    known = {trajectory.rows: trajectory.vqa_acc_score for trajectory in given if not trajectory.failed}
    return Improved(
        query=final,
        injection=injection,
        verdicts=_verdicts(query, mined, plan, final),
        oracle_before=oracle(query.candidate_pool_indices, known),
        oracle_after=oracle(pool, known | scores),
    )


def oracle(pool: Iterable[int], scores: Mapping[RowPair, float]) -> float:
    """oracle@64: the best known score of a pair within the pool; 0 without any."""
    inside = set(pool)
    return max((score for pair, score in scores.items() if inside.issuperset(pair)), default=0.0)


def transferred(pair: RowPair, score: float) -> TrajectoryData:
    """A mined pair as a trajectory without pointers into a pool."""
    return TrajectoryData(
        pointer=[],
        pointer_global=list(pair),
        vqa_correct=int(is_positive(score)),
        vqa_acc_score=score,
        gen_method=TRANSFER,
    )


def _plan(
    query: RLQueryData,
    mined: Sequence[EvaluatedPair],
    controller: TrajectoryQualityController,
    injector: CandidatePoolInjector,
) -> _CommitPlan:
    """Decides on pairs in the order of their worth."""
    plan, pool = _CommitPlan(), query.candidate_pool_indices
    inside = set(pool)
    current = list(query.pointer_candidates)
    stays = {row for trajectory in controller.choose(current) for row in trajectory.rows}
    plan.rules.update({evaluated.pair: NEVER_SCORED for evaluated in mined if evaluated.score is None})
    for pair, score in by_worth(mined, inside):
        trajectory = transferred(pair, score)
        rule = controller.rule(current, trajectory)
        plan.rules[pair] = rule
        if rule not in COMMITS:
            continue
        coming = [*plan.coming, *(row for row in pair if row not in inside and row not in plan.coming)]
        worth_a_place = is_positive(score) or is_partial(score)
        if len(coming) > len(plan.coming) and not worth_a_place:
            plan.rules[pair] = NOT_IN_POOL
        elif not injector.fits(pool, stays.union(pair), coming):
            plan.rules[pair] = NO_PLACE
        else:
            stays.update(pair)
            plan.coming = coming
            plan.committed[pair] = trajectory
            current.append(trajectory)
    return plan


def _verdicts(
    query: RLQueryData, mined: Sequence[EvaluatedPair], plan: _CommitPlan, final: RLQueryData
) -> list[PoolTrajectory]:
    """Verdicts on given trajectories, then on mined pairs in rank order."""
    kept = Counter(trajectory.rows for trajectory in final.pointer_candidates)
    inside = set(final.candidate_pool_indices)
    verdicts: list[PoolTrajectory] = []
    for given in query.pointer_candidates:
        pair = given.rows
        rule = NEVER_SCORED if given.failed else "" if inside.issuperset(pair) else LOST
        score, count = (None, 0) if given.failed else (given.vqa_acc_score, kept[pair])
        origin = given.gen_method
        verdicts.append(
            PoolTrajectory(pair=pair, score=score, origin=origin, verdict=GIVEN, rule=rule, kept=count)
        )
    for new in mined:
        verdict = COMMITTED if new.pair in plan.committed else REFUSED
        verdicts.append(
            PoolTrajectory(
                pair=new.pair, score=new.score, origin=TRANSFER, verdict=verdict, rule=plan.rules[new.pair],
                kept=kept[new.pair], answer=new.answer or "",
            )
        )  # fmt: skip
    return verdicts
