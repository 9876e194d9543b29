"""The stage `evolve`: deltas, answers, judgement, reflection, and again (spec Evolution 1)."""

from __future__ import annotations

from msgspec.structs import asdict

from engine.errors import SteerError
from engine.events import EvolutionBegan, IterationBegan, IterationFinished
from engine.evolution import layout
from engine.evolution.deltas import Deltas, write_deltas
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.history import Iteration, write_history
from engine.evolution.judges.scope import scope_of
from engine.evolution.plot import draw
from engine.evolution.processor import processor_source
from engine.evolution.reflectors.reflection import reflect
from engine.evolution.report import write_report
from engine.evolution.scoring.score import CORRECTNESS_WEIGHT, SHORTNESS_WEIGHT, Score
from engine.evolution.scoring.split_evaluator import SplitEvaluator
from engine.evolution.splits import BASELINE, MINIBATCH, VALIDATION
from engine.files import write_atomic
from engine.run.stage import StageContext, StageResult


class ReflectorGaveUp(SteerError):
    """The reflector gave no valid reply in too many iterations in a row."""


class Evolve:
    """One iteration after another; each is finished when it stands in history.json."""

    def run(self, context: StageContext) -> StageResult:
        """Continue after the last finished iteration, with the answers stored so far."""
        evolution = EvolutionRun(context)
        try:
            return _Loop(evolution).run()
        finally:
            evolution.server.stop()


def _gave_up(failures: int, reason: str) -> ReflectorGaveUp:
    return ReflectorGaveUp(
        what=f"the reflector gave no valid reply in {failures} iterations in a row: {reason}",
        where="evolution.reflector",
        hint="correct what it says and resume, with more `evolution.iterations` where all are done: every finished "
        "iteration is kept; or start a run with `evolution.reflector.kind: statistical`, the offline reflector",
    )


class _Loop:
    def __init__(self, evolution: EvolutionRun) -> None:
        self.evolution = evolution
        self.context = evolution.context
        self.section = evolution.context.config.evolution
        self.history = evolution.history
        self.evaluator = SplitEvaluator(evolution)

    def run(self) -> StageResult:
        section, evolution = self.section, self.evolution
        self.context.start(section.iterations, len(self.history.iterations), unit="iterations")
        self._announce()
        self._keep_best_whole()
        if section.validation_size:
            self._baseline()
        failures = 0
        while not (reason := self._reason_to_end()):
            aborted = self._iterate(len(self.history.iterations))
            failures = failures + 1 if aborted else 0
            if failures >= section.failures:
                raise _gave_up(failures, aborted)
            self.context.boundary()
        failures = self.history.aborted_in_a_row()
        if failures >= section.failures:  # an earlier attempt gave up at the last iteration
            raise _gave_up(failures, self.history.iterations[-1].aborted)
        return write_report(evolution, self.evaluator, reason)

    # ------------------------------------------------------------ before the first iteration

    def _announce(self) -> None:
        section, evolution = self.section, self.evolution
        scope = scope_of(evolution.judge, evolution.questions, section.iterations)
        self.context.emit(
            EvolutionBegan(
                clusters=evolution.clusters.names,
                iterations=section.iterations,
                minibatch=section.minibatch_size,
                best_by=section.best_by,
                validation=section.validation_size,
                test=section.test_size,
                scale=section.SHORTNESS_SCALE,
                weights=[SHORTNESS_WEIGHT, CORRECTNESS_WEIGHT],
                server=evolution.server.name,
                judge=evolution.judge.name,
                questions=scope.questions,
                cannot_tell=scope.unjudgeable,
                reflector=evolution.reflector.name,
            )
        )
        if warning := scope.warning(evolution.judge.name):
            self.context.notice(warning, level="warning")

    def _keep_best_whole(self) -> None:
        """Write the best deltas and their processor: valid from the start, and after a kill between the two files."""
        best = self.history.best
        self._write_best(self.evolution.initial if best is None else best.deltas)

    def _write_best(self, deltas: Deltas) -> None:
        run_dir = self.context.run_dir
        write_deltas(layout.deltas_best(run_dir), deltas)
        write_atomic(layout.processor_best(run_dir), processor_source(self.evolution.clusters, deltas))

    def _baseline(self) -> None:
        """Score the validation set without any processor, for comparison with the iterations."""
        if not self.evaluator.is_complete(0, BASELINE):
            self.evaluator.serve(None)
        self.evaluator.ask(0, BASELINE)
        self.evaluator.report_score(0, BASELINE)

    # ------------------------------------------------------------ one iteration

    def _iterate(self, number: int) -> str:
        """Run one iteration. Returns why the reflector gave no deltas; empty if it gave some."""
        evolution = self.evolution
        deltas = self.history.next_deltas(evolution.initial)
        examples = [example.id for example in evolution.questions.minibatch(number)]
        self.context.emit(IterationBegan(iteration=number, deltas=deltas, examples=examples))
        write_deltas(layout.deltas_current(self.context.run_dir), deltas)
        self.evaluator.serve(deltas)
        answers = self.evaluator.ask(number, MINIBATCH)
        minibatch, validation, best = self._score(number)
        if best:
            self._write_best(deltas)
        reply = reflect(evolution, number, deltas, answers, minibatch)
        self.history.iterations.append(
            Iteration(
                iteration=number,
                deltas=deltas,
                examples=examples,
                score=minibatch,
                validation=validation,
                best=best,
                new_deltas=reply.deltas or None,
                summary=reply.summary,
                reflector=evolution.reflector.name,
                attempts=reply.attempts,
                aborted=reply.aborted,
                usage=reply.usage + self.evaluator.usage(number),
            )
        )
        self._finish(number, minibatch)
        return reply.aborted

    def _score(self, number: int) -> tuple[Score, Score | None, bool]:
        """Score on the minibatch and, where that decides, on the validation set; and whether it is a new best."""
        reached, evaluator = self.history.reached, self.evaluator
        minibatch = evaluator.score(number, MINIBATCH)
        if self.section.best_by == "minibatch":
            best = self.history.is_best(minibatch)
            return evaluator.report_score(number, MINIBATCH, best), None, best
        evaluator.report_score(number, MINIBATCH)
        # A minibatch is a small sample: only deltas that score on it as well as the best, within a standard error, are
        # tried on the validation set.
        if reached is not None and minibatch.composite + minibatch.error < reached:
            return minibatch, None, False
        evaluator.ask(number, VALIDATION)
        best = self.history.is_best(evaluator.score(number, VALIDATION))
        return minibatch, evaluator.report_score(number, VALIDATION, best), best

    def _finish(self, number: int, score: Score) -> None:
        history, run_dir = self.history, self.context.run_dir
        write_deltas(layout.deltas_current(run_dir), history.next_deltas(self.evolution.initial))
        write_atomic(layout.plot(run_dir), draw(history))
        # Last: it says that the iteration is done, so whatever is missing after a kill before this line is made again.
        write_history(layout.history(run_dir), history)
        self.context.emit(IterationFinished(iteration=number, **asdict(history.usage)))
        note = f"composite {score.composite:.3f}, {score.mean_tokens:.0f} tokens"
        self.context.progress(number + 1, self.section.iterations, note=note)

    def _reason_to_end(self) -> str:
        """Why the evolution ends here; empty to continue."""
        section, history = self.section, self.history
        if len(history.iterations) >= section.iterations:
            return f"all {section.iterations} iterations"
        if section.patience and history.iterations and history.since_best >= section.patience:
            return f"no new best in {section.patience} iterations"
        if section.max_cost is not None and history.usage.cost >= section.max_cost:
            return f"{history.usage.cost:g} is spent"
        return ""
