"""The stage `evolve`: deltas, answers, judgement, reflection, and again (spec Evolution 1; DESIGN 7)."""

from __future__ import annotations

from engine.errors import SteerError
from engine.events import EvolutionBegan, IterationBegan, IterationFinished
from engine.evolution import layout
from engine.evolution.answers import BASELINE, MINIBATCH, VALIDATION
from engine.evolution.deltas import Deltas, write_deltas
from engine.evolution.history import Iteration, write_history
from engine.evolution.plot import draw
from engine.evolution.processor import processor_source
from engine.evolution.reflectors.reflection import reflect
from engine.evolution.report import write_report
from engine.evolution.score import Score
from engine.evolution.setup import Setup
from engine.evolution.split_answers import Asking
from engine.files import write_atomic
from engine.run.stage import StageContext, StageResult


class ReflectorGaveUp(SteerError):
    """Too many iterations in a row without a reply."""


class Evolve:
    """One iteration after another; each is finished when it stands in history.json."""

    name = "evolve"

    def run(self, context: StageContext) -> StageResult:
        """Go on from the last finished iteration, with the answers that the next one already has."""
        setup = Setup.prepare(context)
        try:
            return _Loop(setup).run()
        finally:
            setup.server.close()


def _gave_up(failures: int, aborted: str) -> ReflectorGaveUp:
    return ReflectorGaveUp(
        what=f"the reflector gave no valid reply in {failures} iterations in a row: {aborted}",
        where="evolution.reflector",
        mend="mend what it says and resume, with more `evolution.iterations` where all are done: every finished "
        "iteration is kept",
    )


class _Loop:
    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.context = setup.context
        self.section = setup.context.config.evolution
        self.history = setup.history
        self.asking = Asking(setup)

    def run(self) -> StageResult:
        section, setup = self.section, self.setup
        self.context.start(section.iterations, len(self.history.iterations), unit="iterations")
        self._announce()
        self._keep_best_whole()
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
        return write_report(setup, self.asking, reason)

    # ------------------------------------------------------------ before the first iteration

    def _announce(self) -> None:
        section, setup = self.section, self.setup
        self.context.emit(
            EvolutionBegan(
                clusters=setup.clusters.names,
                iterations=section.iterations,
                minibatch=section.minibatch_size,
                validation=section.validation_size,
                test=section.test_size,
                scale=section.SHORTNESS_SCALE,
                weights=[0.4, 0.6],
                server=setup.server.name,
                judge=setup.judge.name,
                reflector=setup.reflector.name,
                branched_from=section.branch_of or "",
            )
        )
        setup.announce_inherited()

    def _keep_best_whole(self) -> None:
        """What a user takes away is valid from the first moment, and after a kill between two files."""
        best = self.history.best
        self._write_best(self.setup.initial if best is None else best.deltas)

    def _write_best(self, deltas: Deltas) -> None:
        run_dir = self.context.run_dir
        write_deltas(layout.deltas_best(run_dir), deltas)
        write_atomic(layout.processor_best(run_dir), processor_source(self.setup.clusters, deltas))

    def _baseline(self) -> None:
        """The validation set without any processor: what the iterations are seen beside."""
        if not self.asking.complete(0, BASELINE):
            self.asking.serve(None)
        self.asking.ask(0, BASELINE)
        self.asking.scored(0, BASELINE)

    # ------------------------------------------------------------ one iteration

    def _iterate(self, number: int) -> str:
        """Returns why the reflector gave nothing; empty if it did."""
        setup = self.setup
        deltas = self.history.next_deltas(setup.initial)
        examples = [example.id for example in setup.questions.minibatch(number)]
        self.context.emit(IterationBegan(iteration=number, deltas=deltas, examples=examples))
        write_deltas(layout.deltas_current(self.context.run_dir), deltas)
        self.asking.serve(deltas)
        answers = self.asking.ask(number, MINIBATCH)
        found = self.asking.scored(number, MINIBATCH)
        validation, best = self._validate(number, found)
        if best:
            self._write_best(deltas)
        reply = reflect(setup, number, deltas, answers, found)
        self.history.iterations.append(
            Iteration(
                iteration=number,
                deltas=deltas,
                examples=examples,
                score=found,
                validation=validation,
                best=best,
                new_deltas=reply.deltas,
                summary=reply.summary,
                reflector=setup.reflector.name,
                attempts=reply.attempts,
                aborted=reply.aborted,
                usage=reply.usage + self.asking.usage(number),
            )
        )
        self._finish(number)
        return reply.aborted

    def _validate(self, number: int, found: Score) -> tuple[Score | None, bool]:
        """A minibatch is a small sample: what looks as good as the best, give or take its standard error, is asked
        the fixed validation set, and that decides."""
        reached = self.history.reached
        if reached is not None and found.composite + found.error < reached:
            return None, False
        self.asking.ask(number, VALIDATION)
        score = self.asking.score(number, VALIDATION)
        is_best = reached is None or score.composite > reached
        self.asking.scored(number, VALIDATION, best=is_best)
        return score, is_best

    def _finish(self, number: int) -> None:
        history, run_dir = self.history, self.context.run_dir
        write_history(layout.history(run_dir), history)
        png, svg = draw(history)
        write_atomic(layout.plot(run_dir), png)
        write_atomic(layout.plot(run_dir).with_suffix(".svg"), svg)
        best, usage = history.best, history.usage
        self.context.emit(
            IterationFinished(
                iteration=number,
                best_iteration=-1 if best is None else best.iteration,
                calls=usage.calls,
                tokens=usage.tokens,
                cost=usage.cost,
            )
        )
        score = history.iterations[-1].score
        note = f"composite {score.composite:.3f}, {score.mean_tokens:.0f} tokens"
        self.context.progress(number + 1, self.section.iterations, note=note)

    def _reason_to_end(self) -> str:
        """Why no further iteration is wanted; empty to go on."""
        section, history = self.section, self.history
        usage = history.usage
        if len(history.iterations) >= section.iterations:
            return f"all {section.iterations} iterations"
        if section.patience and history.iterations and history.since_best >= section.patience:
            return f"no new best in {section.patience} iterations"
        if section.target is not None and (history.reached or 0.0) >= section.target:
            return f"the target {section.target:g} is reached"
        if section.max_calls is not None and usage.calls >= section.max_calls:
            return f"{usage.calls} calls are spent"
        if section.max_tokens is not None and usage.tokens >= section.max_tokens:
            return f"{usage.tokens} tokens are spent"
        if section.max_cost is not None and usage.cost >= section.max_cost:
            return f"{usage.cost:g} is spent"
        return ""
