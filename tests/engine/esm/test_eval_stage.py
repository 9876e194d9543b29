"""Running figures of an evaluation, by hand, without a model."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.esm.evaluation import eval_stage, eval_work
from engine.esm.evaluation.answer_lines import AnswerLine, append_answers, step_of
from engine.esm.evaluation.eval_stage import _Job
from engine.esm.evaluation.eval_work import AnsweredBatch, Answering, Batch
from engine.esm.online.control_point import Answer
from engine.events import DecisionTaken, ExampleEvaluated, MethodEvaluated
from engine.files import read_jsonl
from tests.small_esm import answer_line


class Context:
    """What the stage tells."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.events: list[MethodEvaluated] = []
        self.told: list[tuple[int, int, int, str]] = []

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def progress(self, done: int, total: int, spent: int, note: str) -> None:
        self.told.append((done, total, spent, note))


def begun(folder: Path, methods: list[str], examples: int) -> tuple[_Job, Context]:
    """A stage of which nothing is done yet."""
    job, context = _Job.__new__(_Job), Context(folder)
    vars(job).update(
        context=context, config=Config(), examples=[SimpleNamespace(id=str(i)) for i in range(examples)],
        names=methods, lines={name: [] for name in methods}, seconds=defaultdict(float), tokens=Counter(),
        figured=Counter(),
    )  # fmt: skip
    return job, context


def batch(method: str, first: int, seconds: float, *answers: tuple[int, int, bool]) -> AnsweredBatch:
    """Answers of (committed, probe tokens, right)."""
    lines = [
        answer_line(example_id=str(first + i), tokens_used=used, probe_tokens_used=probed,
                    budget_used=used + probed, correct=right)
        for i, (used, probed, right) in enumerate(answers)
    ]  # fmt: skip
    return AnsweredBatch(method, lines, seconds)


def test_speed_is_that_of_all_batches_so_far(tmp_path: Path) -> None:
    """Thirty tokens in two seconds, then fifty in two: probes count for the speed, and have a mean of their own."""
    job, context = begun(tmp_path, ["esm"], 4)
    job.config = Config.model_validate({"decode": {"max_new_tokens": 33}})
    job.record_batch(batch("esm", 0, 2.0, (8, 2, True), (16, 4, False)))
    job.record_batch(batch("esm", 2, 2.0, (20, 0, True), (26, 4, True)))
    figures = [
        (
            event.n,
            event.accuracy,
            event.mean_tokens,
            event.mean_probe_tokens,
            event.tokens_per_second,
            event.final,
        )
        for event in context.events
    ]
    assert figures == [
        (2, 0.5, 12.0, 3.0, 15.0, False), (4, 0.75, 17.5, 2.5, 20.0, False), (4, 0.75, 17.5, 2.5, 20.0, True)
    ]  # fmt: skip
    assert context.told == [(2, 4, 30, "esm"), (4, 4, 50, "esm")]
    assert read_jsonl(tmp_path / "esm/eval/esm/summary.jsonl") == [
        {"method": "esm", "n": 4, "acc": 0.75, "T_max": 33}
    ]


def test_a_method_s_speed_is_that_of_its_own_batches(tmp_path: Path) -> None:
    """Greedy took eight seconds for as many tokens as esm wrote in two."""
    job, context = begun(tmp_path, ["greedy", "esm"], 1)
    job.record_batch(batch("greedy", 0, 8.0, (40, 0, True)))
    job.record_batch(batch("esm", 0, 2.0, (30, 10, True)))
    speeds = {(event.method, event.tokens_per_second) for event in context.events}
    assert speeds == {("greedy", 5.0), ("esm", 20.0)}


def test_a_resumed_stage_tells_of_every_method_whether_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are have their last figures before anything further is answered."""
    did: list[str] = []
    job = SimpleNamespace(
        sources=SimpleNamespace(memory=None), total=4, recover=lambda: 2, names=["greedy", "esm"], lines={},
        end_if_whole=did.append, batches=lambda: iter(["a batch"]), record_batch=did.append,
    )  # fmt: skip
    monkeypatch.setattr(eval_stage, "_Job", lambda context: job)
    monkeypatch.setattr(eval_stage, "write_report", lambda *given: did.append("report"))
    context: Any = SimpleNamespace(
        config=Config(), run_dir=tmp_path, prepare=lambda work: lambda batches: batches,
        start=lambda total, done, unit: did.append(f"{done} of {total} {unit}"),
    )  # fmt: skip
    eval_stage.Evaluate().run(context)
    assert did == ["2 of 4 answers", "greedy", "esm", "a batch", "report"]


def test_running_figures_are_told_again_where_answers_have_grown_by_a_fiftieth(tmp_path: Path) -> None:
    """A hundred answers, then one by one: 102 are the next ones, and the last figures come at the end."""
    job, context = begun(tmp_path, ["esm"], 103)
    for first, count in ((0, 100), (100, 1), (101, 1), (102, 1)):
        job.record_batch(batch("esm", first, 1.0, *[(1, 0, True)] * count))
    assert [(event.n, event.final) for event in context.events] == [(100, False), (102, False), (103, True)]
    assert [done for done, *_ in context.told] == [100, 101, 102, 103], "how far it is, each time"


def test_a_method_is_compared_with_greedy_over_what_it_has_answered(tmp_path: Path) -> None:
    job, context = begun(tmp_path, ["greedy", "esm"], 4)
    job.record_batch(batch("greedy", 0, 1.0, *[(5, 0, right) for right in (True, False, False, False)]))
    assert [event.difference for event in context.events] == [None, None]
    job.record_batch(batch("esm", 0, 1.0, (5, 0, True), (5, 0, True)))
    last = context.events[-1]
    assert (last.n, last.difference, last.fixed, last.broken) == (2, pytest.approx(0.5), 1, 0)
    assert context.told[-1] == (6, 8, 10, "esm")


def test_what_is_left_is_cut_at_the_same_places_as_ever(tmp_path: Path) -> None:
    """Of seven examples greedy has three, in batches of three; esm has none, in batches of two."""
    job, _ = begun(tmp_path, ["greedy", "esm"], 7)
    sizes = {"eval": {"batch_size_greedy": 3}, "online": {"batch_size_examples": 2}}
    job.config = Config.model_validate(sizes)
    job.lines["greedy"] = batch("greedy", 0, 0.0, *[(1, 0, True)] * 3).lines
    cut = [(one.method, one.first, [example.id for example in one.examples]) for one in job.batches()]
    assert cut == [
        ("greedy", 3, ["3", "4", "5"]), ("greedy", 6, ["6"]),
        ("esm", 0, ["0", "1"]), ("esm", 2, ["2", "3"]), ("esm", 4, ["4", "5"]), ("esm", 6, ["6"]),
    ]  # fmt: skip
    assert job.total == 14


def test_whole_batches_of_an_earlier_attempt_are_kept(tmp_path: Path) -> None:
    job, _ = begun(tmp_path, ["greedy", "esm"], 5)
    job.config = Config.model_validate(
        {"eval": {"batch_size_greedy": 2}, "online": {"batch_size_examples": 4}}
    )
    for method, count in (("greedy", 3), ("esm", 5)):
        append_answers(job.path(method), batch(method, 0, 0.0, *[(1, 0, True)] * count).lines)
    assert job.recover() == 2 + 5
    assert [len(job.lines[method]) for method in job.names] == [2, 5]
    assert len(read_jsonl(job.path("greedy"))) == 2


def test_an_answer_s_line_and_its_event_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch begins at example 5; its second answer ends first. A marked answer is asked for on its own."""
    decisions = [
        DecisionTaken(method="esm", example="e6", m=1, gate="chosen", chosen="w1", alpha=1.5),
        DecisionTaken(method="esm", example="e6", m=2, gate="null_best"),
    ]
    answers = {
        1: Answer("e6", [1, 2, 3], "six", 4, 1, decisions, ended=True),
        0: Answer("e5", [1], "five", 0, 0, [], ended=True),
    }
    examples: Any = [SimpleNamespace(id=f"e{n}", question=f"Q{n}", answer=f"{n}") for n in (5, 6)]
    events: list[Any] = []
    now, made = iter((10.0, 12.5, 20.0, 20.5)), list[tuple[Any, ...]]()
    task = SimpleNamespace(
        extract=lambda text: {"five": "5", "six": "7"}[text],
        extract_marked=lambda text: {"five": "", "six": "6"}[text],
        is_correct=lambda pred, gold: pred == gold,
    )
    model, sources, variant = object(), object(), object()
    monkeypatch.setattr(eval_work, "configured_task", lambda section: task)
    monkeypatch.setattr(eval_work, "encoded_prompt", lambda config, task, model, example: [example.question])
    monkeypatch.setattr(eval_work, "make_variant", lambda *of: made.append(of) or variant)

    class Controlled:
        def __init__(self, *given: Any) -> None:
            *of, self.emit, self.ended = given
            assert of == [model, config, variant]

        def run(self, names: list[str], prompts: list[list[str]]) -> None:
            assert (names, prompts) == (["e5", "e6"], [["Q5"], ["Q6"]])
            for place, answer in answers.items():
                self.emit(place)
                self.ended(place, answer)

    monkeypatch.setattr(eval_work, "Controller", Controlled)
    config = Config()
    context: Any = SimpleNamespace(
        load_model=lambda section: model, clock=lambda: next(now), emit=events.append
    )
    answer = Answering(config, sources).open(context)  # type: ignore[arg-type]
    done = answer(Batch("esm", 5, examples))
    five = AnswerLine(
        index=5, example_id="e5", question="Q5", text="five", pred="5", gold="5", correct=True, correct_strict=False,
        tokens_used=1, probe_tokens_used=0, budget_used=1, steered=0, steps=[],
    )  # fmt: skip
    six = AnswerLine(
        index=6, example_id="e6", question="Q6", text="six", pred="7", gold="6", correct=False, correct_strict=True,
        tokens_used=3, probe_tokens_used=4, budget_used=7, steered=1, steps=[step_of(one) for one in decisions],
    )  # fmt: skip
    assert (done.method, done.lines, done.seconds) == ("esm", [five, six], 2.5)
    assert events == [
        1,
        ExampleEvaluated(
            method="esm", index=6, example="e6", question="Q6", gold="6", pred="7", correct=False, tokens_used=3,
            probe_tokens_used=4, budget_used=7, decisions=2, steered=1, text="six",
        ),
        0,
        ExampleEvaluated(
            method="esm", index=5, example="e5", question="Q5", gold="5", pred="5", correct=True, tokens_used=1,
            probe_tokens_used=0, budget_used=1, decisions=0, steered=0, text="five",
        ),
    ]  # fmt: skip
    assert answer(Batch("esm", 5, examples)).seconds == 0.5
    assert made == [("esm", model, config, sources)], "the rules of a method are made once"
