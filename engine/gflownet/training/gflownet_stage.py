"""The stage `gflownet`: train the sampler, then measure it beside its baselines on the held-out split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch

from engine.events import SamplerEvaluated, SamplerStep, logged_without_envelope
from engine.files import append_jsonl, csv_text, recover_jsonl, write_atomic, write_jsonl
from engine.gflownet import layout
from engine.gflownet.evaluation.evaluator import (
    EDGE_BONUSES,
    STOP_SCORES,
    TEMPERATURES,
    Evaluation,
    Evaluator,
    best_setting,
    differences,
)
from engine.gflownet.evaluation.question_paths import Drawing, QuestionSampler
from engine.gflownet.evaluation.questions import QuestionBatches, load_questions
from engine.gflownet.evaluation.verdict import sampler_verdict
from engine.gflownet.graphs.dropped import missed_questions
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.training.rank_start import leading
from engine.gflownet.training.step_worker import StepWorker
from engine.gflownet.training.training import Training
from engine.run.stage import StageContext, StageResult
from engine.torch_file import torch_threads

BASELINES = ("beam", "prior")
Summary = dict[str, float | int | str]


class TrainGFlowNet:
    """Trains with checkpoints at intervals and at every stop, then evaluates."""

    name = "gflownet"

    def run(self, context: StageContext) -> StageResult:
        """Continues from the last checkpoint of this run, if it has one."""
        with torch_threads(1):
            return _SamplerJob(context).run()


class _SamplerJob:
    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.section = context.config.gflownet
        self.seed = context.config.run.seed
        self.tables = EmbeddingTables.load(context.run_dir)
        torch.manual_seed(context.seed("weights"))
        self.module = GFlowNetModule(self.tables.width, self.section)
        path = layout.checkpoint(context.run_dir)
        self.training = Training(self.module, path, self.tables.width)
        self.log = layout.training_log(context.run_dir)

    def run(self) -> StageResult:
        self.training.restore()
        self._train()
        return self._measure()

    def _questions(self, split: str) -> QuestionBatches:
        return load_questions(self.context.run_dir, split, self.tables, self.module)

    # ------------------------------------------------------------ training

    def _train(self) -> None:
        section, training = self.section, self.training
        self.context.start(section.steps, training.step, unit="steps")
        recover_jsonl(self.log, keep=training.step // section.log_every)
        if training.step == section.steps:
            return
        questions = self._questions("train")
        with leading(self.context.run_dir, section, self.context.checkpoint) as ranks:
            module = self.module if ranks.device.type == "cpu" else deepcopy(self.module).to(ranks.device)
            worker = StepWorker(module, questions, self.seed, ranks, section.parts or ranks.size)
            if ranks.size > 1:
                self.context.notice(
                    f"{ranks.size} processes on {ranks.device.type} train on {worker.micro_batches} parts of each step"
                )
            self._steps(worker)

    def _steps(self, worker: StepWorker) -> None:
        section, training = self.section, self.training
        while training.step < section.steps:
            report = training.update(worker)
            last = training.step == section.steps
            if last or training.step % section.log_every == 0:
                self._report(report)
            if last or training.step % section.checkpoint_every == 0:
                training.save()
            if training.step % section.eval_every == 0 and not last:
                self._emit(self._validation().sampler(self._alpha), "validation")
            try:
                self.context.checkpoint()
            except BaseException:
                training.save()
                raise

    def _report(self, report: SamplerStep) -> None:
        append_jsonl(self.log, [logged_without_envelope(report)])
        self.context.emit(report)
        self.context.progress(
            report.step, report.steps, note=f"loss {report.loss:.3f}, success {report.success_mean:.2f}"
        )

    @property
    def _alpha(self) -> float:
        return prior_alpha(self.section, self.training.step)

    def _validation(self) -> Evaluator:
        return self._evaluator(self._questions("validation"))

    def _evaluator(self, questions: QuestionBatches) -> Evaluator:
        return Evaluator(self.module, questions, self.seed, self.context.checkpoint)

    # ------------------------------------------------------------ measuring

    def _measure(self) -> StageResult:
        test = self._questions("test")
        evaluator, validation, alpha = self._evaluator(test), self._validation(), self._alpha
        temperature = best_setting(lambda value: validation.distinct(alpha, value), TEMPERATURES)
        evaluations = [
            evaluator.distinct(alpha, temperature),
            evaluator.sampler(alpha),
            evaluator.greedy(alpha),
            evaluator.beam(best_setting(validation.beam, EDGE_BONUSES)),
            evaluator.prior(best_setting(validation.prior, STOP_SCORES), with_distance=True),
        ]
        for evaluation in evaluations:
            self._emit(evaluation, "test")
        drawing = Drawing(self.section.distinct_paths, temperature if self.section.distinct_paths else None)
        files = [*self._tables(evaluations), self._paths(test, drawing)]
        by_method = {each.method: each for each in evaluations}
        return StageResult(self._summary(by_method), files, sampler_verdict(by_method, self.seed))

    def _emit(self, evaluation: Evaluation, split: str) -> SamplerEvaluated:
        evaluation.missed = missed_questions(self.context.run_dir, split)
        event = evaluation.event(self.training.step, split, self.seed)
        self.context.emit(event)
        return event

    def _tables(self, evaluations: Sequence[Evaluation]) -> list[str]:
        folder = layout.folder(self.context.run_dir)
        rows = [
            {
                "method": e.method,
                "n": e.n,
                "missed": e.missed,
                "k": e.k,
                **e.settings,
                **e.means(),
                "listed": e.listed,
            }
            for e in evaluations
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        metrics = layout.metrics(self.context.run_dir)
        write_atomic(metrics, csv_text(rows, names))
        compared = [name for name in evaluations[0].both_ways if "@" in name]
        rest = [each for each in evaluations if each.method in BASELINES]
        lines = [
            line
            for own in evaluations[:2]
            for other in rest
            for line in differences(own, other, compared, self.seed)
        ]
        comparison = metrics.with_name("comparison.csv")
        write_atomic(comparison, csv_text(lines))
        write_atomic(
            metrics.with_name("metrics.json"),
            json.dumps({row["method"]: row for row in rows}, indent=2) + "\n",
        )
        return [f"gflownet/{path.relative_to(folder)}" for path in (metrics, comparison)]

    def _paths(self, test: QuestionBatches, drawing: Drawing) -> str:
        """Every held-out question's paths, as drawn for the figures."""
        budget = self.context.config.answer.token_budget
        sampler = QuestionSampler(self.module, test, Texts.load(self.context.run_dir), self.seed, budget)
        lines = []
        for number in range(len(test)):
            self.context.checkpoint()
            event = sampler.sample(number, self._alpha, drawing)
            self.context.emit(event)
            lines.append(logged_without_envelope(event))
        path = layout.sampled_paths(self.context.run_dir)
        write_jsonl(path, lines)
        return f"gflownet/{path.name}"

    def _summary(self, evaluations: Mapping[str, Evaluation]) -> Summary:
        distinct, sampler, beam = (evaluations[name].means() for name in ("distinct", "gflownet", "beam"))
        recall = f"answer_recall_union@{self.section.num_eval_rollouts}"
        hits = f"unique_success_paths@{self.section.num_eval_rollouts}"
        return {
            "questions": evaluations["gflownet"].n,
            "questions_missed": evaluations["gflownet"].missed,
            "success@1": round(sampler["success@1"], 4),
            "success_all@1": round(sampler["success_all@1"], 4),
            "success@1_greedy": round(evaluations["greedy"].means()["success@1"], 4),
            recall: round(distinct[recall], 4),
            f"beam_{recall}": round(beam[recall], 4),
            hits: round(distinct[hits], 2),
            f"beam_{hits}": round(beam[hits], 2),
            **{name: round(sampler[name], 4) for name in ("total_variation",) if name in sampler},
            "logpf_logr_spearman": round(sampler["logpf_logr_spearman"], 4),
        }
