"""The evolution's result: what is asked for the comparison, its tables and figures, from answers of a few letters."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.events import AnswerJudged, AnswersScored, MethodCompared
from engine.evolution import layout
from engine.evolution.history import History
from engine.evolution.report import write_report
from engine.evolution.scoring import split_evaluator
from engine.evolution.scoring.comparison import Method, compare
from engine.evolution.scoring.score import Outcome, score
from engine.evolution.splits import BASELINE, TEST_BRIEF
from engine.run.stage import StageResult
from engine.servers.spent import Spent
from tests.engine.evolution.test_split_evaluator import ByHand, iteration, record

BRIEF, ONE = "Be brief.", "-- One letter."
SAID = {
    ("", ""): {"t0": "aac", "t1": "aabb", "t2": "bbbbc"},
    ("", BRIEF): {"v0": "ac", "v1": "b", "v2": "b"},
    ("", ONE): {"v0": "c", "v1": "c", "v2": "b", "t0": "c", "t1": "c", "t2": "c"},
    ("processor_best.py", ""): {"t0": "c", "t1": "ab", "t2": "bc"},
}
"""By the processor's file and the request, the answer to each question; one with a `c` is right."""


def says(prompt: str, under: str) -> str:
    asked, _, request = prompt.partition("\n\n")
    return SAID[under, request][asked.removeprefix("Ask ")]


def finished(folder: Path, **changes: Any) -> ByHand:
    """Of three iterations the second is the best; the three answers without processor to the validation set are of 3, 2
    and 4 tokens, and the last is right only as a whole."""
    evolution = ByHand(folder, says, **{"brief_prompts": [BRIEF, ONE], "length_caps": 2, **changes})
    evolution.history = History(
        iterations=[
            iteration(0, best=True),
            iteration(1, 0.5, best=True, usage=Spent(4, 40, 0.4)),
            iteration(2, 0.9, usage=Spent(1, 10, 0.1)),
        ]
    )
    if not evolution.answers.of_split(0, BASELINE):
        baseline = [record("v0", "aaa", False), record("v1", "ac"), record("v2", "bbbc")]
        evolution.answers.add(
            [record(one.example_id, one.answer, one.correct, iteration=0, split=BASELINE) for one in baseline]
        )
    return evolution


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, float]]]:
    """The files that processors were generated into, and their deltas."""
    files: list[tuple[str, dict[str, float]]] = []
    monkeypatch.setattr(
        split_evaluator, "generate_processor", lambda file, _, deltas: files.append((file.name, deltas))
    )
    return files


def reported(evolution: ByHand, reason: str = "all 3 iterations") -> StageResult:
    made: Any = evolution
    return write_report(made, evolution.evaluator(), reason)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_comparison_is_asked_scored_and_written(
    tmp_path: Path, generated: list[tuple[str, dict[str, float]]]
) -> None:
    """At a scale of 10 tokens. The server is started for each side, not for each set."""
    evolution = finished(tmp_path)
    reported(evolution)
    assert evolution.server.started == ["", "processor_best.py"]
    assert generated == [("processor_best.py", {"0": 0.5, "1": 0.5, "2": 0.5})]
    scored = [(one.iteration, one.split, one.best) for one in evolution.of_kind(AnswersScored)]
    assert scored == [
        (0, "brief_1", False), (0, "brief_2", False), (0, "test_plain", False), (0, "test_brief", False),
        (1, "test", False),
    ]  # fmt: skip
    rows = evolution.of_kind(MethodCompared)
    assert evolution.events[-len(rows) :] == rows
    assert [(row.method, row.n, row.mean_tokens, row.correctness, row.cap, row.prompt) for row in rows] == [
        ("no_processor", 3, 4, 2 / 3, None, ""),
        ("length_cap", 3, 1, 0, 1, ""),
        ("chosen_cap", 3, 11 / 3, 1 / 3, 4, ""),
        ("brief_prompt", 3, 1, 1, None, ONE),
        ("best", 3, 5 / 3, 2 / 3, None, ""),
    ]
    assert [round(row.composite, 6) for row in rows] == [0.685714, 0.363636, 0.492683, 0.963636, 0.742857]
    compared = table(layout.comparison(tmp_path))
    assert [line["method"] for line in compared] == [row.method for row in rows]
    assert [line["prompt"] for line in compared] == ["", "", "", f"'{ONE}", ""]
    assert not {"seq", "time", "stage"} & compared[0].keys()
    assert layout.baselines(tmp_path).read_text() == (
        "method,cap,prompt,n,correctness,mean_tokens,composite,chosen\n"
        f"brief_prompt,,Be brief.,3,{1 / 3},{4 / 3},{0.4 / (1 + 4 / 30) + 0.6 * (1 / 3)},False\n"
        f"brief_prompt,,'-- One letter.,3,{2 / 3},1.0,{0.4 / 1.1 + 0.6 * (2 / 3)},True\n"
        f"chosen_cap,2,,3,{1 / 3},2.0,{0.4 / 1.2 + 0.6 * (1 / 3)},False\n"
        f"chosen_cap,4,,3,{2 / 3},3.0,{0.4 / 1.3 + 0.6 * (2 / 3)},True\n"
    )
    assert layout.test_answers(tmp_path).read_text().split() == [
        "example,method,tokens,correct",
        "t0,no_processor,3,True", "t1,no_processor,4,False", "t2,no_processor,5,True",
        "t0,length_cap,1,False", "t1,length_cap,1,False", "t2,length_cap,1,False",
        "t0,chosen_cap,3,True", "t1,chosen_cap,4,False", "t2,chosen_cap,4,False",
        "t0,brief_prompt,1,True", "t1,brief_prompt,1,True", "t2,brief_prompt,1,True",
        "t0,best,1,True", "t1,best,2,False", "t2,best,2,True",
    ]  # fmt: skip


def test_the_summary_of_a_comparison(tmp_path: Path) -> None:
    """26 calls: 5 of the iterations, 15 on asked answers, 6 on cut ones; each of the 21 of the comparison costs
    0.1111111."""
    result = reported(finished(tmp_path), "0.5 is spent")
    assert result.summary == {
        "iterations": 3, "ended": "0.5 is spent", "best_iteration": 1,
        "composite": 0.7429, "composite_before": 0.6857, "tokens": 1.7, "tokens_before": 4.0,
        "judged": 3, "cannot_tell": 0, "correctness": 0.6667, "correctness_before": 0.6667,
        "baselines_ahead": "brief_prompt", "spent_calls": 26, "spent_tokens": 260, "spent_cost": 2.833333,
    }  # fmt: skip
    assert result.files == [
        "evolution/answers.jsonl", "evolution/cut_verdicts.jsonl", "evolution/tables/test.csv",
        "evolution/tables/test_answers.csv", "evolution/tables/baselines.csv",
    ]  # fmt: skip
    verdict = result.verdict
    assert verdict is not None and verdict.ahead == ["brief_prompt"] and verdict.curve == [15.0, 15.0, 15.0]
    assert verdict.cost == pytest.approx(0.5 + 21 * 0.1111111, abs=1e-12)
    assert verdict.closest is not None and verdict.closest.method == "brief_prompt"


def test_the_comparison_draws_by_the_run_s_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[float, int]] = []

    def noted(methods: Sequence[Method], scale: float, seed: int) -> list[MethodCompared]:
        drawn.append((scale, seed))
        return compare(methods, scale, seed)

    monkeypatch.setattr("engine.evolution.report.compare", noted)
    reported(finished(tmp_path))
    assert drawn == [(10.0, 5)]


def test_a_finished_comparison_is_told_again_without_asking(tmp_path: Path) -> None:
    first = reported(finished(tmp_path))
    files = {path: path.read_bytes() for path in layout.folder(tmp_path).rglob("*") if path.is_file()}
    again = finished(tmp_path)
    second = reported(again)
    assert (second.files, second.verdict) == (first.files, first.verdict)
    assert second.summary == first.summary
    assert not again.server.started and not again.server.asked and not again.judge.asked
    assert len(again.of_kind(AnswerJudged)) == 15
    assert {path: path.read_bytes() for path in files} == files


def test_without_baselines_only_the_cap_of_the_same_length_is_beside(tmp_path: Path) -> None:
    evolution = finished(tmp_path, brief_prompts=[], length_caps=0)
    result = reported(evolution)
    assert [row.method for row in evolution.of_kind(MethodCompared)] == ["no_processor", "length_cap", "best"]
    assert not layout.baselines(tmp_path).exists() and result.summary["baselines_ahead"] == "none"
    assert {one.split for one in evolution.of_kind(AnswerJudged)} == {"test_plain", "test"}
    assert result.summary["spent_calls"] == 5 + 6 + 3


@pytest.mark.parametrize(
    ("changes", "tried"), [({"brief_prompts": []}, "cap"), ({"length_caps": 0}, "prompt")]
)
def test_one_kind_of_baseline_is_compared_without_the_other(
    tmp_path: Path, changes: dict[str, Any], tried: str
) -> None:
    evolution = finished(tmp_path, **changes)
    reported(evolution)
    kind = {"cap": "chosen_cap", "prompt": "brief_prompt"}[tried]
    rows = [row.method for row in evolution.of_kind(MethodCompared)]
    assert rows == ["no_processor", "length_cap", kind, "best"]
    assert [line["method"] for line in table(layout.baselines(tmp_path))] == [kind, kind]
    asked = {one.split for one in evolution.of_kind(AnswerJudged)}
    assert (TEST_BRIEF in asked) == (tried == "prompt")


@pytest.mark.parametrize(
    ("confirmed", "words"),
    [(False, "its minibatch, which chose it"), (True, "the validation set, which chose it")],
)
def test_without_a_test_set_nothing_is_asked(tmp_path: Path, confirmed: bool, words: str) -> None:
    """Two of three judged answers are right, and four have 16.75 tokens on average: 0.4 / 2.675 + 0.4."""
    evolution = finished(tmp_path, test_size=0, brief_prompts=[], length_caps=0)
    found = score([Outcome(10, True), Outcome(20, False), Outcome(21, True), Outcome(16, None, True)], 10.0)
    one = iteration(1, best=True, usage=Spent(5, 50, 0.12345678))
    chosen = {"validation": found} if confirmed else {"score": found}
    evolution.history = History(
        iterations=[iteration(0, best=True), msgspec.structs.replace(one, **chosen), iteration(2)]
    )
    result = reported(evolution)
    assert result.summary == {
        "iterations": 3, "ended": "all 3 iterations", "best_iteration": 1, "measured_on": words,
        "composite": 0.5495, "tokens": 16.8, "judged": 3, "cannot_tell": 1, "correctness": 0.6667,
        "spent_calls": 5, "spent_tokens": 50, "spent_cost": 0.123457,
    }  # fmt: skip
    assert result.verdict is None and result.files == ["evolution/answers.jsonl"]
    assert not evolution.events and not evolution.server.started
