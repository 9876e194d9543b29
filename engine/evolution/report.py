"""The evolution's result: the best deltas against no processor and the baselines, as tables and as summary.

Measured on the test set, which decided nothing before: on what chose them the best deltas were also lucky. Without a
test set nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.events import MethodCompared, without_envelope
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord, Key
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.history import Iteration
from engine.evolution.scoring.baselines import Tried, best_of, tried_caps
from engine.evolution.scoring.comparison import (
    BEST,
    BRIEF,
    CHOSEN_CAP,
    PLAIN,
    SAME_LENGTH,
    Method,
    baselines_ahead,
    cap_for,
    compare,
)
from engine.evolution.scoring.score import Outcome
from engine.evolution.scoring.split_evaluator import SplitEvaluator
from engine.evolution.splits import BASELINE, TEST, TEST_BRIEF, TEST_PLAIN, brief_split
from engine.evolution.verdict import evolution_verdict
from engine.files import csv_text, write_atomic
from engine.run.stage import StageResult
from engine.servers.spent import Spent


def write_report(evolution: EvolutionRun, evaluator: SplitEvaluator, reason: str) -> StageResult:
    """The best deltas' figures: with a test set those of the comparison on it, whose tables are written; without one
    those that they were chosen by."""
    best = evolution.history.best
    assert best is not None, "the first iteration is the best so far"
    spent = evolution.history.usage
    begun: Summary = {
        "iterations": len(evolution.history.iterations),
        "ended": reason,
        "best_iteration": best.iteration,
    }
    if not evolution.questions.test:
        return StageResult(begun | _chosen_by(best) | _spent(spent), _files(evolution))
    comparison = _Comparison(evolution, evaluator, best)
    rows = compare(comparison.methods(), comparison.scale, evolution.context.config.run.seed)
    comparison.write_tables(rows)
    ahead = baselines_ahead(rows)
    for row in rows:
        evolution.context.emit(row)
    spent += evaluator.usage_of(*comparison.asked) + evaluator.spent_on_caps
    iterations = evolution.history.iterations
    verdict = evolution_verdict(rows, comparison.compared, ahead, spent.cost, iterations)
    return StageResult(begun | _compared(rows, ahead) | _spent(spent), _files(evolution), verdict)


Summary = dict[str, float | int | str]
"""A stage's figures by name."""


def _chosen_by(best: Iteration) -> Summary:
    """Without a test set: the score by which the best deltas were chosen, named as what it is."""
    score = best.decided_by
    return {
        "measured_on": f"{best.decided_on}, which chose it",
        "composite": round(score.composite, 4),
        "tokens": round(score.mean_tokens, 1),
        "judged": score.judged,
        "cannot_tell": score.cannot_tell,
        "correctness": round(score.correctness, 4),
    }


def _compared(rows: Sequence[MethodCompared], ahead: Sequence[str]) -> Summary:
    by_name = {row.method: row for row in rows}
    baseline, steered = by_name[PLAIN], by_name[BEST]
    return {
        "composite": round(steered.composite, 4),
        "composite_before": round(baseline.composite, 4),
        "tokens": round(steered.mean_tokens, 1),
        "tokens_before": round(baseline.mean_tokens, 1),
        "judged": steered.n,
        "cannot_tell": steered.cannot_tell,
        "correctness": round(steered.correctness, 4),
        "correctness_before": round(baseline.correctness, 4),
        "baselines_ahead": ", ".join(ahead) or "none",
    }


def _spent(spent: Spent) -> Summary:
    return {"spent_calls": spent.calls, "spent_tokens": spent.tokens, "spent_cost": round(spent.cost, 6)}


def _files(evolution: EvolutionRun) -> list[str]:
    run_dir = evolution.context.run_dir
    written = [
        layout.deltas_best, layout.processor_best, layout.deltas_current, layout.processor, layout.history,
        layout.answers, layout.cut_verdicts, layout.plot, layout.comparison, layout.test_answers, layout.baselines,
    ]  # fmt: skip
    files = [file(run_dir) for file in written]
    return [str(path.relative_to(run_dir)) for path in files if path.is_file()]


@dataclass
class _Comparison:
    """The methods of the comparison. `asked`: the splits that were answered for it; `tried`: all settings of the
    baselines."""

    evolution: EvolutionRun
    evaluator: SplitEvaluator
    best: Iteration
    asked: list[Key] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    chosen: list[Tried] = field(default_factory=list)
    compared: list[Method] = field(default_factory=list)
    served: str = ""

    def __post_init__(self) -> None:
        self.section = self.evolution.context.config.evolution
        self.scale = self.section.SHORTNESS_SCALE

    def methods(self) -> list[Method]:
        """The baselines chosen on the validation set, then every method on the test set."""
        brief = self._chosen_brief()
        plain = self._answers((0, TEST_PLAIN))
        asked_briefly = [] if brief is None else self._answers((0, TEST_BRIEF), brief.prompt)
        evolved = _outcomes(self._answers((self.best.iteration, TEST)))
        cap = self._chosen_cap()  # after all answers, which a stop keeps: cutting them takes no model
        same = cap_for([len(r.token_ids) for r in plain], sum(o.tokens for o in evolved) / len(evolved))
        self.compared = [
            Method(PLAIN, _outcomes(plain)),
            Method(SAME_LENGTH, self.evaluator.cut(plain, same), cap=same),
        ]
        if cap is not None and cap.cap is not None:
            self.compared.append(Method(CHOSEN_CAP, self.evaluator.cut(plain, cap.cap), cap=cap.cap))
        if brief is not None:
            self.compared.append(Method(BRIEF, _outcomes(asked_briefly), prompt=brief.prompt))
        self.compared.append(Method(BEST, evolved))
        return self.compared

    def write_tables(self, rows: Sequence[MethodCompared]) -> None:
        """`tables/test.csv`, the answers behind it, and what was tried on the validation set."""
        run_dir = self.evolution.context.run_dir
        write_atomic(layout.comparison(run_dir), csv_text([without_envelope(row) for row in rows]))
        if self.tried:
            lines = [one.line(one in self.chosen) for one in self.tried]
            write_atomic(layout.baselines(run_dir), csv_text(lines))
        examples = [example.id for example in self.evolution.questions.test]
        answers = [
            {"example": example, "method": method.name, "tokens": outcome.tokens, "correct": outcome.correct}
            for method in self.compared
            for example, outcome in zip(examples, method.outcomes, strict=True)
        ]
        write_atomic(layout.test_answers(run_dir), csv_text(answers))

    def _chosen_cap(self) -> Tried | None:
        if not self.section.length_caps:
            return None
        answers = self.evolution.answers.of_split(0, BASELINE)
        cut = self.evaluator.cut
        return self._choose(tried_caps(CHOSEN_CAP, answers, self.section.length_caps, cut, self.scale))

    def _chosen_brief(self) -> Tried | None:
        tried = []
        for number, prompt in enumerate(self.section.brief_prompts):
            key = (0, brief_split(number))
            self._answers(key, prompt)
            tried.append(Tried(BRIEF, self.evaluator.score(*key), prompt=prompt))
        return self._choose(tried)

    def _choose(self, tried: Sequence[Tried]) -> Tried | None:
        best = best_of(tried)
        self.tried += tried
        self.chosen += [best] if best is not None else []
        return best

    def _answers(self, key: Key, prompt: str = "") -> list[AnswerRecord]:
        """The answers to a split, under the best deltas if it is theirs, else without processor."""
        deltas = self.best.deltas if key[1] == TEST else None
        target = PLAIN if deltas is None else BEST
        if not self.evaluator.is_complete(*key) and self.served != target:
            self.evaluator.serve(deltas, layout.processor_best(self.evolution.context.run_dir))
            self.served = target
        self.asked.append(key)
        answers = self.evaluator.ask(*key, suffix=prompt)
        self.evaluator.report_score(*key)
        return answers


def _outcomes(records: Sequence[AnswerRecord]) -> list[Outcome]:
    return [record.outcome for record in records]
