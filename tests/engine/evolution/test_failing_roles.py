"""A reflector that gives no deltas, and a judge that costs, fails, or cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.config.stages import STAGES
from engine.errors import ConfigError, DataError, SteerError
from engine.events import (
    AnswerJudged,
    AnswersScored,
    EvolutionBegan,
    MethodCompared,
    Notice,
    ReflectorReplied,
)
from engine.evolution import from_config, layout
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import Iteration, read_history
from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.evolution.reflectors.reflection import read_stored_reply
from engine.evolution.reflectors.reflector import (
    ReflectorFailed,
    ReflectorInput,
    ReflectorReply,
)
from engine.evolution.report import _chosen_by
from engine.evolution.scoring.score import Outcome, score
from engine.files import read_jsonl
from engine.lm.protocol import LanguageModel
from engine.run.gate import StopRequested
from engine.servers.spent import Spent
from tests.engine.evolution.small_evolution import EMPTY_REPLY, NOTHING_COMPARED, configured, finish_stage
from tests.exactly import exactly
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors", "undrawn_plot")


class Failing:
    """A reflector that fails in the iterations it is told to, and has one reply refused in the others."""

    name = "failing"

    def __init__(self, fails: set[int]) -> None:
        self.fails = fails

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        if given.iteration in self.fails:
            failed = ReflectorFailed(what="it refused", where="the reflector", hint="ask another")
            failed.refused = [EMPTY_REPLY, EMPTY_REPLY]
            raise failed
        deltas = {name: value + 0.1 for name, value in given.deltas.items()}
        return ReflectorReply(deltas, "It went well.", refused=[EMPTY_REPLY])


def test_an_iteration_without_reply_is_kept_and_the_next_goes_on(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, but not in a row: it has not given up."""
    monkeypatch.setattr("engine.config.evolution.EvolutionSection.failures", 2)
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 3}))
    events = run_stage(Evolve(), configured(iterations=4, **NOTHING_COMPARED), run, model)
    history = read_history(layout.history(run)).iterations
    assert "it refused" in history[1].aborted and history[1].new_deltas is None
    assert history[2].deltas == history[1].deltas and history[2].examples != history[1].examples
    told = [event for event in events if isinstance(event, ReflectorReplied)]
    assert [bool(event.aborted) for event in told] == [False, True, False, True]
    assert [event.refused for event in told] == [
        [EMPTY_REPLY],
        [EMPTY_REPLY, EMPTY_REPLY],
        [EMPTY_REPLY],
        [EMPTY_REPLY, EMPTY_REPLY],
    ]
    assert [event.attempts for event in told] == [2, 2, 2, 2]
    assert list(read_stored_reply(layout.reflector_reply(run, 0)).refused) == [EMPTY_REPLY], (
        "what a resumed run reads"
    )
    kept = [layout.reflector_reply(run, iteration).is_file() for iteration in range(4)]
    assert kept == [True, False, True, False], "a reply that failed is asked for again"


GAVE_UP = exactly(
    "the reflector gave no valid reply in 3 iterations in a row: it refused (the reflector): ask another "
    "(evolution.reflector): correct what it says and resume, with more `evolution.iterations` where all are done: "
    "every finished iteration is kept; or start a run with `evolution.reflector.kind: statistical`, the offline "
    "reflector"
)


def test_a_reflector_that_always_fails_ends_the_stage_and_loses_nothing(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 2, 3}))
    config = configured(iterations=6, **NOTHING_COMPARED)
    with pytest.raises(
        SteerError,
        match=GAVE_UP,
    ):
        run_stage(Evolve(), config, run, model)
    assert len(read_history(layout.history(run)).iterations) == 4
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", from_config.make_reflector)
    run_stage(Evolve(), config, run, model)
    assert len(read_history(layout.history(run)).iterations) == 6


def test_a_reflector_that_gave_up_at_the_end_is_told_again(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left to iterate then, and still this is no end like any other."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_reflector", lambda context: Failing({1, 2, 3}))
    told = []
    for _ in range(2):
        with pytest.raises(
            SteerError,
            match=GAVE_UP,
        ) as caught:
            run_stage(Evolve(), configured(iterations=4), run, model)
        told.append(str(caught.value))
    assert told[0] == told[1]
    run_stage(Evolve(), configured(iterations=5), run, model)
    assert len(read_history(layout.history(run)).iterations) == 5


class Priced:
    """A judge that costs, fails at every answer it is told to, and is stopped at one."""

    name = "priced"

    def __init__(self, fails: set[int] | None = None, stops: int = 0) -> None:
        self.asked, self.fails, self.stops = 0, fails or set(), stops

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return ""

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        self.asked += 1
        if self.asked == self.stops:
            raise StopRequested
        usage = Spent(calls=1, tokens=10, cost=0.5)
        if self.asked in self.fails:
            failed = JudgeFailed(what="no verdict", where="the judge", hint="ask another")
            failed.spent = usage
            raise failed
        return Verdict(True, "fine", usage)


def test_a_budget_ends_it(run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first iteration takes 8 + 6 + 8 verdicts; no second one is begun."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: Priced())
    result = finish_stage(run, configured(iterations=9, max_cost=10), model)
    assert len(read_history(layout.history(run)).iterations) == 1
    assert str(result.summary["ended"]) == "11 is spent"


def test_verdicts_that_failed_are_charged(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer 3 gets its verdict at the second attempt, and of the rest none fails: one call more than answers."""
    judge = Priced({3})
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: judge)
    run_stage(Evolve(), configured(iterations=1), run, model)
    usage = read_history(layout.history(run)).usage
    assert (usage.calls, usage.tokens, usage.cost) == (23, 230, 11.5)


def test_a_judge_that_was_dead_judges_when_it_is_back(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers it failed on are kept and judged anew, not asked for again; what failed before is charged."""
    dead, alive = Priced(set(range(1000))), Priced()
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: dead)
    for _ in range(2):
        with pytest.raises(
            DataError,
            match=exactly(
                "none of 8 answers could be judged: on 0 the judge cannot tell, on 8 it failed (evolution.judge): see"
                " why in the notices, correct that and resume: the answers are kept; or start a run with "
                "`evolution.judge.kind: auto`, an offline judge"
            ),
        ):
            run_stage(Evolve(), configured(iterations=1), run, model)
    kept = read_jsonl(layout.answers(run))
    assert kept and all(one["correct"] is None for one in kept)
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: alive)
    run_stage(Evolve(), configured(iterations=1), run, model)
    after = read_jsonl(layout.answers(run))
    assert [one["answer"] for one in after[: len(kept)]] == [one["answer"] for one in kept]
    assert all(one["correct"] for one in after)
    history = read_history(layout.history(run))
    assert history.usage.calls == dead.asked + 22


def test_the_summary_tells_of_every_call(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of those for the test set, and for its answers that were cut to a length cap. At those a stop comes, in the
    fiftieth call: what the judge has said by then is not asked again."""
    stopped, judge = Priced(stops=50), Priced()
    judges = iter([stopped, judge])
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: next(judges))
    with pytest.raises(StopRequested):
        finish_stage(run, configured(iterations=1), model)
    kept = str(layout.cut_verdicts(run).relative_to(run))
    assert 0 < len(read_jsonl(run / kept)) < 50 and kept in STAGES["evolve"].writes
    result = finish_stage(run, configured(iterations=1), model)
    assert kept in result.files
    summary, verdict = result.summary, result.verdict
    assert verdict is not None and verdict.cost == summary["spent_cost"]
    calls = stopped.asked - 1 + judge.asked
    assert summary["spent_calls"] == calls > 50 > 22 + 8 + 5 + 5 + 5
    assert summary["spent_tokens"] == 10 * calls and summary["spent_cost"] == calls / 2


class Narrow(Priced):
    """It judges questions of last year only, and calls all answers to them right."""

    name = "narrow"

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return "" if "last year" in question else "not of last year"

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        verdict = super().judge(question, golds, answer)
        reason = self.cannot_tell(question, golds)
        return Verdict(None, reason, verdict.usage) if reason else verdict


def test_the_summary_without_a_test_set_counts_the_judged_answers() -> None:
    """Two of four: of the others, the judge cannot tell on one, and failed on one."""
    outcomes = [Outcome(10, True), Outcome(20, False), Outcome(30, None, True), Outcome(40, None)]
    best = Iteration(iteration=0, deltas={}, examples=[], score=score(outcomes, 100.0))
    assert _chosen_by(best) == {
        "measured_on": "its minibatch, which chose it",
        "composite": round(0.4 / 1.25 + 0.6 / 2, 4),
        "tokens": 25.0,
        "judged": 2,
        "cannot_tell": 1,
        "correctness": 0.5,
    }


def test_where_the_judge_cannot_tell_answers_are_counted_and_not_scored(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told before anything is asked, in every score and in the comparison; nothing is judged again for it."""
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: Narrow())
    events = run_stage(Evolve(), configured(iterations=1, test_size=8), run, model)
    began = next(event for event in events if isinstance(event, EvolutionBegan))
    assert began.questions == 30 and 0 < began.cannot_tell < 30
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any(f"{began.cannot_tell} of 30 questions are outside" in text for text in notices)
    assert not any("judge failed" in text for text in notices)
    scores = [event for event in events if isinstance(event, AnswersScored)]
    assert all(one.judged + one.cannot_tell == one.answers and one.correctness == 1.0 for one in scores)
    assert any(one.cannot_tell for one in scores)
    told = [event for event in events if isinstance(event, AnswerJudged)]
    assert {(event.correct, event.cannot_tell) for event in told} == {(True, False), (None, True)}
    assert all(event.cannot_tell == ("last year" not in event.question) for event in told)
    rows = [event for event in events if isinstance(event, MethodCompared)]
    assert all(row.n + row.cannot_tell == 8 and row.cannot_tell for row in rows)
    assert "Correct: not judged" in layout.reflector_message(run, 0).read_text()


def test_a_set_that_the_judge_cannot_judge_at_all_is_refused(
    run: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Blind(Narrow):
        def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
            return "no question at all"

    judge = Blind()
    monkeypatch.setattr("engine.evolution.evolution_run.make_judge", lambda context: judge)
    with pytest.raises(
        ConfigError,
        match=exactly(
            "evolution.judge: found narrow: no question at all, expected a judge that can judge some of the "
            "validation set (8 questions): `kind: openai`, or other questions (configuration): correct this value"
        ),
    ):
        run_stage(Evolve(), configured(), run, model)
    assert judge.asked == 0 and not layout.answers(run).exists()
