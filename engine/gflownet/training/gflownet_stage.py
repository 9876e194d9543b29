"""The stage `gflownet`: train the sampler, then measure it beside its baselines on the held-out split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
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
    deciding_figure,
)
from engine.gflownet.evaluation.question_paths import Drawing, QuestionSampler
from engine.gflownet.evaluation.questions import QuestionBatches, load_questions
from engine.gflownet.evaluation.verdict import sampler_verdict
from engine.gflownet.graphs.dropped import missed_questions
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.retriever.trained_projector import trained_projector
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.sampler.projector import EmbeddingProjector
from engine.gflownet.training.device import training_device
from engine.gflownet.training.log_table import log_table
from engine.gflownet.training.step import StepComputer
from engine.gflownet.training.training import Training
from engine.run.stage import StageContext, StageResult
from engine.torch_file import torch_threads

Summary = dict[str, float | int | str]


class TrainGFlowNet:
    """Trains with checkpoints at intervals and at every stop, then evaluates."""

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
        self.module = GFlowNetModule(self.tables.width, self.section, self._projector())
        path = layout.checkpoint(context.run_dir)
        self.training = Training(self.module, path, self.tables.width)
        self.log = layout.training_log(context.run_dir)
        self.validated = layout.validation_log(context.run_dir)
        self.note = ""
        self.step = 0
        """The training step whose weights the module holds."""

    def run(self) -> StageResult:
        self.training.restore()
        self._train()
        self.step = self.training.load_best_or_last()
        return self._measure()

    def _projector(self) -> EmbeddingProjector | None:
        if not self.section.embedder.use_retriever_projector:
            return None
        return trained_projector(
            self.context.run_dir, self.tables.width, self.context.config.retriever.hidden
        )

    def _questions(self, split: str) -> QuestionBatches:
        return load_questions(self.context.run_dir, split, self.tables, self.module)

    # ------------------------------------------------------------ training

    def _train(self) -> None:
        section, training = self.section, self.training
        self.context.start(section.steps, training.step, unit="steps")
        recover_jsonl(self.log, keep=training.step // section.log_every)
        seen = [line for line in recover_jsonl(self.validated) if line["step"] <= training.step]
        write_jsonl(self.validated, seen)
        self.note = self._watched("val", seen[-1]) if seen else ""
        if training.finished:
            return
        questions = self._questions("train")
        with training_device(section.device) as device:
            self._steps(StepComputer(self.module, questions, self.seed, device))

    def _steps(self, computer: StepComputer) -> None:
        section, training = self.section, self.training
        while not training.finished:
            report = training.update(computer)
            last = training.step == section.steps
            if last or training.step % section.log_every == 0:
                self._report(report)
            # Before the checkpoint: a kill in between evaluates twice rather than not at all.
            if last or training.step % section.eval_every == 0:
                self._validate()
            if training.finished or training.step % section.checkpoint_every == 0:
                training.save()
            try:
                self.context.checkpoint()
            except BaseException:
                training.save()
                raise

    def _report(self, report: SamplerStep) -> None:
        append_jsonl(self.log, [logged_without_envelope(report)])
        self.context.emit(report)
        self.context.progress(
            report.step,
            report.steps,
            note=f"loss {report.loss:.3f}, success {report.success_mean:.2f}{self.note}",
        )

    def _validate(self) -> None:
        """Evaluate on validation, and write it down; the weights are kept if they are the best so far."""
        self.step = self.training.step
        evaluation = self._evaluator("validation").sampler(self._alpha)
        event = self._emit(evaluation, "validation", self.training.record_validation(evaluation.means()))
        line = {"step": event.step, **event.metrics}
        append_jsonl(self.validated, [line])
        self.note = self._watched("val", line)
        if self.training.finished and self.step < self.section.steps:
            self.context.notice(
                f"training ends after step {self.step} of {self.section.steps}: "
                f"{self.training.evaluations_since_best} evaluations on "
                f"validation were no better than that after step {self.training.best.at}"
            )

    def _watched(self, split: str, figures: Mapping[str, float]) -> str:
        """`, val/success@20 0.91, val/path_hit_f1@3 0.42`: what the progress line adds (spec 9.2)."""
        names = [f"success@{self.section.num_eval_rollouts}"]
        if self.section.auto_add_path_hit_f1 and self.section.path_hit_k:
            names.append(f"path_hit_f1@{max(self.section.path_hit_k)}")
        return "".join(f", {split}/{name} {figures[name]:.2f}" for name in names)

    @property
    def _alpha(self) -> float:
        return prior_alpha(self.section, self.step)

    def _evaluator(self, split: str) -> Evaluator:
        return Evaluator(self.module, self._questions(split), self.seed, self.context.checkpoint)

    # ------------------------------------------------------------ measuring

    def _measure(self) -> StageResult:
        evaluator, validation, alpha = self._evaluator("test"), self._evaluator("validation"), self._alpha
        beams = {bonus: validation.beam(bonus) for bonus in EDGE_BONUSES}
        figure = deciding_figure(beams[EDGE_BONUSES[0]])
        temperature = best_setting(lambda value: validation.distinct(alpha, value), TEMPERATURES, figure)
        evaluations = [
            evaluator.sampler(alpha),
            evaluator.distinct(alpha, temperature),
            evaluator.greedy(alpha),
            evaluator.beam(best_setting(beams.__getitem__, EDGE_BONUSES, figure)),
            evaluator.prior(best_setting(validation.prior, STOP_SCORES, figure), with_distance=True),
        ]
        for evaluation in evaluations:
            self._emit(evaluation, "test")
        note = self._watched("test", evaluations[0].means()).removeprefix(", ")
        self.context.progress(self.training.step, self.section.steps, note=note)
        drawing = Drawing(self.section.distinct_paths, temperature if self.section.distinct_paths else None)
        files = [*self._tables(evaluations), self._paths(evaluator.questions, drawing)]
        by_method = {each.method: each for each in evaluations}
        return StageResult(self._summary(by_method), files, sampler_verdict(by_method, self.seed))

    def _emit(self, evaluation: Evaluation, split: str, best: bool = False) -> SamplerEvaluated:
        evaluation.missed = missed_questions(self.context.run_dir, split)
        event = evaluation.event(self.step, split, self.seed)
        self.context.emit(event := msgspec.structs.replace(event, best=best))
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
        log = metrics.with_name("log.csv")
        test = {"step": self.step, **evaluations[0].means()}
        write_atomic(log, csv_text(*log_table(recover_jsonl(self.log), recover_jsonl(self.validated), test)))
        return [f"gflownet/{path.relative_to(folder)}" for path in (metrics, log)]

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
        k = self.section.num_eval_rollouts
        recall, hits = f"answer_recall_union@{k}", f"unique_success_paths@{k}"
        return {
            "kept_step": self.step,
            "questions": evaluations["gflownet"].n,
            "questions_missed": evaluations["gflownet"].missed,
            **{
                name: round(sampler[name], 4)
                for name in dict.fromkeys(("success@1", "success_all@1", f"success@{k}", f"success_all@{k}"))
            },
            "hits@1": round(sampler["hits@1"], 4),
            "success@1_greedy": round(evaluations["greedy"].means()["success@1"], 4),
            recall: round(sampler[recall], 4),
            f"distinct_{recall}": round(distinct[recall], 4),
            f"beam_{recall}": round(beam[recall], 4),
            hits: round(sampler[hits], 2),
            f"distinct_{hits}": round(distinct[hits], 2),
            f"beam_{hits}": round(beam[hits], 2),
            **{name: round(sampler[name], 4) for name in ("total_variation",) if name in sampler},
            "logpf_logr_spearman": round(sampler["logpf_logr_spearman"], 4),
        }
