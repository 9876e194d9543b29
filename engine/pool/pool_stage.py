"""The stage `pool`: RL data with pools of any size become 64 candidates and the wanted trajectories (spec Pool)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.events import PoolQueryDone, PoolTrajectory
from engine.files import append_jsonl, recover_jsonl
from engine.pool import layout
from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.dataset import HELDOUT, TRAIN, PoolDataset
from engine.pool.evaluated import EvaluatedPair, PairEvaluator
from engine.pool.global_positive_miner import GlobalPositiveMiner
from engine.pool.improve import Improved, improve
from engine.pool.neighbours import load_or_search
from engine.pool.normalise import Normalised, normalise
from engine.pool.parts import given_rl_data, make_dataset, make_vqa_model
from engine.pool.pool_report import without_envelope, write_report
from engine.pool.records import POOL_SIZE, RLData, RLQueryData, parse_query, query_record, write_rl_data
from engine.pool.thumbnails import Thumbnails
from engine.pool.top_k import similarities
from engine.pool.trajectory_quality_controller import TrajectoryQualityController, is_positive
from engine.pool.vqa import VQAModel
from engine.stage import StageContext, StageResult

UNKNOWN, NOT_FINITE, NOTHING = (
    "unknown to the data set",
    "embedding not finite",
    "no trajectory was ever scored",
)


class BuildPools:
    """Normalises, mines, injects and selects, query by query."""

    name = "pool"

    def run(self, context: StageContext) -> StageResult:
        """A query is finished when its line stands in decisions.jsonl; no pair is asked twice."""
        dataset = make_dataset(context.config)
        model = make_vqa_model(context, dataset)
        return PoolJob(context, dataset, model, given_rl_data(context, dataset, model)).run()


class PoolJob:
    """The stage's work on these queries."""

    def __init__(self, context: StageContext, dataset: PoolDataset, model: VQAModel, data: RLData) -> None:
        """Raises DataError where no query is left to train on."""
        self.context = context
        self.dataset = dataset
        self.model = model
        self.data = data
        section = context.config.pool
        heldout = set(dataset.splits[HELDOUT])
        self.training = [query_id for query_id in self.data if query_id not in heldout]
        if not self.training:
            raise DataError(
                what="no training query is in the RL data", where="pool.rl_data", mend="give another file"
            )
        table = dataset.embeddings
        self.evaluator = PairEvaluator(layout.evaluated(context.run_dir), model, dataset.annotations)
        self.miner = GlobalPositiveMiner(
            table,
            self.evaluator,
            section.search_top_k,
            section.max_eval_pairs,
            section.batch_size,
            section.enough_positives,
        )
        self.controller = TrajectoryQualityController(
            section.target_trajectory_count, section.positive_quota, section.partial_quota
        )
        self.injector = CandidatePoolInjector(table, section.max_inject_per_query)
        self.thumbnails = Thumbnails(dataset, context.emit)
        self.nearest: dict[str, list[int]] = {}

    def run(self) -> StageResult:
        """All of it, or what is left."""
        context, path = self.context, layout.decisions(self.context.run_dir)
        lines = {line["query_id"]: line for line in recover_jsonl(path)}
        context.start(len(self.training), len(lines), unit="queries")
        self._search()
        for query_id in self.training:
            if query_id in lines:
                continue
            context.checkpoint()
            lines[query_id] = self._line(query_id)
            append_jsonl(path, [lines[query_id]])
            context.progress(len(lines), len(self.training), note=query_id)
        return self._finish([lines[query_id] for query_id in self.training])

    def _search(self) -> None:
        """Nearest rows of all queries, in one pass over the table."""
        known = set(self.dataset.splits[TRAIN])
        names = [name for name in self.training if name in known] + list(self.dataset.splits[HELDOUT])
        own = {name: set(self.dataset.own_rows(name)) for name in names}
        wanted = max(self.context.config.pool.search_top_k, POOL_SIZE) + max(
            map(len, own.values()), default=0
        )
        queries = [self.dataset.query_embedding(name) for name in names]
        found = load_or_search(
            layout.neighbours(self.context.run_dir), names, self.dataset.embeddings, queries, wanted,
            self.context.checkpoint,
        )  # fmt: skip
        for number, name in enumerate(names):
            self.nearest[name] = [row for row in found.of(number) if row not in own[name]]

    # ------------------------------------------------------------ one query

    def _line(self, query_id: str) -> dict[str, Any]:
        """Its line in decisions.jsonl."""
        reason = self._unusable(query_id)
        if reason is None:
            normal = self._normalised(self.data[query_id])
            mined = self._mined(normal.query)
            found = improve(
                normal.query, mined, self.dataset.query_embedding(query_id), self.controller, self.injector
            )
            if found.query.pointer_candidates:
                event = self._event(normal, mined, found)
                # Before the line: a kill in between tells a query twice, never not at all.
                self.thumbnails.tell([*event.pool_before, *event.pool_after])
                self.context.emit(event)
                return {
                    "query_id": query_id,
                    "decision": without_envelope(event),
                    "query": query_record(found.query),
                }
            reason = NOTHING
        return {"query_id": query_id, "left_out": reason}

    def _unusable(self, query_id: str) -> str | None:
        if query_id not in self.nearest:
            return UNKNOWN
        return None if np.isfinite(self.dataset.query_embedding(query_id)).all() else NOT_FINITE

    def _normalised(self, query: RLQueryData) -> Normalised:
        name = query.query_id
        return normalise(
            query,
            self.dataset.embeddings,
            self.dataset.query_embedding(name),
            self.nearest[name],
            self.controller.ranked,
            self.dataset.own_rows(name),
        )

    def _mined(self, query: RLQueryData) -> list[EvaluatedPair]:
        known = frozenset(query.pair(one) for one in query.pointer_candidates if not one.failed)
        name = query.query_id
        return self.miner.mine_positives_for_query(
            name, self.dataset.query_embedding(name), self.nearest[name], known, self.context.checkpoint
        )

    def _event(self, normal: Normalised, mined: Sequence[EvaluatedPair], found: Improved) -> PoolQueryDone:
        name, pool = normal.query.query_id, found.query.candidate_pool_indices
        return PoolQueryDone(
            query_id=name,
            question=self.dataset.question(name),
            answers=dict(Counter(self.dataset.annotations(name)).most_common()),
            given_pool=len(self.data[name].candidate_pool_indices),
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
            picture=self.thumbnails.query(name),
        )

    # ------------------------------------------------------------ all together

    def _finish(self, lines: Sequence[dict[str, Any]]) -> StageResult:
        run_dir = self.context.run_dir
        queries = {
            line["query_id"]: parse_query(line["query_id"], line["query"], str(layout.decisions(run_dir)))
            for line in lines
            if "query" in line
        }
        if not queries:
            reasons = ", ".join(sorted({line["left_out"] for line in lines}))
            raise DataError(
                what=f"every query of the RL data was left out ({reasons})",
                where="pool.rl_data",
                mend="check that data, embeddings and questions belong together",
            )
        write_rl_data(layout.rl_data(run_dir), RLData(queries, self.data.notes))
        heldout = self._heldout()
        write_rl_data(layout.heldout(run_dir), RLData(heldout))
        return write_report(self.context, lines, len(heldout), self.evaluator.all(), self.model.name)

    def _heldout(self) -> dict[str, RLQueryData]:
        """Pools of held-out queries: given ones brought to size, the nearest rows where none was given. No score of
        theirs is looked at."""
        found: dict[str, RLQueryData] = {}
        for name in self.dataset.splits[HELDOUT]:
            if self._unusable(name) is None:
                pool = self.data[name].candidate_pool_indices if name in self.data else []
                bare = RLQueryData(query_id=name, candidate_pool_indices=pool, pointer_candidates=[])
                found[name] = self._normalised(bare).query
        return found


def _warning(found: Improved) -> str:
    if found.injection.injected and found.oracle_after <= found.oracle_before:
        return "injection did not raise oracle@64"
    return "" if is_positive(found.oracle_after) else "no pair is known that is fully right"


def _rounded(values: NDArray[np.float32]) -> list[float]:
    return [round(float(value), 4) for value in values]
