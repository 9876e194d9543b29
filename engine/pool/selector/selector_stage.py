"""The stage `selector`: trains the pointer network on the pools' trajectories, compares it on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

import msgspec
import torch

from engine.errors import DataError
from engine.events import (
    SelectorCompared,
    SelectorPick,
    SelectorPicked,
    SelectorStep,
    added_fields,
    logged_without_envelope,
)
from engine.files import (
    append_jsonl,
    csv_text,
    read_jsonl,
    recover_jsonl,
    required,
    write_atomic,
    write_jsonl,
)
from engine.pool import layout
from engine.pool.data.records import RLData, read_rl_data
from engine.pool.data.shown_query import shown_query
from engine.pool.from_config import make_dataset, make_vqa_model
from engine.pool.selector import layout as selector_layout
from engine.pool.selector.comparison import Scored, accuracies, compare
from engine.pool.selector.heldout import RICES, SELECTOR, HeldOut, MethodPicks
from engine.pool.selector.rl_beam_dataset import RLBeamDatasetWithEmbedding
from engine.pool.selector.selector import Selector
from engine.pool.selector.training import SelectorTraining
from engine.pool.verdicts import selector_verdict
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator
from engine.run.stage import StageContext, StageResult
from engine.torch_file import torch_threads

_CHECKPOINT_EVERY = 10
"""Training steps."""


class TrainSelector:
    """Saves checkpoints at intervals and at every stop. The last weights count: held-out queries select nothing."""

    def run(self, context: StageContext) -> StageResult:
        """Train, from the run's last checkpoint if it has any, and compare."""
        with torch_threads(1):
            return _SelectorRun(context).run()


class _SelectorRun:
    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.section = context.config.selector
        run_dir, seed = context.run_dir, context.config.run.seed
        training_data, heldout_data = _read(layout.rl_data(run_dir)), _read(layout.heldout(run_dir))
        self.dataset = make_dataset(context.config)
        self.model = make_vqa_model(context.config, context, self.dataset)
        self.evaluator = PairEvaluator(layout.evaluated(run_dir), self.model, self.dataset.annotations)
        self.heldout = HeldOut(heldout_data, self.dataset, self.evaluator, seed, context.checkpoint)
        data = RLBeamDatasetWithEmbedding(
            training_data, self.dataset.embeddings, query_embedding=self.dataset.query_embedding
        )
        torch.manual_seed(context.seed("weights"))
        self.selector = Selector(data.width, self.section.hidden, self.section.inner)
        self.training = SelectorTraining(
            self.selector, data, self.section, seed, selector_layout.checkpoint(run_dir), self._ask
        )
        self.log = selector_layout.training_log(run_dir)

    def _ask(self, asks: Sequence[Any]) -> list[EvaluatedPair]:
        return self.evaluator.evaluate(asks, self.context.checkpoint)

    def run(self) -> StageResult:
        self.training.restore()
        self.context.start(self.training.steps, self.training.step, unit="steps")
        section, looks = self.section, sum(map(self._looks_at_heldout, range(1, self.training.steps + 1)))
        most = section.policy_steps * section.batch_size * section.rollouts
        most += (looks + section.random_pairs + 1) * len(self.heldout.queries)
        self.context.notice(f"the selector may ask {self.model.name} with up to {most} pairs")
        baselines = self._baselines()
        for row in compare({name: scored for name, (_, scored) in baselines.items()}, self._seed):
            self.context.emit(row)
        self._train()
        return self._measure()

    @property
    def _seed(self) -> int:
        return self.context.config.run.seed

    @property
    def _cost(self) -> float:
        return fsum(pair.cost for pair in self.evaluator.all())  # whatever order they came in

    # ------------------------------------------------------------ training

    def _train(self) -> None:
        training = self.training
        recover_jsonl(self.log, keep=sum(map(self._is_logged, range(1, training.step + 1))))
        while training.step < training.steps:
            report = training.update()
            if self._is_logged(training.step):
                self._report(report)
            if training.step == training.steps or training.step % _CHECKPOINT_EVERY == 0:
                training.save()
            try:
                self.context.checkpoint()
            except BaseException:
                training.save()
                raise

    def _is_logged(self, step: int) -> bool:
        return step % self.section.log_every == 0 or self._looks_at_heldout(step)

    def _looks_at_heldout(self, step: int) -> bool:
        return step % self.section.eval_every == 0 or step == self.training.steps

    def _report(self, report: SelectorStep) -> None:
        if self._looks_at_heldout(report.step):
            scored = self.heldout.scored(self.heldout.selector(self.selector))
            scores = [pair.score for pairs in scored.values() for pair in pairs if pair.score is not None]
            report = msgspec.structs.replace(
                report,
                heldout_accuracy=sum(scores) / len(scores) if scores else None,
            )
        append_jsonl(self.log, [logged_without_envelope(report)])
        self.context.emit(report)
        note = f"{report.phase.replace('_', ' ')}: expected score {report.expected_score:.3f}"
        self.context.progress(report.step, report.steps, note=note)

    # ------------------------------------------------------------ comparing

    def _baselines(self) -> dict[str, tuple[MethodPicks, Scored]]:
        """Picks and scores of random pairs and of RICES."""
        both = (self.heldout.random(self.section.random_pairs), self.heldout.rices())
        return {picks.method: (picks, self.heldout.scored(picks)) for picks in both}

    def _measure(self) -> StageResult:
        picked = self.heldout.selector(self.selector)
        scored = self.heldout.scored(picked)
        methods = {**self._baselines(), picked.method: (picked, scored)}
        by_method = {name: pairs for name, (_, pairs) in methods.items()}
        rows = compare(by_method, self._seed)
        for row in rows:
            self.context.emit(row)
        self._log_picks(methods)
        heldout = [line.get("heldout_accuracy") for line in read_jsonl(self.log)]
        over_steps = [score for score in heldout if score is not None]
        verdict = selector_verdict(accuracies(by_method), SELECTOR, RICES, self._seed, self._cost, over_steps)
        run_dir = self.context.run_dir
        table = csv_text([logged_without_envelope(row) for row in rows], added_fields(SelectorCompared))
        write_atomic(selector_layout.comparison(run_dir), table)
        paths = (
            selector_layout.checkpoint(run_dir), self.log, selector_layout.picks(run_dir),
            selector_layout.comparison(run_dir),
        )  # fmt: skip
        return StageResult(self._summary(rows), [str(path.relative_to(run_dir)) for path in paths], verdict)

    def _log_picks(self, methods: Mapping[str, tuple[MethodPicks, Scored]]) -> None:
        """Log every held-out query's picks, and write them to `picks.jsonl`."""
        lines = []
        for name, query in self.heldout.queries.items():
            self.context.checkpoint()
            pool = query.candidate_pool_indices
            picks = [
                _pick(method, pair, pool, picked.probability.get(name))
                for method, (picked, scored) in methods.items()
                for pair in scored.get(name, ())
            ]
            event = SelectorPicked(
                **shown_query(self.dataset, name),
                pool=pool,
                picks=picks,
            )
            self.context.emit(event)
            lines.append(logged_without_envelope(event))
        write_jsonl(selector_layout.picks(self.context.run_dir), lines)

    def _summary(self, rows: Sequence[SelectorCompared]) -> dict[str, float | int | str]:
        by_method = {row.method: row for row in rows}
        trained = by_method[SELECTOR]
        return {
            **{name: round(row.accuracy, 4) for name, row in by_method.items()},
            "selector_minus_rices": round(trained.difference or 0.0, 4),
            "low": round(trained.difference_low or 0.0, 4),
            "high": round(trained.difference_high or 0.0, 4),
            "heldout": trained.n,
            "cost": round(self._cost, 4),
        }


def _pick(method: str, evaluated: EvaluatedPair, pool: list[int], probability: float | None) -> SelectorPick:
    return SelectorPick(
        method=method,
        pointer=[pool.index(row) for row in evaluated.pair],
        pair=list(evaluated.pair),
        answer=evaluated.answer or "",
        score=evaluated.score,
        probability=probability,
    )


def _read(path: Path) -> RLData:
    """RL data of a file. Raises DataError if it is missing or holds no query."""
    data = read_rl_data(required(path, "pool"))
    if not data:
        raise DataError(
            what="there is no query",
            where=str(path),
            hint="give held-out queries and training queries, then run pool",
        )
    return data
