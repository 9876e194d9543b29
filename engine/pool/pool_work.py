"""The work of stage `pool`: one query's pool and trajectories, normalised, mined and improved (spec Pool 2 to 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.config.config import Config
from engine.config.pool import PoolSection
from engine.events import PoolQueryDone, PoolTrajectory
from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.dataset import PoolDataset
from engine.pool.data.records import RLQueryData
from engine.pool.data.thumbnails import as_text
from engine.pool.from_config import make_dataset, make_vqa_model
from engine.pool.global_positive_miner import GlobalPositiveMiner
from engine.pool.improve import Improved, improve
from engine.pool.normalise import Normalised, normalise
from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import TrajectoryQualityController, is_positive
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairAsker
from engine.pool.vqa.vqa import VQAModel
from engine.scale.work import WorkContext

UNKNOWN, NOT_FINITE, NOTHING = (
    "unknown to the data set",
    "embedding not finite",
    "no trajectory was ever scored",
)


@dataclass(frozen=True)
class Query:
    """`nearest`: rows by falling similarity, None for a query that the data set does not know. `asked`: what an earlier
    attempt asked about it."""

    data: RLQueryData
    nearest: list[int] | None
    asked: Sequence[EvaluatedPair] = ()


@dataclass(frozen=True)
class Settled:
    """What was decided and the query that came of it, or why it is left out."""

    query_id: str
    left_out: str = ""
    decision: PoolQueryDone | None = None
    query: RLQueryData | None = None


class DecisionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of decisions.jsonl: the event's fields and the query, or why it is left out."""

    query_id: str
    left_out: str = ""
    decision: dict[str, Any] | None = None
    query: dict[str, Any] | None = None


@dataclass(frozen=True)
class PoolMining:
    """Turns a query into what is settled about it. Pairs it asks with are handed over early, as lists of
    `EvaluatedPair`. `made` are data set and model where they have been made already; they do not travel."""

    config: Config
    made: tuple[PoolDataset, VQAModel] | None = None

    def __reduce__(self) -> tuple[type[PoolMining], tuple[Config]]:
        return PoolMining, (self.config,)

    def open(self, context: WorkContext) -> Callable[[Query], Settled]:
        """Make data set and model. Raises DataError and ConfigError."""
        if self.made is None:
            dataset = make_dataset(self.config)
            return QueryMiner(
                self.config.pool, dataset, make_vqa_model(self.config, context, dataset), context
            ).settle
        return QueryMiner(self.config.pool, *self.made, context).settle

    def size(self, item: Query) -> int:
        return 1


def normalised(
    query: RLQueryData, dataset: PoolDataset, nearest: Sequence[int], controller: TrajectoryQualityController
) -> Normalised:
    """Brought to size."""
    name = query.query_id
    embedding = dataset.query_embedding(name)
    return normalise(query, dataset.embeddings, embedding, nearest, controller.ranked, dataset.own_rows(name))


def make_controller(section: PoolSection) -> TrajectoryQualityController:
    """As configured."""
    return TrajectoryQualityController(
        section.target_trajectory_count, section.positive_quota, section.partial_quota
    )


def unusable(dataset: PoolDataset, query_id: str, nearest: Sequence[int] | None) -> str:
    """Why a query cannot be worked on; empty if it can."""
    if nearest is None:
        return UNKNOWN
    return "" if np.isfinite(dataset.query_embedding(query_id)).all() else NOT_FINITE


class QueryMiner:
    """Works on one query after another; none knows of another."""

    def __init__(
        self, section: PoolSection, dataset: PoolDataset, model: VQAModel, place: WorkContext
    ) -> None:
        self.section = section
        self.dataset = dataset
        self.model = model
        self.place = place
        self.controller = make_controller(section)
        self.injector = CandidatePoolInjector(dataset.embeddings, section.max_inject_per_query)

    def settle(self, item: Query) -> Settled:
        name = item.data.query_id
        if item.nearest is None or unusable(self.dataset, name, item.nearest):
            return Settled(name, left_out=unusable(self.dataset, name, item.nearest))
        normal = normalised(item.data, self.dataset, item.nearest, self.controller)
        mined = self._mined(normal.query, item.nearest, item.asked)
        embedding = self.dataset.query_embedding(name)
        found = improve(normal.query, mined, embedding, self.controller, self.injector)
        if not found.query.pointer_candidates:
            return Settled(name, left_out=NOTHING)
        given = len(item.data.candidate_pool_indices)
        return Settled(name, decision=self._event(given, normal, mined, found), query=found.query)

    def _mined(
        self, query: RLQueryData, nearest: Sequence[int], asked: Iterable[EvaluatedPair]
    ) -> list[EvaluatedPair]:
        section, name = self.section, query.query_id
        asker = PairAsker(self.model, self.dataset.annotations, self.place.keep)
        asker.remember(asked)
        miner = GlobalPositiveMiner(
            self.dataset.embeddings,
            asker,
            section.search_top_k,
            section.max_eval_pairs,
            section.batch_size,
            section.enough_positives,
        )
        known = frozenset(query.pair(one) for one in query.pointer_candidates if not one.failed)
        embedding = self.dataset.query_embedding(name)
        return miner.mine_positives_for_query(name, embedding, nearest, known, self.place.checkpoint)

    def _event(
        self, given: int, normal: Normalised, mined: Sequence[EvaluatedPair], found: Improved
    ) -> PoolQueryDone:
        name, pool = normal.query.query_id, found.query.candidate_pool_indices
        return PoolQueryDone(
            query_id=name,
            question=self.dataset.question(name),
            answers=dict(Counter(self.dataset.annotations(name)).most_common()),
            given_pool=given,
            pool_before=normal.query.candidate_pool_indices,
            pool_after=pool,
            similarity=_rounded(
                similarities(self.dataset.embeddings, pool, self.dataset.query_embedding(name))
            ),
            injected=list(found.injection.places),
            referenced=sorted({place for one in found.query.pointer_candidates for place in one.pointer}),
            oracle_before=found.oracle_before,
            oracle_inside=found.oracle_inside,
            oracle_after=found.oracle_after,
            trajectories=[
                PoolTrajectory(
                    pair=one.pair,
                    score=one.score,
                    origin=one.origin,
                    verdict=one.verdict,
                    rule=one.rule,
                    kept=one.kept,
                    answer=one.answer,
                )
                for one in found.verdicts
            ],
            filled=len(normal.filled),
            cut=len(normal.cut),
            dropped=dict(normal.dropped),
            asked=len(mined),
            failed=sum(one.score is None for one in mined),
            warning=_warning(found),
            picture=as_text(self.dataset.query_image(name)),
        )


def _warning(found: Improved) -> str:
    if found.injection.injected and found.oracle_after <= found.oracle_before:
        return "injection did not raise oracle@64"
    return "" if is_positive(found.oracle_after) else "no pair is known that is fully right"


def _rounded(values: NDArray[np.float32]) -> list[float]:
    return [round(float(value), 4) for value in values]
