"""The online controller: segment by segment, retrieval, probing, steering (spec ESM 6).

A batch of examples advances together: at control point m all of them, whatever their lengths, are queried,
probed and committed in one call each. Every segment starts from an unsteered prefix unless
`online.carry_steering` keeps the steered key/values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.config.config import Config
from engine.esm.online.control_point import Answer, Decider, Plan
from engine.esm.online.decide import Retrieval
from engine.esm.online.describe import describe
from engine.esm.online.forced import Forced
from engine.esm.online.variants import Variant
from engine.events import DecisionTaken
from engine.lm.protocol import Completion, LanguageModel, Prefixes


class Controller:
    """Decodes answers with one variant. `model` and `config` stay as they are.

    `decided` receives a decision as soon as its segment is committed, while others of the batch are still written.
    With `online.record_null` a steered one waits for null's segment too, which is written when all segments of the
    control point are. `ended` receives the number of an answer, and the answer, once nothing more follows.
    """

    def __init__(
        self,
        model: LanguageModel,
        config: Config,
        variant: Variant,
        decided: Callable[[DecisionTaken], None] = lambda decision: None,
        ended: Callable[[int, Answer], None] = lambda number, answer: None,
    ) -> None:
        self.model = model
        self._decided, self._ended = decided, ended
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

    def _report(self, row: int, answer: Answer) -> None:
        self._decided(answer.decisions[-1])
        if answer.ended or len(answer.tokens) >= self.decider.budget:
            self._ended(row, answer)

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
        for plan, completion in zip(plans, self._commit(prefixes, plans, answers, m), strict=True):
            prefixes.extend(plan.row, completion)

    def _commit(
        self, prefixes: Prefixes, plans: list[Plan], answers: list[Answer], m: int
    ) -> list[Completion]:
        """Write the segments, and what null would have committed where that is asked for (counted in no budget)."""
        decider = self.decider

        def take(plan: Plan, done: Completion, null_segment: str | None) -> None:
            record(answers[plan.row], decider.variant.name, plan, done, m, null_segment)
            self._report(plan.row, answers[plan.row])

        def committed(place: int, done: Completion) -> None:
            if not self._records_null(plans[place]):
                take(plans[place], done, None)

        done = prefixes.branch([decider.commit(plan, answers[plan.row], m) for plan in plans], committed)
        steered = [(plan, text) for plan, text in zip(plans, done, strict=True) if self._records_null(plan)]
        if steered:
            nulls = [decider.null_segment(plan, answers[plan.row], m) for plan, _ in steered]
            prefixes.branch(nulls, lambda place, null: take(*steered[place], null.text))
        return done

    def _records_null(self, plan: Plan) -> bool:
        return self.record_null and plan.steer is not None

    def _plans(self, prefixes: Prefixes, rows: list[int], m: int) -> list[Plan]:
        if self.decider.closed(m) is not None:
            return [self.decider.plan(row, m, None) for row in rows]
        states = prefixes.states(rows, self.decider.variant.layers)
        return [self.decider.plan(row, m, state) for row, state in zip(rows, states, strict=True)]

    def _probe(self, prefixes: Prefixes, plans: list[Plan], answers: list[Answer]) -> None:
        probed = [(plan, branches) for plan in plans if (branches := self.decider.probes(plan))]
        together = [branch for _, branches in probed for branch in branches]
        results = iter(prefixes.branch(together) if together else [])
        for plan, _ in probed:
            self.decider.take_probes(plan, answers[plan.row], results)

    def _tail(self, prefixes: Prefixes, answers: list[Answer], rows: list[int]) -> None:
        def take(place: int, done: Completion) -> None:
            row = rows[place]
            record_tail(answers[row], self.decider, row, done)
            self._report(row, answers[row])

        prefixes.branch([self.decider.tail(row, answers[row]) for row in rows], take)


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
