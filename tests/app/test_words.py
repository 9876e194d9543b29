"""Counts, sizes, stages and rules in words: whole sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.runs.orders import command_result
from app.wording import words
from app.wording.gate_text import gate_sentence
from app.wording.stage_words import change_words, choices_sentence, kept_words, stage_sign, stage_words
from app.wording.text import (
    counted,
    duration,
    error_line,
    error_lines,
    file_size,
    how_far,
    how_many,
    listed,
    loading,
    model_pace,
    resume_command,
    without_controls,
)
from app.wording.words import (
    figure_name,
    figures_words,
    method_name,
    method_notes,
    sampler_name,
    short_method_name,
)
from engine.errors import ConfigError, Problem, RunError
from engine.events import Candidate, DecisionTaken, ModelLoading, ModelWorking, StagesChosen, StageStopped
from engine.run.stage_choices import StageChange
from engine.run.stage_state import FAILED, FINISHED, PAUSED, RUNNING, SKIPPED, STOPPED, WAITING, StageState
from tests.conftest import ROOT


def test_counts_and_names() -> None:
    assert [counted(n, nouns) for n, nouns in ((0, "events"), (1, "events"), (1, "queries"), (2000, "queries"))] == [
        "0 events", "1 event", "1 query", "2,000 queries",
    ]  # fmt: skip
    names = ["mine", "select", "eval"]
    assert [listed(names[:n]) for n in range(4)] == ["", "mine", "mine and select", "mine, select and eval"]
    assert [how_many(*parts) for parts in ((50, 1, "items"), (1000, 2000, "items"), (1, 0, "items"))] == [
        "50 of 1 item", "1,000 of 2,000 items", "1 item so far",
    ]  # fmt: skip
    assert [how_far(1000, 2000), how_far(1000, 0)] == ["1,000/2,000", "1,000"]


def test_sizes_and_loading() -> None:
    assert [file_size(size) for size in (999_499_999, 1_000_000_000, 98_362_432, 4_650_000_000)] == [
        "999 MB", "1.0 GB", "98 MB", "4.7 GB",
    ]  # fmt: skip
    event = ModelLoading(name="smollm2", doing="unpacking", share=0.456)
    assert loading(event) == "loading model smollm2: unpacking 46%"
    assert loading(ModelLoading(name="m", size=2_000_000)) == "loading model m, 2 MB"


def test_how_fast_a_model_writes() -> None:
    alone = ModelWorking(sequences=1, done=0, tokens=0, tokens_per_second=1234.5)
    assert model_pace(alone) == "the model writes 0 of 1 text, 1,234 tokens/s"
    judge = msgspec.structs.replace(alone, role="judge", sequences=1049, done=41, under_way=2, tokens=1)
    assert model_pace(judge) == "judge: 41 of 1,049 answers, 2 being written, 1,234 tokens/s"


def test_an_error_is_one_line_and_obeyed_by_no_terminal() -> None:
    assert error_line("no  room\n", "a.json", "make some") == "no room (a.json): make some"
    assert [error_line("no room"), error_line("no room", hint="wait")] == ["no room", "no room: wait"]
    assert error_lines(RunError(what="no room", where="a", hint="wait")) == ["no room (a): wait"]
    problems = [Problem("a.b", "1", "2"), Problem("c", "", "3")]
    assert error_lines(ConfigError(problems)) == [str(problem) for problem in problems]
    assert without_controls("a\x1b[2J\tb\nc\u202e\u2066\x9f") == "a[2J\tb\nc"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("accuracy_esm", "accuracy esm"), ("success@10", "a path meets an answer @10"),
        ("success_all@10", "a path meets an answer @10, of all questions"), ("cut", "cut at the limit"),
        ("beam_success_all@1", "beam search: a path meets an answer @1, of all questions"),
        ("success_greedy", "success greedy"), ("T_max", "most tokens of an answer"),
        ("other_all", "other, of all questions"), ("sun_beam_power", "sun beam power"),
        ("distinct_success@20", "distinct paths: a path meets an answer @20"),
        ("gold_recall_all@1", "answers in the data met by any path @1, of all questions"),
        ("logpf_logr_corr", "correlation of log P_F and log R"),
        ("score_never_structured", "score: silent, structured"),
        ("score_on_risk_flat", "score: on risk, flat"), ("score_baseline_none", "score: no note"),
        ("score_as_published_never_flat", "score as published: silent, flat"), ("score", "score"),
    ],
)  # fmt: skip
def test_a_figure_of_a_stage(name: str, words: str) -> None:
    assert figure_name(name) == words


def test_figures_and_methods() -> None:
    summary = {"accuracy_esm": 0.96541, "pairs": 1200, "tokens": 12345.6, "model": "m", "change": -2}
    assert figures_words(summary) == "accuracy esm 0.9654; pairs 1,200; tokens 12,346; model m; change −2"
    assert [method_name("rices"), method_name("their_way")] == ["similarity (RICES)", "their way"]
    assert [short_method_name("prior"), short_method_name("their_way")] == ["scores alone", "their way"]
    assert [sampler_name("distinct"), sampler_name("beam")] == ["distinct paths (GFlowNet)", "beam search"]
    assert method_notes(["greedy_of_others", "esm"]) == [
        "ESM: steered by the entry of the memory that fits the state best"
    ]


STOP = StageStopped(done=3, texts=16, tokens=1248, kept=True)


@pytest.mark.parametrize(
    ("stage", "sign", "words"),
    [
        (StageState("a", WAITING), "○", "waiting"), (StageState("a", RUNNING), "▶", "running"),
        (StageState("a", PAUSED), "‖", "paused"), (StageState("a", FINISHED), "✓", "finished"),
        (StageState("a", FINISHED, seconds=30.0), "✓", "finished in 0:30"), (StageState("a", SKIPPED), "⊘", "skipped"),
        (StageState("a", FAILED, seconds=30.0), "✗", "failed"),
        (StageState("a", STOPPED, stop=STOP), "■",
         "stopped, results kept; a resume goes on with 16 texts (1,248 tokens)"),
        (StageState("a", WAITING, stale=True, seconds=30.0), "◌", "stale: its results are of an earlier attempt"),
        (StageState("a", SKIPPED, stale=True), "⊘", "skipped, stale: its results are of an earlier attempt"),
        (StageState("a", "of a later version"), "?", "of a later version"),
    ],
)  # fmt: skip
def test_a_stage(stage: StageState, sign: str, words: str) -> None:
    assert (stage_sign(stage), stage_words(stage)) == (sign, words)


def test_choices_about_stages() -> None:
    both = StagesChosen(stale=["mine", "select"], skipped=["eval"], kept="earlier/1")
    assert choices_sentence(both) == (
        "to be done again: mine and select, earlier results are kept in earlier/1; skipped: eval"
    )
    assert choices_sentence(StagesChosen(skipped=["eval"])) == "skipped: eval"
    assert choices_sentence(StagesChosen()) == "no stage is skipped"


def test_what_a_choice_changes() -> None:
    """30 s and 31 s were worked on the two; the third is finished too, and stays."""
    stages = {
        "mine": StageState("mine", FINISHED, seconds=30.0), "select": StageState("select", FINISHED, seconds=31.0),
        "clusters": StageState("clusters", FINISHED, seconds=99.0), "eval": StageState("eval"),
    }  # fmt: skip

    def said(choice: Any, *names: str, undo: bool = False) -> str:
        return change_words(StageChange(choice, names[0], names, undo), stages)

    assert said("again", "mine", "select") == "Done again: mine and select, which took 1:01 last time."
    assert said("again", "eval") == "Done again: eval."
    assert said("skip", "eval") == "Skipped: eval."
    assert said("skip", "mine", "select", "eval") == "Skipped: mine, and select and eval, which need it."
    assert said("last", "select", "eval") == "The run ends after select. Skipped: select and eval."
    assert said("skip", "mine", "eval", undo=True) == "mine and eval: done after all, when the run goes on."
    kept = (
        "Their results so far are kept in the folder earlier/ of the run, and count as stale until they are done anew. "
        "Configuration and seed stay the same: only other data, servers or versions make other results."
    )
    assert (
        kept_words(StageChange("again", "mine", ("mine", "select")), stages)
        == f"{kept} Not done again: clusters."
    )
    assert kept_words(StageChange("again", "mine", ("mine", "select", "clusters")), stages) == kept


CANDIDATES = [
    Candidate(entry="wrong-1", kind="wrong", similarity=0.5, quality=1.0, ahat=0.5, score=-0.5),
    Candidate(entry="wrong-2", kind="wrong", similarity=0.4, quality=1.0, ahat=0.4, score=0.1),
    Candidate(entry="right-1", kind="right", similarity=0.9, quality=1.0, ahat=0.9),
]


@pytest.mark.parametrize(
    ("gate", "more", "sentence"),
    [
        ("null_best", {"null_score": 0.25, "candidates": CANDIDATES},
         "Null scored highest (0.250): the state looks right as it is, and the best entry (wrong-2, Score 0.100) did "
         "not beat it."),
        ("null_best", {},
         "Null scored highest (·): the state looks right as it is, and the best entry did not beat it."),
        ("tie", {"candidates": CANDIDATES[:1]},
         "Null and the best entry (wrong-1, Score −0.500) scored the same: a tie goes to null."),
        ("tau_null", {"candidates": CANDIDATES},
         "The best entry (wrong-2, Score 0.100) beat null, but its Score lies below tau_null: too low to steer."),
        ("min_sim", {"top_similarity": 0.0625},
         "The nearest entry is too far away (similarity 0.063, below min_sim), so memory was not used."),
        ("chosen", {"chosen": "wrong-2", "score": 0.5, "null_score": -0.25, "layer": 4, "alpha": 2.5},
         "wrong-2 scored highest (0.500, null −0.250), so it was injected at layer 4 with α 2.500."),
        ("always", {"chosen": "mean", "alpha": 0.0},
         "This method adds its one vector, as strongly as it is set: mean, at layer ? with α 0.000."),
        ("chosen", {"chosen": "e", "score": 0.0, "null_score": 0.0, "layer": 0, "alpha": 0.0},
         "e scored highest (0.000, null 0.000), so it was injected at layer 0 with α 0.000."),
        ("tie", {"candidates": [msgspec.structs.replace(CANDIDATES[0], score=0.0)]},
         "Null and the best entry (wrong-1, Score 0.000) scored the same: a tie goes to null."),
        ("first_segment", {}, "The first segment has no control point before it, so nothing can be retrieved."),
        ("tail", {}, "After the last control point the rest is written in one piece, unsteered."),
        ("no_memory", {}, "This method has no memory: nothing was retrieved."),
        ("min_entries", {"memory_size": 5},
         "The memory holds too few entries at control point 2 (5): fewer than min_entries."),
        ("condition", {}, "The state does not meet this method's condition, so its vector was not added."),
        ("no_candidates", {},
         "Only right entries are near, and they speak for null, so there was nothing to inject."),
        ("tool_range", {}, "Segment 3 lies outside min_tool_m … max_tool_m, where steering is allowed."),
        ("always", {"chosen": "mean", "layer": 4, "alpha": 2.5},
         "This method adds its one vector, as strongly as it is set: mean, at layer 4 with α 2.500."),
        ("of_a_later_version", {}, "The rule “of_a_later_version” decided: nothing was injected."),
        ("of_a_later_version", {"chosen": "e"}, "The rule “of_a_later_version” decided: e was injected."),
    ],
)  # fmt: skip
def test_a_rule_as_a_sentence(gate: str, more: dict[str, Any], sentence: str) -> None:
    assert gate_sentence(DecisionTaken(method="esm", example="a", m=3, gate=gate, **more)) == sentence


@pytest.mark.parametrize(
    ("command", "state", "words"),
    [
        ("pause", "paused", "The engine is paused."),
        ("pause", "pausing", "The engine pauses after its current item."),
        ("stop", "stopping", "The engine stops after its current item; finished work is kept."),
        ("continue", "running", "The engine continues."), ("status", "running", "The engine is running."),
    ],
)  # fmt: skip
def test_a_workers_answer(command: str, state: str, words: str) -> None:
    assert command_result(command, state) == words


def test_the_command_that_resumes_a_run() -> None:
    assert resume_command(Path("out/my run")) == "steer-tui batch --resume 'out/my run'"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (3599.6, "1:00:00"), (3725.0, "1:02:05"), (-1.0, "0:00"),
        (9.99e9, "2775000:00:00"), (1e10, "?"), (float("nan"), "?"),
    ],
)  # fmt: skip
def test_a_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


RARE = {
    "builds",
    "correlation",
    "cuts",
    "different",
    "divides",
    "improves",
    "met",
    "passed",
    "precision",
    "rank",
    "recall",
    "silent",
    "taught",
}
"""Words of the names below that no page has."""


def test_names_are_told_apart_and_their_words_stand_in_the_pages_too() -> None:
    """A slip of the pen makes a word that stands nowhere else. Two stages call the unchanged model differently."""
    places = ("*.md", "*/README.md", "engine/*/README.md")
    pages = " ".join(path.read_text() for place in places for path in ROOT.glob(place))
    known = RARE.union(re.findall(r"[a-z]+", pages.lower()))
    for table, name_of in (
        (words.METHODS, method_name), (words.METHODS, short_method_name), (words.SAMPLERS, sampler_name),
        (words.FIGURES, figure_name), (words.METRICS, words.METRICS.__getitem__),
        (words.STAGE_WORDS, words.STAGE_WORDS.__getitem__),
    ):  # fmt: skip
        names = [name_of(name) for name in table]
        assert {word for name in names for word in re.findall(r"[a-z]+", name.lower())} - known == set()
        assert all(name == name.strip() and name.count("(") == name.count(")") for name in names)
        assert len(set(names)) >= len(names) - (table is words.METHODS and name_of is method_name)
