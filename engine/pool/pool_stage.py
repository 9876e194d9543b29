"""The stage `pool`: brings RL data to 64 candidates and the required number of trajectories a query (spec Pool)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.errors import DataError
from engine.events import PoolPairEvaluated
from engine.pool import layout
from engine.pool.data.dataset import HELDOUT, TRAIN, PoolDataset, training_queries
from engine.pool.data.records import POOL_SIZE, RLData, RLQueryData, parse_query, write_rl_data
from engine.pool.from_config import given_rl_data, make_dataset, make_vqa_model
from engine.pool.pool_report import write_report
from engine.pool.pool_work import DecisionLine, QueryMiner, make_controller, normalised, unusable
from engine.pool.top_k import top_k
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator
from engine.pool.vqa.vqa import VQAModel
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext, StageResult


class BuildPools:
    """Normalises, mines, injects and selects, query by query; no pair is asked twice."""

    def run(self, context: StageContext) -> StageResult:
        """Work on every query without a line in decisions.jsonl."""
        dataset = make_dataset(context.config)
        model = make_vqa_model(context.config, context, dataset)
        return PoolJob(context, dataset, model, given_rl_data(context, dataset, model)).run()


class PoolJob:
    """The stage's work on the given RL data."""

    def __init__(self, context: StageContext, dataset: PoolDataset, model: VQAModel, data: RLData) -> None:
        """Raises DataError if no training query is left."""
        self.context = context
        self.dataset = dataset
        self.model = model
        self.data = data
        self.training = training_queries(self.data, dataset.splits)
        self.evaluator = PairEvaluator(
            layout.evaluated(context.run_dir), model, dataset.annotations, self._report
        )
        self.nearest: dict[str, list[int]] = {}

    def run(self) -> StageResult:
        """Settle all unfinished queries, then write the data and the report."""
        context, path = self.context, layout.decisions(self.context.run_dir)
        lines = KeyedRecords(path, DecisionLine, lambda line: line.query_id)
        miner = QueryMiner(context, self.dataset, self.model, self.evaluator)
        context.start(len(self.training), len(lines), unit="queries")
        self._search()
        left = [query_id for query_id in self.training if query_id not in lines]
        for query_id in left:
            context.checkpoint()
            lines.add(miner.settle(self.data[query_id], self.nearest.get(query_id)))
            context.progress(len(lines), len(self.training), note=query_id)
        return self._finish([lines[query_id] for query_id in self.training])

    def _search(self) -> None:
        """Search the nearest rows of all queries, in a single pass over the table."""
        known = set(self.dataset.splits[TRAIN])
        names = [name for name in self.training if name in known] + list(self.dataset.splits[HELDOUT])
        query_rows = {name: set(self.dataset.excluded(name)) for name in names}
        needed = max(self.context.config.pool.search_top_k, POOL_SIZE) + max(
            map(len, query_rows.values()), default=0
        )
        table = self.dataset.embeddings
        queries = np.array([self.dataset.query_embedding(name) for name in names], dtype=np.float32)
        neighbours = top_k(
            table, queries.reshape(len(names), table.shape[1]), needed, self.context.checkpoint
        )
        for number, name in enumerate(names):
            self.nearest[name] = [row for row in neighbours.of(number) if row not in query_rows[name]]

    def _report(self, pair: EvaluatedPair) -> None:
        self.context.emit(
            PoolPairEvaluated(
                query_id=pair.query_id, pair=pair.pair, score=pair.score, answer=pair.answer or ""
            )
        )

    # ------------------------------------------------------------ data and report

    def _finish(self, lines: Sequence[DecisionLine]) -> StageResult:
        run_dir = self.context.run_dir
        queries = {
            line.query_id: parse_query(line.query_id, line.query, str(layout.decisions(run_dir)))
            for line in lines
            if line.query is not None
        }
        if not queries:
            reasons = ", ".join(sorted({line.left_out for line in lines}))
            raise DataError(
                what=f"every query of the RL data was left out ({reasons})",
                where="pool.rl_data",
                hint="check that data, embeddings and questions belong together",
            )
        write_rl_data(layout.rl_data(run_dir), RLData(queries, self.data.notes))
        heldout = self._heldout()
        write_rl_data(layout.heldout(run_dir), RLData(heldout))
        return write_report(self.context, lines, len(heldout), self.evaluator.all(), self.model.name)

    def _heldout(self) -> dict[str, RLQueryData]:
        """Held-out queries: given pools brought to size, else the nearest rows. Their scores are not used."""
        controller = make_controller(self.context.config.pool)
        heldout: dict[str, RLQueryData] = {}
        numbers = all(isinstance(query.query_id, int) for query in self.data.values())
        for name in self.dataset.splits[HELDOUT]:
            if not unusable(self.dataset, name, self.nearest.get(name)):
                query_id = heldout_id(name, numbers)
                empty = RLQueryData(query_id=query_id, candidate_pool_indices=[], pointer_candidates=[])
                bare = msgspec.structs.replace(self.data.get(name, empty), pointer_candidates=[], extra={})
                heldout[name] = normalised(bare, self.dataset, self.nearest[name], controller).query
        return heldout


def heldout_id(name: str, numbers: bool) -> int | str:
    """The id of a held-out query that the RL data lacks: a number where theirs are `numbers`."""
    return int(name) if numbers and name.isdecimal() and str(int(name)) == name else name
