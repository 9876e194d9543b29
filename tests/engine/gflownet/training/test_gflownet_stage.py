"""The five stages together: files, events, stops, checkpoints, bad input, what if."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from pydantic import ValidationError

from engine.config.gflownet import GFlowNetSection
from engine.errors import DataError
from engine.events import (
    Event,
    EvidenceAnswered,
    EvidenceCompared,
    Notice,
    PathsTried,
    QuestionSampled,
    SamplerEvaluated,
    SamplerStep,
    StageProgress,
    decode,
)
from engine.gflownet import layout
from engine.gflownet.answer.answer_stage import end_is_answer
from engine.gflownet.answer.readers import PathReader
from engine.gflownet.evaluation.evaluator import Evaluation, Evaluator
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.dropped import write_dropped
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.training.gflownet_stage import TrainGFlowNet, _SamplerJob
from engine.gflownet.training.trained_sampler import trained_sampler
from engine.run.gate import StopRequested
from engine.run.stage import StageContext, StageResult
from engine.services.what_if import serve
from tests.engine.gflownet.small_run import SMALL, run_stages, small_config
from tests.exactly import exactly

DATA = ("graphs", "retriever", "agent-graphs")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, DATA)
    return folder


def over(data: Path, folder: Path) -> Path:
    """`folder` as a run directory of its own over the same data."""
    (folder / "gflownet").mkdir(parents=True)
    for path in (data / "gflownet").iterdir():
        (folder / "gflownet" / path.name).symlink_to(path)
    return folder


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    return over(data, tmp_path / "run")


@dataclass
class Trained:
    """A finished run. Read only."""

    folder: Path
    events: list[Event]
    results: list[StageResult]


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder, results = over(data, tmp_path_factory.mktemp("trained") / "run"), list[StageResult]()
    return Trained(folder, run_stages(folder, ("gflownet", "answer"), results=results), results)


@pytest.fixture(scope="module")
def jumpy(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Steps so long that the last weights are not the best."""
    folder, results = over(data, tmp_path_factory.mktemp("jumpy") / "run"), list[StageResult]()
    return Trained(folder, run_stages(folder, ("gflownet",), small_config(gflownet=JUMPY), results), results)


@pytest.fixture(scope="module")
def ten_steps(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read only."""
    folder = over(data, tmp_path_factory.mktemp("ten") / "run")
    run_stages(folder, ("gflownet",), small_config(gflownet={"steps": 10}))
    return folder


def test_files_events_and_tables_tell_the_same(trained: Trained):
    folder, events, results = trained.folder, trained.events, trained.results
    steps = [event for event in events if isinstance(event, SamplerStep)]
    log = [json.loads(line) for line in layout.training_log(folder).read_text().splitlines()]
    assert [line["step"] for line in log] == [event.step for event in steps] == list(range(10, 41, 10))
    assert [line["loss"] for line in log] == [event.loss for event in steps]
    test = {
        event.method: event
        for event in events
        if isinstance(event, SamplerEvaluated) and event.split == "test"
    }
    assert set(test) == {"distinct", "gflownet", "greedy", "beam", "prior"}
    assert {m: list(e.settings) for m, e in test.items() if e.settings} == {
        "distinct": ["temperature"], "beam": ["edge_bonus"], "prior": ["stop_score"]
    }  # fmt: skip
    for method in ("gflownet", "prior"):
        assert test[method].listed == test[method].n and 0 < test[method].metrics["total_variation"] < 1
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(layout.metrics(folder).read_text()))}
    assert float(rows["gflownet"]["success@10"]) == test["gflownet"].metrics["success@10"]
    questions = [event for event in events if isinstance(event, QuestionSampled)]
    assert len(questions) == test["gflownet"].n == len(layout.sampled_paths(folder).read_text().splitlines())
    hits = sum(any(path.answers for path in question.paths) for question in questions) / len(questions)
    assert hits == pytest.approx(test["distinct"].metrics["success@10"]), (
        "paths are those the figures are made of"
    )
    assert all(question.distinct for question in questions)
    assert all(path.count == 1 for question in questions for path in question.paths)
    first = sum(bool(question.paths[0].answers) for question in questions) / len(questions)
    assert first == pytest.approx(test["distinct"].metrics["success@1"])
    compared = {event.method: event for event in events if isinstance(event, EvidenceCompared)}
    assert all(row.prompt_tokens <= 40 for row in compared.values())
    assert compared["gflownet"].n == compared["triples"].n == len(questions)
    paths, answers = (result.verdict for result in results)
    assert paths is not None and (paths.method, paths.baseline, paths.k) == ("gflownet", "beam", 10)
    name = "answer_recall_union@10"
    assert paths.value == pytest.approx(test["gflownet"].metrics[name]), "the headline: independent draws"
    assert f"10 distinct paths reach {test['distinct'].metrics[name]:.1%}" in paths.remark
    assert paths.baseline_value == pytest.approx(test["beam"].metrics[name])
    assert paths.difference == pytest.approx(paths.value - paths.baseline_value)
    assert paths.low <= paths.difference <= paths.high
    own = compared["gflownet"]
    assert answers is not None and (answers.value, answers.difference) == (own.hit, own.difference)
    assert (answers.fixed or 0) - (answers.broken or 0) == round((own.difference or 0) * own.n)
    ends = sum(map(end_is_answer, questions)) / len(questions)
    assert ends == pytest.approx(test["distinct"].metrics["hits@1"])


def test_a_reader_that_names_nothing_from_paths_loses_all_that_the_paths_say(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from_paths = cycle([False, True])  # of each question the answer from triples comes first

    def answer(reader: PathReader, prompt: EvidencePrompt) -> str:
        return "unknown" if next(from_paths) else "\n".join(step.tail for step in prompt.triples)

    monkeypatch.setattr(PathReader, "_answer", answer)
    folder, results = over(trained.folder, tmp_path / "run"), list[StageResult]()
    layout.answers(folder).unlink()
    layout.metrics(folder).parent.unlink()
    layout.metrics(folder).parent.mkdir()
    run_stages(folder, ("answer",), results=results)
    questions = [event for event in trained.events if isinstance(event, QuestionSampled)]
    ends = sum(map(end_is_answer, questions)) / len(questions)
    assert ends > 0.3 and results[0].verdict is not None
    assert results[0].verdict.remark.startswith(
        f"Without a reader, the entity at which most paths end answers {ends:.1%} right: the reader loses "
        f"{100 * ends:.0f} points."
    )


def test_the_exported_log_has_the_names_of_train_val_and_test(folder: Path):
    """Losses of the steps, the sampler on validation, its independent draws on test: each in a row of its own."""
    events = run_stages(
        folder, ("gflownet",), small_config(gflownet={"estimator": {"log_pb_mode": "learned"}})
    )
    rows = list(csv.DictReader(io.StringIO(log_csv(folder).read_text())))
    assert [int(row["step"]) for row in rows if row["train/loss"]] == list(range(10, 41, 10))
    assert [int(row["step"]) for row in rows] == sorted(int(row["step"]) for row in rows)
    first = rows[0]
    tested = next(row for row in rows if row["test/success@10"])
    kept = next(
        event.step for event in events if isinstance(event, SamplerEvaluated) and event.split == "test"
    )
    assert kept == 20 != int(rows[-1]["step"]) and int(tested["step"]) == kept, "that of the weights"
    step = next(event for event in events if isinstance(event, SamplerStep))
    learned = ("loss", "tb_loss", "gt_loss", "pb_nll", "pb_entropy", "pb_avg_entropy")
    for name in (*learned, "rollout_reward", "answer_f1", "path_hit_precision", "path_hit_recall"):
        assert float(first[f"train/{name}"]) == pytest.approx(getattr(step, name)), name
    assert step.pb_nll is not None and step.pb_nll > 0 and step.pb_avg_entropy > 0
    assert step.pb_entropy == pytest.approx(-0.01 * step.pb_avg_entropy), "weighted by pb_entropy_coef"
    evaluated = [event for event in events if isinstance(event, SamplerEvaluated)]
    seen = {event.split: event for event in reversed(evaluated) if event.method == "gflownet"}
    validated = next(row for row in rows if row["val/success@10"])
    assert int(validated["step"]) == 20
    over_k = (
        "success@10",
        "path_hit_any@10",
        "answer_recall_union@10",
        "path_hit_f1@3",
        "logpf_logr_spearman",
    )
    for row, split, name in ((validated, "validation", "val"), (tested, "test", "test")):
        for figure in over_k:
            assert float(row[f"{name}/{figure}"]) == pytest.approx(seen[split].metrics[figure]), figure
    assert not tested["train/loss"] and not tested["val/success@10"]


@pytest.mark.parametrize("added", [True, False])
def test_the_progress_line_shows_what_validation_and_test_found(folder: Path, added: bool):
    config = small_config(gflownet={"auto_add_path_hit_f1": added, "path_hit_k": [1, 3]})
    events = run_stages(folder, ("gflownet",), config)
    notes = {event.done: event.note for event in events if isinstance(event, StageProgress) and event.note}
    validated = next(e for e in events if isinstance(e, SamplerEvaluated) and e.split == "validation")
    success = f", val/success@10 {validated.metrics['success@10']:.2f}"
    window = f", val/path_hit_f1@3 {validated.metrics['path_hit_f1@3']:.2f}"
    assert "val/" not in notes[20] and notes[30].endswith(success + (window if added else ""))
    test = next(e.metrics for e in events if isinstance(e, SamplerEvaluated) and e.split == "test")
    success, window = (f"test/{name} {test[name]:.2f}" for name in ("success@10", "path_hit_f1@3"))
    assert notes[40] == (f"{success}, {window}" if added else success)


def test_a_question_whose_answer_no_path_reaches_is_missed_in_the_figures_over_all(tmp_path: Path):
    """A narrow selection loses answers; the questions left out are counted by this test, not by the engine's sums."""
    config = small_config(agent_graphs={"anchor_top_k": 5}, gflownet={"steps": 1})
    events = run_stages(tmp_path, config=config)
    answered = [event for event in events if isinstance(event, EvidenceAnswered)]
    asked = config.graphs.test_size
    missed = asked - len({event.sample_id for event in answered})
    assert missed > 0
    (sampler,) = (
        event
        for event in events
        if isinstance(event, SamplerEvaluated) and (event.method, event.split) == ("distinct", "test")
    )
    questions = [event for event in events if isinstance(event, QuestionSampled)]
    met = [{answer for path in question.paths for answer in path.answers} for question in questions]
    golds = [len(question.golds) for question in questions]
    assert (sampler.n, sampler.missed) == (asked - missed, missed)
    assert sampler.metrics["success_all@10"] == pytest.approx(sum(map(bool, met)) / asked)
    right = sampler.metrics["hits@1"] * sampler.n
    assert right > 0 and sampler.metrics["hits_all@1"] == pytest.approx(right / asked)
    recall = sum(len(found) / count for found, count in zip(met, golds, strict=True)) / asked
    assert sampler.metrics["gold_recall_all@10"] == pytest.approx(recall)
    low, high = sampler.intervals["success_all@10"]
    assert low <= sampler.metrics["success_all@10"] <= high
    for row in (event for event in events if isinstance(event, EvidenceCompared)):
        own = [event for event in answered if event.method == row.method]
        assert row.missed == missed and row.n == asked - missed
        assert (row.hit_all is None) == (row.recall_all is None) == (row.method == "triples")
        if row.hit_all is not None:
            assert row.hit_all == pytest.approx(sum(event.hit for event in own) / asked)
            assert row.recall_all == pytest.approx(sum(event.recall for event in own) / asked)
        assert row.hit == pytest.approx(sum(event.hit for event in own) / row.n)


def sampler_job(folder: Path, events: list[Event], **changes: object) -> Any:
    """A stage of 40 steps whose training is invented."""
    section = {"steps": 40, "num_eval_rollouts": 2, "success_k": [2], "path_hit_k": [1, 3]} | changes
    nobody: Any = None
    config = small_config(gflownet=section)
    context = StageContext("gflownet", config, folder, events.append, lambda: None, nobody)
    layout.folder(folder).mkdir(parents=True, exist_ok=True)
    for stage in ("graphs", "agent-graphs"):
        for split in ("validation", "test"):
            write_dropped(folder, stage, split, {"no path leads to an answer": 1} if split == "test" else {})
    job = object.__new__(_SamplerJob)
    job.context, job.section, job.seed, job.note = context, config.gflownet, 0, ""
    job.log, job.validated = layout.training_log(folder), layout.validation_log(folder)
    return job


def figures(method: str, *success: float, **settings: float) -> Evaluation:
    """Of each question whether one of two trajectories succeeds, and half of it as the window's F1."""
    found = {"success@2": list(success), "path_hit_f1@3": [value / 2 for value in success]}
    return Evaluation(method, 2, settings, found)


def test_a_report_is_an_event_a_line_and_what_the_progress_shows(tmp_path: Path):
    events: list[Event] = []
    job = sampler_job(tmp_path, events)
    step = SamplerStep(step=10, steps=40, loss=1.2345, tb_loss=1.0, success_mean=0.256)
    job._report(step)
    job.note = ", val/success@2 0.50"
    job._report(msgspec.structs.replace(step, step=20))
    assert [json.loads(line)["step"] for line in job.log.read_text().splitlines()] == [10, 20]
    told = [event for event in events if isinstance(event, StageProgress)]
    assert [(event.done, event.total, event.note) for event in told] == [
        (10, 40, "loss 1.234, success 0.26"), (20, 40, "loss 1.234, success 0.26, val/success@2 0.50"),
    ]  # fmt: skip
    assert [event.step for event in events if isinstance(event, SamplerStep)] == [10, 20]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, ", val/success@2 0.75, val/path_hit_f1@3 0.38"), ({"auto_add_path_hit_f1": False}, ", val/success@2 0.75"),
        ({"path_hit_k": []}, ", val/success@2 0.75"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("step", "finished", "told"),
    [
        (20, False, []),
        (40, True, []),
        (30, True, ["training ends after step 30 of 40: 2 evaluations on validation were no better than that after "
                    "step 10"]),
    ],
)  # fmt: skip
def test_an_evaluation_on_validation_is_written_down_and_may_end_the_training(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    note: str,
    step: int,
    finished: bool,
    told: list[str],
):
    events: list[Event] = []
    job, judged = sampler_job(tmp_path, events, **changes), list[dict[str, float]]()
    job.training = SimpleNamespace(
        step=step, finished=finished, evaluations_since_best=2, best=SimpleNamespace(at=10),
        record_validation=lambda means: judged.append(means) or step == 20,
    )  # fmt: skip
    sampled = SimpleNamespace(sampler=lambda alpha: figures("gflownet", 1.0, 0.5))
    monkeypatch.setattr(job, "_evaluator", lambda split: sampled if split == "validation" else None)
    job._validate()
    (event,) = validated(events)
    assert (event.step, event.best, event.n, event.k, event.missed) == (step, step == 20, 2, 2, 0)
    assert judged == [event.metrics] and event.metrics["success@2"] == 0.75
    assert [json.loads(line) for line in job.validated.read_text().splitlines()] == [
        {"step": step, **event.metrics}
    ]
    assert (job.note, job.step) == (note, step)
    assert [event.text for event in events if isinstance(event, Notice)] == told


@pytest.mark.parametrize(
    ("ends", "stopped", "done"),
    [
        (
            25, 0,
            ["8 validated", "9 saved", "10 reported", "16 validated", "18 saved", "20 reported", "24 validated",
             "25 reported", "25 validated", "25 saved"],
        ),
        (16, 0, ["8 validated", "9 saved", "10 reported", "16 validated", "16 saved"]),
        (25, 7, ["7 saved"]),
    ],
    ids=["to the end", "nothing better was found", "stopped"],
)  # fmt: skip
def test_training_reports_validates_and_saves_at_intervals_and_at_the_end(
    tmp_path: Path, ends: int, stopped: int, done: list[str]
):
    """Of 25 steps each tenth is reported, each eighth validated and each ninth saved; and the last one, whatever the
    interval. An end before is saved, and so is a stop."""
    job, log = sampler_job(tmp_path, [], steps=25, eval_every=8, checkpoint_every=9), list[str]()
    training = SimpleNamespace(step=0, finished=False, save=lambda: log.append(f"{training.step} saved"))

    def update(computer: str) -> str:
        assert computer == "computer"
        training.step += 1
        return f"{training.step} reported"

    def validate() -> None:
        log.append(f"{training.step} validated")
        training.finished = training.step == ends

    def checkpoint() -> None:
        if training.step == stopped:
            raise StopRequested

    training.update, job.training, job.context.checkpoint = update, training, checkpoint
    job._report, job._validate = log.append, validate
    with pytest.raises(StopRequested) if stopped else nullcontext():
        job._steps("computer")
    assert log == done


def test_the_table_has_a_row_for_each_method(tmp_path: Path):
    """First what was evaluated, then the settings and figures of all; the log ends with the first method's."""
    job = sampler_job(tmp_path, [])
    job.training, job.step = SimpleNamespace(step=40), 40
    job.validated.write_text('{"step": 20, "success@2": 0.5}\n')
    rows = [figures("gflownet", 1.0, 0.5), figures("beam", 1.0, 0.0, edge_bonus=0.25)]
    rows[0].distances = [0.1, float("nan")]
    for row in rows:
        job._emit(row, "test")
    assert job._tables(rows) == ["gflownet/tables/metrics.csv", "gflownet/tables/log.csv"]
    table = list(csv.DictReader(io.StringIO(layout.metrics(tmp_path).read_text())))
    assert list(table[0])[:4] == ["method", "n", "missed", "k"]
    names = ("method", "n", "missed", "k", "success@2", "listed", "edge_bonus")
    assert [[row[name] for name in names] for row in table] == [
        ["gflownet", "2", "1", "2", "0.75", "1", ""], ["beam", "2", "1", "2", "0.5", "0", "0.25"],
    ]  # fmt: skip
    log = list(csv.DictReader(io.StringIO(log_csv(tmp_path).read_text())))
    assert [(row["step"], row["val/success@2"], row["test/success@2"]) for row in log] == [
        ("20", "0.5", ""), ("40", "", "0.75"),
    ]  # fmt: skip


@pytest.mark.parametrize("success_k", [[], [3, 4]])
def test_any_k_that_there_are_rollouts_for_can_be_asked(folder: Path, success_k: list[int]):
    config = small_config(gflownet={"steps": 1, "num_eval_rollouts": 5, "success_k": success_k})
    events = run_stages(folder, ("gflownet",), config)
    sampler = next(event for event in events if isinstance(event, SamplerEvaluated) and event.split == "test")
    asked = {name for name in sampler.metrics if name.startswith("success@")}
    assert asked == {f"success@{k}" for k in (1, *success_k, 5)}


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({"success_k": [5, 30]}, "success@30 takes 30 trajectories"),
        ({"num_eval_rollouts": 9}, "num_eval_rollouts >= every success_k"),
        ({"reward": {"failure_reward": 11.0}}, "failure_reward below success_reward"),
    ],
)
def test_settings_that_could_only_fail_are_refused_at_once(section: dict[str, object], named: str):
    with pytest.raises(ValidationError, match=named):
        GFlowNetSection.model_validate(section)


def test_lines_that_are_no_paths_are_refused(folder: Path):
    run_stages(folder, ("gflownet",), small_config(gflownet={"steps": 1}))
    path = layout.sampled_paths(folder)
    path.write_text('{"sample_id": "x"}\n')
    with pytest.raises(
        DataError,
        match=exactly(
            "no field `question` "
            "(…/run/gflownet/paths.jsonl:1): remove it and run the stage gflownet again: it samples the same "
            "paths"
        ),
    ):
        run_stages(folder, ("answer",))
    path.unlink()
    with pytest.raises(
        DataError,
        match=exactly(
            "`paths.jsonl` is not there (…/paths.jsonl): run the stage `gflownet` of this run first"
        ),
    ):
        run_stages(folder, ("answer",))


def test_training_that_was_stopped_goes_on_as_if_it_had_not_been(
    trained: Trained, data: Path, tmp_path: Path
):
    folder, stopped, stops = trained.folder, over(data, tmp_path / "stopped"), 0
    for allowed in (3, 17, 1, 30, 200):
        left = [allowed]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        context = StageContext("gflownet", small_config(), stopped, lambda event: None, checkpoint, None)  # type: ignore[arg-type]
        try:
            TrainGFlowNet().run(context)
        except StopRequested:
            stops += 1
            if stops == 1:  # killed after a validation that no checkpoint knows of
                layout.validation_log(stopped).write_text('{"step": 20, "success@1": 9.0}\n')
    assert stops >= 3
    assert without_speed(stopped) == without_speed(folder)
    one, other = (
        torch.load(layout.checkpoint(path), weights_only=True)["module"] for path in (stopped, folder)
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    for path in (layout.sampled_paths, layout.validation_log, log_csv):
        assert path(stopped).read_bytes() == path(folder).read_bytes()


def log_csv(folder: Path) -> Path:
    return layout.metrics(folder).with_name("log.csv")


def validated(events: Sequence[Event]) -> list[SamplerEvaluated]:
    return [event for event in events if isinstance(event, SamplerEvaluated) and event.split == "validation"]


JUMPY = {"steps": 12, "eval_every": 2, "checkpoint_every": 5, "learning_rate": 0.3}


def test_the_best_weights_on_validation_are_evaluated_and_drawn_with(jumpy: Trained):
    folder, events, results = jumpy.folder, jumpy.events, jumpy.results
    looks = validated(events)
    assert [look.step for look in looks] == [2, 4, 6, 8, 10, 12]
    worth = [look.metrics["rollout_reward"] for look in looks]
    kept = looks[worth.index(max(worth))].step
    assert kept < 12 and results[0].summary["kept_step"] == kept
    assert [look.best for look in looks] == [
        all(value > w for w in worth[:at]) for at, value in enumerate(worth)
    ]
    test = [event for event in events if isinstance(event, SamplerEvaluated) and event.split == "test"]
    assert {event.step for event in test} == {kept} and not any(event.best for event in test)
    (alpha,) = {event.prior_alpha for event in events if isinstance(event, QuestionSampled)}
    assert alpha == pytest.approx(2.0 - 1.5 * kept / 10_000)
    module, step = trained_sampler(folder, small_config(gflownet=JUMPY))
    state = torch.load(layout.checkpoint(folder), weights_only=True)
    own = module.state_dict()
    assert step == kept and all(torch.equal(state["best"]["weights"][name], own[name]) for name in own)
    assert not all(torch.equal(state["module"][name], own[name]) for name in own)
    # The evaluation again, with these weights.
    tables = EmbeddingTables.load(folder)
    evaluator = Evaluator(module, load_questions(folder, "validation", tables, module), 0, lambda: None)
    again = evaluator.sampler(alpha).means()["rollout_reward"]
    assert again == pytest.approx(max(worth))


def test_the_last_weights_are_kept_where_the_configuration_says_so(folder: Path):
    config = small_config(gflownet=JUMPY | {"early_stopping": {"restore_best": False}})
    results: list[StageResult] = []
    events = run_stages(folder, ("gflownet",), config, results)
    assert results[0].summary["kept_step"] == 12
    assert {e.step for e in events if isinstance(e, SamplerEvaluated) and e.split == "test"} == {12}
    module, step = trained_sampler(folder, config)
    state = torch.load(layout.checkpoint(folder), weights_only=True)
    assert step == 12 and all(
        torch.equal(value, state["module"][n]) for n, value in module.state_dict().items()
    )


def test_training_ends_when_validation_has_not_risen_for_long_enough(folder: Path):
    patient = small_config(gflownet=JUMPY | {"steps": 40, "early_stopping": {"patience": 2}})
    events = run_stages(folder, ("gflownet",), patient)
    looks = validated(events)
    assert [look.best for look in looks[-3:]] == [True, False, False] and looks[-1].step < 40
    assert all(look.best or after.best for look, after in pairwise(looks[:-1]))
    assert [event.text for event in events if isinstance(event, Notice)] == [
        f"training ends after step {looks[-1].step} of 40: 2 evaluations on validation were no better than that after "
        f"step {looks[-3].step}"
    ]
    again = run_stages(folder, ("gflownet",), patient)
    assert not validated(again) and not [event for event in again if isinstance(event, SamplerStep)]


def test_a_kill_between_any_two_events_keeps_the_same_weights(jumpy: Trained, data: Path, tmp_path: Path):
    """An exception that no stage answers stands for kill -9: nothing is written after it."""

    class Killed(BaseException):
        pass

    config = small_config(gflownet=JUMPY)
    whole = torch.load(layout.checkpoint(jumpy.folder), weights_only=True)
    killed, kills = over(data, tmp_path / "killed"), 0
    for allowed in (1, 4, 2, 5, 3, 4, 1000):
        left = [allowed]

        def emit(event: Event, left: list[int] = left) -> None:
            if isinstance(event, SamplerStep | SamplerEvaluated):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed

        kills += 1
        with suppress(Killed):
            context = StageContext("gflownet", config, killed, emit, lambda: None, None)  # type: ignore[arg-type]
            TrainGFlowNet().run(context)
            kills -= 1
    assert kills == 6
    found = torch.load(layout.checkpoint(killed), weights_only=True)
    assert (found["step"], found["best"]["at"], found["best"]["value"]) == (
        whole["step"], whole["best"]["at"], whole["best"]["value"],
    )  # fmt: skip
    assert all(
        torch.equal(value, found["best"]["weights"][n]) for n, value in whole["best"]["weights"].items()
    )
    assert len(validated(jumpy.events)) == 6
    assert layout.sampled_paths(killed).read_bytes() == layout.sampled_paths(jumpy.folder).read_bytes()


def test_a_finished_run_of_an_older_version_can_be_sampled_again(folder: Path):
    """Its settings name neither embedder nor early stopping; it projected by itself and has its last weights alone."""
    own = {"embedder": {"use_retriever_projector": False}, "early_stopping": {"restore_best": False}}
    (folder / "config.yaml").write_text(SMALL)
    run_stages(folder, ("gflownet",), small_config(gflownet=own | {"steps": 10}))
    state = torch.load(layout.checkpoint(folder), weights_only=True)
    for name in ("best", "stale"):
        del state[name]
    for name in ("embedder", "early_stopping"):
        del state["shape"][name]
    torch.save(state, layout.checkpoint(folder))
    sample_id = json.loads(layout.sampled_paths(folder).read_text().splitlines()[0])["sample_id"]
    replies = io.BytesIO()
    serve(folder, io.StringIO(json.dumps({"system": "gflownet", "sample_id": sample_id}) + "\n"), replies)
    tried = decode(replies.getvalue())
    assert isinstance(tried, PathsTried) and tried.exact
    with pytest.raises(
        DataError,
        match=exactly(
            "the sampler's checkpoint was made with another early_stopping, embedder "
            "(…/run/gflownet/gflownet.pt): continue with the settings it was started with, or start a new run"
        ),
    ):
        run_stages(folder, ("gflownet",), small_config(gflownet={"steps": 10}))


def without_speed(folder: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in layout.training_log(folder).read_text().splitlines()]
    return [
        {name: value for name, value in line.items() if name != "trajectories_per_second"} for line in lines
    ]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"policy": {"hidden": 24}}, "policy"),
        ({"environment": {"max_steps": 2}}, "environment"),
        ({"learning_rate": 0.01}, "learning_rate"),
    ],
)
def test_a_checkpoint_of_another_shape_is_named(ten_steps: Path, changes: dict[str, object], named: str):
    with pytest.raises(
        DataError,
        match=exactly(
            f"the sampler's checkpoint was made with another {named} (…/gflownet.pt): continue with the "
            "settings it was "
            "started with, or start a new run"
        ),
    ):
        run_stages(ten_steps, ("gflownet",), small_config(gflownet={"steps": 10, **changes}))


def test_a_checkpoint_of_an_older_program_is_refused(ten_steps: Path, tmp_path: Path):
    """It does not know of `gt_replay`: its weights were learned otherwise."""
    folder = Path(shutil.copytree(ten_steps, tmp_path / "run", symlinks=True))
    state = torch.load(layout.checkpoint(folder), weights_only=True)
    del state["shape"]["gt_replay"]
    torch.save(state, layout.checkpoint(folder))
    with pytest.raises(
        DataError,
        match=exactly(
            "the sampler's checkpoint was made with another gt_replay (…/run/gflownet/gflownet.pt): continue with"
            " the settings it was started with, or start a new run"
        ),
    ):
        run_stages(folder, ("gflownet",), small_config(gflownet={"steps": 10}))


def test_a_broken_checkpoint_is_named(folder: Path):
    layout.checkpoint(folder).write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(
        DataError,
        match=exactly(
            "the file cannot be read as tensors and plain values: … (…/run/gflownet/gflownet.pt): continue with "
            "the settings it was started with, or start a new run"
        ),
    ):
        run_stages(folder, ("gflownet",))


def test_without_the_stages_before_there_is_one_clear_error(tmp_path: Path):
    for name in ("retriever", "agent-graphs", "gflownet", "answer"):
        with pytest.raises(DataError, match=exactly("… (…/gflownet/…): run the stage …")):
            run_stages(tmp_path, (name,))


def test_a_what_if_repeats_or_varies_the_runs_own_samples(trained: Trained, tmp_path: Path):
    folder = Path(shutil.copytree(trained.folder, tmp_path / "run", symlinks=True))
    (folder / "config.yaml").write_text(SMALL)
    logged = next(event for event in trained.events if isinstance(event, QuestionSampled))
    own = {"system": "gflownet", "sample_id": logged.sample_id}
    asked = [
        own,
        own | {"draw": 1, "temperature": 5.0, "prior_alpha": 0.0, "samples": 30, "distinct": False},
        own | {"sample_id": "nobody"},
        own | {"temperature": -1},
    ]
    replies = io.BytesIO()
    serve(folder, io.StringIO("".join(json.dumps(line) + "\n" for line in asked) + "no json\n"), replies)
    same, other, *errors = replies.getvalue().splitlines(keepends=True)
    repeated, varied = decode(same), decode(other)
    assert isinstance(repeated, PathsTried) and isinstance(varied, PathsTried)
    assert repeated.exact and repeated.yours == repeated.committed
    assert [(path.count, path.steps) for path in repeated.committed.paths] == [
        (path.count, path.steps) for path in logged.paths
    ]
    assert repeated.none.prior_alpha == 0 and repeated.none.temperature == logged.temperature
    assert repeated.none.paths != logged.paths
    assert varied.committed == repeated.committed and varied.yours.prior_alpha == 0
    assert sum(path.count for path in varied.yours.paths) == 30 and varied.yours.temperature == 5.0
    assert [next(iter(json.loads(error))) for error in errors] == ["error"] * 3
    assert (layout.folder(folder) / "what_if.jsonl").read_bytes() == same + other
    path = layout.sampled_paths(folder)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["paths"][0]["count"] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    replies = io.BytesIO()
    request = json.dumps({"system": "gflownet", "sample_id": lines[0]["sample_id"]})
    serve(folder, io.StringIO(request + "\n"), replies)
    tried = decode(replies.getvalue())
    count = len(lines[0]["paths"])
    assert isinstance(tried, PathsTried) and not tried.exact
    assert tried.difference == f"{count - 1} of the {count} recorded paths came up again as often"


def test_independent_samples_are_the_evidence_where_the_configuration_says_so(folder: Path):
    config = small_config(gflownet={"steps": 10, "distinct_paths": False})
    events = run_stages(folder, ("gflownet",), config)
    questions = [event for event in events if isinstance(event, QuestionSampled)]
    assert not any(question.distinct for question in questions)
    assert {sum(path.count for path in question.paths) for question in questions} == {10}
    sampler = next(
        e for e in events if isinstance(e, SamplerEvaluated) and (e.split, e.method) == ("test", "gflownet")
    )
    hits = sum(any(path.answers for path in question.paths) for question in questions) / len(questions)
    assert hits == pytest.approx(sampler.metrics["success@10"])


def test_sampling_again_before_training_says_so(tmp_path: Path):
    (tmp_path / "config.yaml").write_text(SMALL)
    replies = io.BytesIO()
    serve(tmp_path, io.StringIO('{"system": "gflownet", "sample_id": "x"}\n'), replies)
    assert "run the stage gflownet first" in json.loads(replies.getvalue())["error"]
