"""The online controller: segment by segment, retrieval, probing, steering (spec ESM 6).

A batch of examples advances together: at control point m all of them, whatever their lengths, are queried,
probed and committed in one call each. Every segment starts from an unsteered prefix unless
`online.carry_steering` keeps the steered key/values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.config.config import Config
from engine.esm.control_point import Answer, Decider, Plan
from engine.esm.decide import Retrieval
from engine.esm.describe import describe
from engine.esm.forced import Forced
from engine.esm.variants import Variant
from engine.lm.protocol import Completion, LanguageModel, Prefixes


class Controller:
    """Decodes answers with one variant. `model` and `config` stay as they are."""

    def __init__(self, model: LanguageModel, config: Config, variant: Variant) -> None:
        self.model = model
        self.decider = Decider.of(config, variant)
        self.record_null = config.online.record_null

    def run(
        self,
        examples: Sequence[str],
        prompts: Sequence[Sequence[int]],
        forced: Mapping[int, Forced] | None = None,
    ) -> list[Answer]:
        """One answer a prompt. `examples` are ids: they seed sampling and name the decisions. `forced`: by row, what
        is done instead of the controller's choice."""
        answers = [Answer(example) for example in examples]
        prefixes = self.model.open(prompts)
        for m in range(1, self.decider.points + 1):
            rows = self._active(answers)
            if not rows:
                break
            self._segment(prefixes, answers, rows, m, forced or {})
        rows = self._active(answers)
        if rows:
            self._tail(prefixes, answers, rows)
        prefixes.close(range(len(prompts)))
        return answers

    def _active(self, answers: Sequence[Answer]) -> list[int]:
        budget = self.decider.budget
        return [row for row, a in enumerate(answers) if not a.ended and len(a.tokens) < budget]

    def _segment(
        self,
        prefixes: Prefixes,
        answers: list[Answer],
        rows: list[int],
        m: int,
        forced: Mapping[int, Forced],
    ) -> None:
        decider = self.decider
        plans = self._plans(prefixes, rows, m)
        self._probe(prefixes, plans, answers)
        for plan in plans:
            decider.decide(plan, m, forced.get(plan.row))
        committed = prefixes.branch([decider.commit(plan, answers[plan.row], m) for plan in plans])
        nulls = self._null_segments(prefixes, plans, answers, m)
        for plan, completion in zip(plans, committed, strict=True):
            record(answers[plan.row], decider.variant.name, plan, completion, m, nulls.get(plan.row))
            prefixes.extend(plan.row, completion)

    def _plans(self, prefixes: Prefixes, rows: list[int], m: int) -> list[Plan]:
        if not self.decider.wants_state(m):
            return [self.decider.plan(row, m, None) for row in rows]
        states = prefixes.states(rows, self.decider.variant.layers)
        return [self.decider.plan(row, m, state) for row, state in zip(rows, states, strict=True)]

    def _probe(self, prefixes: Prefixes, plans: list[Plan], answers: list[Answer]) -> None:
        probed = [(plan, branches) for plan in plans if (branches := self.decider.probes(plan))]
        together = [branch for _, branches in probed for branch in branches]
        results = iter(prefixes.branch(together) if together else [])
        for plan, _ in probed:
            self.decider.take_probes(plan, answers[plan.row], results)

    def _null_segments(
        self, prefixes: Prefixes, plans: list[Plan], answers: list[Answer], m: int
    ) -> dict[int, str]:
        """What null would have committed at steered points, if asked for (counted in no budget)."""
        steered = [plan for plan in plans if plan.steer is not None] if self.record_null else []
        branches = [self.decider.null_segment(plan, answers[plan.row], m) for plan in steered]
        texts = [completion.text for completion in prefixes.branch(branches)] if branches else []
        return {plan.row: text for plan, text in zip(steered, texts, strict=True)}

    def _tail(self, prefixes: Prefixes, answers: list[Answer], rows: list[int]) -> None:
        branches = [self.decider.tail(row, answers[row]) for row in rows]
        for row, completion in zip(rows, prefixes.branch(branches), strict=True):
            record_tail(answers[row], self.decider, row, completion)


def record_tail(answer: Answer, decider: Decider, row: int, done: Completion) -> None:
    """Add the tail to the answer."""
    plan = Plan(row, Retrieval("tail"))
    record(answer, decider.variant.name, plan, done, decider.points + 1, None, phase="tail")
    answer.ended = True


def record(
    answer: Answer,
    method: str,
    plan: Plan,
    done: Completion,
    m: int,
    null_segment: str | None,
    phase: str = "segment",
) -> None:
    """Add a committed segment, and the decision behind it, to the answer."""
    answer.decisions.append(describe(method, answer, plan, done, m, null_segment, phase))
    answer.tokens.extend(done.tokens)
    answer.text += done.text
    answer.steered += plan.steer is not None
    answer.ended = done.ended != "stop"
