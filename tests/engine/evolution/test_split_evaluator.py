"""A split asked, judged, kept, cut and scored: a server, a judge and answers of a few letters, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.evolution import EvolutionSection
from engine.config.models.model import ModelSection
from engine.config.run import RunSection
from engine.events import AnswerJudged, AnswersScored, Event, Notice, StageProgress
from engine.evolution import layout
from engine.evolution.answers import AnswerFile, AnswerRecord, split_sizes
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.clusters.descriptions import ClusterDescription
from engine.evolution.deltas import zero_deltas
from engine.evolution.history import History, Iteration
from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.evolution.minibatch import QuestionSplits
from engine.evolution.questions import ask
from engine.evolution.reflectors.prompt import Prompts
from engine.evolution.scoring.score import Outcome, score
from engine.evolution.scoring.split_evaluator import SplitEvaluator
from engine.evolution.splits import BASELINE, MINIBATCH, ON_TEST, VALIDATION, brief_split
from engine.files import read_jsonl
from engine.lm.loading.load import load_model
from engine.lm.model_server import ModelAnswer, ModelQuestion, OnAnswer
from engine.run.stage import StageContext
from engine.servers.spent import Spent
from engine.tasks.example import TaskExample
from tests.offline_evolution import offline

LETTERS = "abcd"
"""The vocabulary; any other letter is the token behind it, which has neither text nor cluster."""
CALL = Spent(1, 10, 0.1111111)
"""What a verdict costs."""


def tokens_of(text: str) -> list[int]:
    return [LETTERS.index(letter) if letter in LETTERS else len(LETTERS) for letter in text]


class Letters:
    """Finds an answer right that has the gold letter in it, and fails at one with a `d`."""

    name = "letters"

    def __init__(self, usage: Spent = CALL) -> None:
        self.usage, self.dead, self.asked = usage, False, list[tuple[str, list[str], str]]()
        self.outside: set[str] = set()
        """Questions on which it cannot tell."""

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        return "no letter is asked for" if question in self.outside else ""

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        self.asked.append((question, list(golds), answer))
        if self.dead or "d" in answer:
            failed = JudgeFailed(what="no verdict", where="the judge", hint="ask another")
            failed.spent = self.usage
            raise failed
        return Verdict(any(gold in answer for gold in golds), f"read {answer}", self.usage)


class Saying:
    """A server that says what `says` gives for a prompt under a processor's file; "" is the name of none."""

    name = "saying"

    def __init__(self, says: Callable[[str, str], str]) -> None:
        self.says, self.under = says, "nothing was started"
        self.asked: list[list[ModelQuestion]] = []
        self.started: list[str] = []

    def stop(self) -> None: ...

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        self.under = "" if processor is None else processor.name
        self.started.append(self.under)

    def answer(
        self, questions: Sequence[ModelQuestion], checkpoint: Callable[[], None], answered: OnAnswer
    ) -> list[ModelAnswer]:
        self.asked.append(list(questions))
        answers = []
        for number, question in enumerate(questions):
            checkpoint()
            text = self.says(question.prompt, self.under)
            answers.append(ModelAnswer(text, tokens_of(text)))
            answered(number, answers[-1])
        return answers

    def log_tail(self) -> list[str]:
        return []


def question(name: str) -> TaskExample:
    meta = {"prompt": f"Ask {name}", "answers": ["c", "C"]}
    return TaskExample(name, f"{name}?", "c", meta=meta)


def iteration(number: int, deltas: float = 0.0, **more: Any) -> Iteration:
    """A finished one, whose minibatch had a right answer of 10 tokens and a wrong one of 20."""
    found = score([Outcome(10, True), Outcome(20, False)], 10.0)
    return Iteration(iteration=number, deltas=dict.fromkeys("012", deltas), examples=[], score=found, **more)


class ByHand(SimpleNamespace):
    """An `EvolutionRun` in `folder`, with its `events`; `looks` counts checkpoints."""

    def __init__(
        self, folder: Path, says: dict[str, str] | Callable[[str, str], str], **changes: Any
    ) -> None:
        sizes = {"minibatch_size": 2, "validation_size": 3, "test_size": 3, "batch_size": 2, "iterations": 5}
        steered = {"SHORTNESS_SCALE": 10, "model": ModelSection(path="statements")}
        section = EvolutionSection(**offline({**sizes, **steered, **changes}))
        self.events: list[Event] = []
        self.looks = 0
        told = {f"Ask {name}": text for name, text in says.items()} if isinstance(says, dict) else {}
        by_prompt = (lambda prompt, _: told[prompt]) if isinstance(says, dict) else says
        pool, validation, test = ([question(f"{kind}{n}") for n in range(3)] for kind in "pvt")
        if not section.test_size:
            test = []
        config = Config(evolution=section, run=RunSection(seed=5))
        self.context = StageContext("evolve", config, folder, self.events.append, self._poll, load_model)
        self.answers = AnswerFile.open(layout.answers(folder), section.batch_size, split_sizes(section))
        self.questions = QuestionSplits(pool, validation, test, section.minibatch_size, 0)
        self.server, self.judge = Saying(by_prompt), Letters()
        self.clusters = ClusterMap(np.array([0, 1, 2, NO_CLUSTER], dtype=np.uint8), 3, "v")
        decode = SimpleNamespace(decode=lambda tokens: "".join(LETTERS[token] for token in tokens))
        self.vocabulary = SimpleNamespace(texts=list(LETTERS), tokenizer=decode)
        self.history = History(iterations=[iteration(0)])
        self.initial = zero_deltas(self.clusters.names)
        self.descriptions = {name: ClusterDescription(f"cluster {name}", 1) for name in self.clusters.names}
        self.prompts = Prompts("Tune.", "{{ cot_summary }}|{{ all_responses_with_correctness }}", 100)

    def _poll(self) -> None:
        self.looks += 1

    def evaluator(self) -> SplitEvaluator:
        made: Any = self
        return SplitEvaluator(made)

    def of_kind(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def told(self) -> list[AnswerJudged]:
        """Answers in the order of their questions; they are told as their verdicts come."""
        return sorted(self.of_kind(AnswerJudged), key=lambda event: event.example)


def record(name: str, text: str, correct: bool | None = True, **more: Any) -> AnswerRecord:
    fields: dict[str, Any] = {"iteration": 2, "split": VALIDATION, "reasoning": ""} | more
    return AnswerRecord(example_id=name, answer=text, token_ids=tokens_of(text), correct=correct, **fields)


def test_the_questions_of_a_split(tmp_path: Path) -> None:
    evolution = ByHand(tmp_path, {})
    evaluator = evolution.evaluator()
    assert evaluator.examples(3, MINIBATCH) == evolution.questions.minibatch(3)
    names = {
        split: " ".join(example.id for example in evaluator.examples(0, split))
        for split in (VALIDATION, BASELINE, brief_split(0), *ON_TEST)
    }
    assert names == {
        **dict.fromkeys(("validation", "baseline", "brief_1"), "v0 v1 v2"),
        **dict.fromkeys(("test", "test_plain", "test_brief"), "t0 t1 t2"),
    }
    evolution.answers.add([record("v0", "a"), record("v1", "a")])
    assert not evaluator.is_complete(2, VALIDATION)
    evolution.answers.add([record("v2", "a")])
    assert evaluator.is_complete(2, VALIDATION) and not evaluator.is_complete(1, VALIDATION)


def test_sizes_of_the_splits() -> None:
    sizes = {
        "minibatch_size": 2,
        "validation_size": 3,
        "test_size": 4,
        "brief_prompts": ["Be brief.", "One."],
    }
    assert split_sizes(EvolutionSection(**offline(sizes))) == {
        "minibatch": 2, "validation": 3, "baseline": 3, "brief_1": 3, "brief_2": 3,
        "test": 4, "test_plain": 4, "test_brief": 4,
    }  # fmt: skip


def test_a_split_is_asked_batch_by_batch_and_each_answer_is_told(tmp_path: Path) -> None:
    """One with a token that has neither text nor cluster; told again, and not asked again, when it is stored."""
    said = {"v0": "aac", "v1": "b", "v2": "cz"}
    evolution = ByHand(tmp_path, lambda prompt, _: said[prompt.removesuffix("\n\nBe brief.")[-2:]])
    evaluator = evolution.evaluator()
    found = evaluator.ask(2, VALIDATION, "Be brief.")
    config = evolution.context.config
    wanted = [ask(example, config, 2, "Be brief.") for example in evolution.questions.validation]
    assert evolution.server.asked == [wanted[:2], wanted[2:]]
    assert [one.prompt for one in wanted] == [f"Ask {name}\n\nBe brief." for name in said]
    assert evolution.looks == 2 + 3, "before each batch, and whenever the server looks"
    assert found == [
        record("v0", "aac", reasoning="read aac", usage=CALL),
        record("v1", "b", False, reasoning="read b", usage=CALL),
        record("v2", "cz", reasoning="read cz", usage=CALL),
    ]
    same = {"iteration": 2, "split": "validation", "gold": "c"}
    told = [
        AnswerJudged(example="v0", question="v0?", answer="aac", tokens=3, correct=True, reasoning="read aac",
                     pieces=["a", "a", "c"], clusters=[0, 0, 2], **same),
        AnswerJudged(example="v1", question="v1?", answer="b", tokens=1, correct=False, reasoning="read b",
                     pieces=["b"], clusters=[1], **same),
        AnswerJudged(example="v2", question="v2?", answer="cz", tokens=2, correct=True, reasoning="read cz",
                     pieces=["c"], clusters=[2], **same),
    ]  # fmt: skip
    assert evolution.told() == told
    assert [(one.done, one.total, one.tokens, one.note) for one in evolution.of_kind(StageProgress)] == [
        (1, 5, 4, "iteration 1: validation 2/3"),
        (1, 5, 6, "iteration 1: validation 3/3"),
    ]
    again = ByHand(tmp_path, {})
    assert again.evaluator().ask(2, VALIDATION, "Be brief.") == found
    assert again.events == told and not again.judge.asked and again.looks == 0


@pytest.mark.parametrize(
    ("split", "note"),
    [
        ("baseline", "baseline 3/3"),
        ("test_plain", "test_plain 3/3"),
        ("minibatch", "iteration 1: minibatch 2/2"),
    ],
)
def test_only_what_belongs_to_an_iteration_names_one(tmp_path: Path, split: str, note: str) -> None:
    evolution = ByHand(tmp_path, lambda prompt, _: "c")
    evolution.evaluator().ask(0, split)
    assert evolution.of_kind(StageProgress)[-1].note == note


def test_the_rest_of_a_split_is_asked_where_an_attempt_ended(tmp_path: Path) -> None:
    """What was stored is told first; though the judge failed on it, it is judged again only once the split is whole."""
    evolution = ByHand(tmp_path, {"v2": "c"})
    evolution.answers.add([record("v0", "ac", None), record("v1", "b", None)])
    found = evolution.evaluator().ask(2, VALIDATION)
    assert [(event.example, event.correct) for event in evolution.of_kind(AnswerJudged)] == [
        ("v0", None), ("v1", None), ("v2", True),
    ]  # fmt: skip
    assert [one.example_id for one in found] == ["v0", "v1", "v2"]
    assert [asked for *_, asked in evolution.judge.asked] == ["c"]
    (progress,) = evolution.of_kind(StageProgress)
    assert (progress.note, progress.tokens) == ("iteration 1: validation 3/3", 1)


def test_answers_of_a_judge_that_was_dead_are_judged_again_batch_by_batch(tmp_path: Path) -> None:
    """Three attempts at each of three answers, then one: all of them are charged."""
    evolution = ByHand(tmp_path, {"v0": "aac", "v1": "b", "v2": "c"})
    evolution.judge.dead = True
    before = evolution.evaluator().ask(2, VALIDATION)
    assert {(one.correct, one.cannot_tell, one.usage) for one in before} == {
        (None, False, CALL + CALL + CALL)
    }
    assert {one.reasoning for one in before} == {"no verdict (the judge): ask another"}
    later = ByHand(tmp_path, {})
    after = later.evaluator().ask(2, VALIDATION)
    four = CALL + CALL + CALL + CALL
    assert after == [
        record("v0", "aac", reasoning="read aac", usage=four),
        record("v1", "b", False, reasoning="read b", usage=four),
        record("v2", "c", reasoning="read c", usage=four),
    ]
    assert [(event.example, event.correct) for event in later.told()] == [
        ("v0", True),
        ("v1", False),
        ("v2", True),
    ]
    assert later.looks == 2, "before each batch"
    assert sorted(later.judge.asked) == [(f"{name}?", ["c", "C"], text) for name, text in
                                         (("v0", "aac"), ("v1", "b"), ("v2", "c"))]  # fmt: skip
    assert [line["correct"] for line in read_jsonl(layout.answers(tmp_path))] == [True, False, True]
    assert not later.of_kind(StageProgress)


@pytest.mark.parametrize(
    ("correct", "outside", "again"),
    [((None, None, None), {"v1"}, 3), ((None, None, None), {"v0", "v1", "v2"}, 0), ((None, True, None), {"v0"}, 0)],
)  # fmt: skip
def test_answers_are_judged_again_only_where_none_has_a_verdict_and_the_judge_failed_on_some(
    tmp_path: Path, correct: tuple[bool | None, ...], outside: set[str], again: int
) -> None:
    """Those of another split, which stand before them in the file, stay."""
    evolution = ByHand(tmp_path, {})
    names = ("v0", "v1", "v2")
    before = [record(name, "a", False, split=BASELINE) for name in names]
    evolution.answers.add(before)
    evolution.answers.add(
        [
            record(name, "c", verdict, cannot_tell=name in outside)
            for name, verdict in zip(names, correct, strict=True)
        ]
    )
    evolution.evaluator().ask(2, VALIDATION)
    assert len(evolution.judge.asked) == again
    kept = ByHand(tmp_path, {}).answers
    assert (kept.of_split(2, BASELINE), len(kept.of_split(2, VALIDATION))) == (before, 3)


def test_what_answers_are_worth_that_end_at_a_cap(tmp_path: Path) -> None:
    """Judged again is what is longer, but where the judge cannot tell; kept is what it said and charged."""
    answers = [
        record("v0", "aabc"), record("v1", "aac"), record("v2", "caab", False),
        record("t0", "aaaa", None, cannot_tell=True), record("t1", "ddac"),
    ]  # fmt: skip
    worth = [Outcome(3, False), Outcome(3, True), Outcome(3, True), Outcome(3, None, True), Outcome(3, None)]
    evolution = ByHand(tmp_path, {})
    evaluator = evolution.evaluator()
    assert evaluator.spent_on_caps == Spent()
    assert evaluator.cut(answers, 3) == worth
    gold = ["c", "C"]
    thrice = [("t1?", gold, "dda")] * 3
    assert sorted(evolution.judge.asked) == [*thrice, ("v0?", gold, "aab"), ("v2?", gold, "caa")]
    assert evolution.looks > 0
    five, kept = evaluator.spent_on_caps, sorted(read_jsonl(layout.cut_verdicts(tmp_path)), key=str)
    assert (five.calls, five.tokens, round(five.cost, 9)) == (5, 50, 0.5555555)
    cost = {"calls": 1, "tokens": 10, "cost": 0.1111111}
    assert kept == [
        {"split": "validation", "example_id": "v0", "cap": 3, "correct": False, "usage": cost},
        {"split": "validation", "example_id": "v2", "cap": 3, "correct": True, "usage": cost},
    ]
    later = ByHand(tmp_path, {})
    evaluator = later.evaluator()
    assert evaluator.spent_on_caps == CALL + CALL
    assert evaluator.cut(answers, 3) == worth and later.judge.asked == thrice
    assert evaluator.spent_on_caps.calls == 2 + 3
    later.judge.asked.clear()
    assert evaluator.cut([record("v0", "aabc", split=BASELINE)], 3) == [Outcome(3, False)]
    assert evaluator.cut(answers[:2], 2) == [Outcome(2, False)] * 2
    asked = [text for *_, text in later.judge.asked]
    assert asked[0] == "aab" and asked[1:] == ["aa", "aa"], "of another split, and at another cap"
    assert evaluator.cut(answers[:2], 4) == [Outcome(4, True), Outcome(3, True)] and len(asked) == 3


def test_verdicts_that_cost_nothing_are_not_kept(tmp_path: Path) -> None:
    evolution = ByHand(tmp_path, {})
    evolution.judge.usage = Spent()
    assert evolution.evaluator().cut([record("v0", "aac")], 2) == [Outcome(2, False)]
    assert not layout.cut_verdicts(tmp_path).exists()


def test_a_split_s_score_and_the_judge_s_failures_are_told(tmp_path: Path) -> None:
    """At a scale of 10 tokens: 2.5 tokens and half of two are 0.4 / 1.25 + 0.6 / 2."""
    evolution = ByHand(tmp_path, {})
    evaluator = evolution.evaluator()
    evolution.answers.add(
        [record("v0", "aac"), record("v1", "b", False), record("v2", "cccc", None, cannot_tell=True)]
    )
    evaluator.report_score(2, VALIDATION)
    assert not evolution.of_kind(Notice)
    evolution.answers.add([record("v3", "dd", None)])
    evolution.events.clear()
    found = evaluator.report_score(2, VALIDATION, best=True)
    assert found == evaluator.score(2, VALIDATION)
    notice, told = evolution.events
    text = "the judge failed on 1 of 4 answers (validation of iteration 2); they are left out"
    assert notice == Notice(text=text, level="warning")
    assert told == AnswersScored(
        iteration=2, split="validation", answers=4, judged=2, correct=1, mean_tokens=2.5, shortness=0.8,
        correctness=0.5, composite=0.4 * 0.8 + 0.6 * 0.5, error=found.error, cannot_tell=1, best=True,
    )  # fmt: skip
    assert found.error == pytest.approx((0.4 / 1.3 + 0.6 - 0.4 / 1.1) / 2)


def test_what_judging_an_iteration_cost(tmp_path: Path) -> None:
    """The answers without processor belong to the first one; those of the test set to none."""
    evolution = ByHand(tmp_path, {})
    evaluator = evolution.evaluator()
    for number in (0, 1):
        for calls, split in ((1, MINIBATCH), (10, VALIDATION), (100, BASELINE), (1000, "test")):
            usage = Spent(calls * (number + 1), 1, 0.5)
            evolution.answers.add([record("v0", "a", iteration=number, split=split, usage=usage)])
    assert (evaluator.usage(0), evaluator.usage(1)) == (Spent(111, 3, 1.5), Spent(22, 2, 1.0))
    assert evaluator.usage_of((1, BASELINE), (0, "test")) == Spent(1200, 2, 1.0)
    assert evaluator.usage_of() == evaluator.usage_of((7, VALIDATION)) == Spent()


def test_no_more_answers_are_judged_at_once_than_are_asked(tmp_path: Path) -> None:
    at_once = [ByHand(tmp_path, {}, batch_size=size).evaluator()._at_once for size in (2, 64, 65)]
    assert at_once == [2, 64, 64]
