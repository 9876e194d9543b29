"""Settles a query of stage `pool`: normalises, mines and improves its pool and trajectories (spec Pool 2 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from engine.config.pool import PoolSection
from engine.events import PoolQueryDone, without_envelope
from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.dataset import PoolDataset
from engine.pool.data.records import RLQueryData, query_record
from engine.pool.data.shown_query import shown_query
from engine.pool.global_positive_miner import GlobalPositiveMiner
from engine.pool.improve import Improved, improve
from engine.pool.normalise import Normalised, normalise
from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import TrajectoryQualityController, is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator
from engine.pool.vqa.vqa import VQAModel
from engine.run.stage import StageContext

UNKNOWN, NOT_FINITE, NOTHING = (
    "unknown to the data set",
    "embedding not finite",
    "no scored trajectory was given or committed",
)


class DecisionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of decisions.jsonl: the event's fields and the query, or why it is left out."""

    query_id: str
    left_out: str = ""
    decision: dict[str, Any] | None = None
    query: dict[str, Any] | None = None


def normalised(
    query: RLQueryData, dataset: PoolDataset, nearest: Sequence[int], controller: TrajectoryQualityController
) -> Normalised:
    """The query with its pool brought to size."""
    name = query.name
    embedding = dataset.query_embedding(name)
    return normalise(query, dataset.embeddings, embedding, nearest, controller.ranked, dataset.excluded(name))


def make_controller(section: PoolSection) -> TrajectoryQualityController:
    """The controller, as configured."""
    return TrajectoryQualityController(
        section.target_trajectory_count,
        section.positive_quota,
        section.partial_quota,
        fill_with_refused=section.fill_with_refused,
    )


def unusable(dataset: PoolDataset, query_id: str, nearest: Sequence[int] | None) -> str:
    """Why a query cannot be settled; "" if it can."""
    if nearest is None:
        return UNKNOWN
    return "" if np.isfinite(dataset.query_embedding(query_id)).all() else NOT_FINITE


class QueryMiner:
    """Settles queries one after the other, each on its own."""

    def __init__(
        self, context: StageContext, dataset: PoolDataset, model: VQAModel, evaluator: PairEvaluator
    ) -> None:
        self.context = context
        self.section = section = context.config.pool
        self.dataset = dataset
        self.controller = make_controller(section)
        self.injector = CandidatePoolInjector(dataset.embeddings, section.max_inject_per_query)
        self.miner = GlobalPositiveMiner(
            dataset.embeddings,
            model,
            dataset,
            section.search_top_k,
            section.max_eval_pairs,
            batch_size=section.batch_size,
            evaluator=evaluator,
        )

    def settle(self, data: RLQueryData, nearest: list[int] | None) -> DecisionLine:
        """The query's line for decisions.jsonl; also logs the decision. `nearest`: rows by falling similarity, None if
        the data set lacks the query."""
        name = data.name
        if nearest is None or unusable(self.dataset, name, nearest):
            return DecisionLine(query_id=name, left_out=unusable(self.dataset, name, nearest))
        normal = normalised(data, self.dataset, nearest, self.controller)
        known = frozenset(
            normal.query.pair(given) for given in normal.query.pointer_candidates if not given.failed
        )
        mined = self.miner.evaluate_pairs(name, nearest, known, self.context.checkpoint)
        embedding = self.dataset.query_embedding(name)
        improved = improve(normal.query, mined, embedding, self.controller, self.injector)
        if not improved.query.pointer_candidates:
            return DecisionLine(query_id=name, left_out=NOTHING)
        event = self._event(len(data.candidate_pool_indices), normal, mined, improved)
        # Before the line: a kill in between logs a query twice rather than never.
        self.context.emit(event)
        return DecisionLine(
            query_id=name, decision=without_envelope(event), query=query_record(improved.query)
        )

    def _event(
        self, given: int, normal: Normalised, mined: Sequence[EvaluatedPair], improved: Improved
    ) -> PoolQueryDone:
        name, pool = normal.query.name, improved.query.candidate_pool_indices
        similarity = similarities(self.dataset.embeddings, pool, self.dataset.query_embedding(name))
        return PoolQueryDone(
            **shown_query(self.dataset, name),
            given_pool=given,
            pool_before=normal.query.candidate_pool_indices,
            pool_after=pool,
            similarity=[round(float(value), 4) for value in similarity],
            injected=list(improved.injection.places),
            referenced=sorted(
                {place for final in improved.query.pointer_candidates for place in final.pointer}
            ),
            oracle_before=improved.oracle_before,
            oracle_after=improved.oracle_after,
            trajectories=improved.verdicts,
            filled=len(normal.filled),
            cut=len(normal.cut),
            dropped=dict(normal.dropped),
            asked=len(mined),
            failed=sum(pair.score is None for pair in mined),
            warning=_warning(improved),
        )


def _warning(improved: Improved) -> str:
    if improved.injection.injected and improved.oracle_after <= improved.oracle_before:
        return "injection did not raise oracle@64"
    return "" if is_positive(improved.oracle_after) else "no pair is known that is fully right"
