"""What all methods' pages are made with: cells, counts with links, curves, places, answers beside each other."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.blocks.block import Paragraph, Span, Target, plain, spans
from app.methods.cases import Cases
from app.methods.cells import (
    bounds_of,
    difference_cell,
    difference_of,
    digits,
    interval_of,
    linked_counts,
    outcome_cell,
    turned_cell,
)
from app.methods.chart import Series, running_mean, with_mean
from app.methods.overview import Highlight, first_of, running_means
from app.methods.page import Chart, MethodPage, first_row
from app.methods.pages import cases_of_events, charts_of, choices_of_events, page_of, pages
from app.methods.place import Place
from app.methods.source import CaseSource
from app.methods.what_if import Answer, Answers, answers_of, verdict_line, verdict_of
from app.state.run import RunState
from app.table.column import Cell
from engine.errors import DataError
from engine.events import (
    AnswerJudged,
    AnswerTried,
    ConversationAnswered,
    DecisionTaken,
    EvidenceAnswered,
    Notice,
    OtherAnswer,
    PoolQueryDone,
    QuestionSampled,
    SelectorPicked,
    StageStarted,
    WorkerStarted,
)


@pytest.mark.parametrize(
    ("low", "high", "lower", "tone"),
    [
        (0.1, 0.3, False, "good"), (0.1, 0.3, True, "bad"), (-0.3, -0.1, False, "bad"), (-0.3, -0.1, True, "good"),
        (0.0, 0.3, False, ""), (-0.3, 0.0, False, ""), (-0.1, 0.3, True, ""),
    ],
)  # fmt: skip
def test_a_difference_is_good_or_bad_where_its_interval_excludes_zero(
    low: float, high: float, lower: bool, tone: Any
) -> None:
    assert difference_cell(0.2, low, high, lower_is_better=lower) == Cell("+0.200", tone)
    row = SimpleNamespace(d=0.2, l=low, h=high)
    assert difference_of("d", "l", "h", digits=1, lower_is_better=lower)(row) == Cell("+0.2", tone)


def test_a_difference_without_an_interval_has_no_tone_and_none_is_dim() -> None:
    assert difference_cell(0.2, None, 0.3) == difference_cell(0.2, 0.1, None) == Cell("+0.200")
    assert difference_cell(None, 0.1, 0.3) == Cell("·", "dim")
    row = SimpleNamespace(d=None, l=-1.0, h=2.0)
    assert interval_of("d", "l", "h")(row) == "·" and bounds_of("l", "h")(row) == "[−1.000, 2.000]"
    row.d = 0.0
    assert interval_of("d", "l", "h", 1)(row) == "[−1.0, +2.0]"
    assert [outcome_cell(right) for right in (True, False, None)] == [
        Cell("✓", "good"), Cell("✗", "bad"), Cell("·", "dim"),
    ]  # fmt: skip
    assert [turned_cell(sign) for sign in (1, -1, 0, 2)] == [
        Cell("▲", "good"),
        Cell("▼", "bad"),
        Cell(" "),
        Cell(" "),
    ]
    assert [digits(2)(value) for value in (0.125, 3.0, None)] == ["0.13", "3.00", "·"]


def test_counts_of_none_are_left_out() -> None:
    counts: list[Any] = [
        (0, "no", "dim", Target("a", "")), (2, "two", "good", Target("b", "x")), (1, "one", "bad", Target("c", "y")),
    ]  # fmt: skip
    two, one = Span("two", "good", Target("b", "x")), Span("one", "bad", Target("c", "y"))
    assert linked_counts(counts) == [two, "  ", one] and linked_counts(counts, ", ") == [two, ", ", one]
    assert linked_counts(counts[:2]) == [two] and linked_counts(counts[:1]) == []


# ---------------------------------------------------------------- curves


def test_the_mean_so_far_begins_where_there_are_many_values_with_the_eleventh() -> None:
    assert running_means([1, None, 0, True]) == (1.0, 0.5, 2 / 3) and running_means([]) == ()
    assert len(running_means([1.0] * 39)) == 39
    assert running_means([0.0] * 10 + [11.0] * 30)[:2] == (1.0, 22 / 12)


def test_a_line_that_jumps_has_a_mean_over_a_twentieth_of_it() -> None:
    """59 points have windows of two, which are too few; 60 have three."""
    assert with_mean("loss", range(59), [1.0] * 59) == [Series("loss", range(59), [1.0] * 59)]
    raw, mean = with_mean("loss", range(60), [3.0, 0.0] * 30)
    assert (raw.label, raw.faint, mean.label, mean.faint) == ("loss", True, "loss, mean of 3", False)
    assert list(mean.y)[:5] == [3.0, 1.5, 2.0, 1.0, 2.0]
    assert running_mean([1.0, nan, 3.0, 5.0], 2) == [1.0, 1.0, 3.0, 4.0]
    assert isnan(running_mean([nan, 1.0], 1)[0]) and running_mean([nan, 1.0], 1)[1] == 1.0


def test_a_name_of_a_line_commands_no_terminal() -> None:
    assert Series("a\x1b[2J\nb \u202ec", [], []).label == "a[2J b c"


def test_charts_without_a_line_are_not_drawn() -> None:
    empty, line = Series("e", [], []), Series("l", [1], [2.0])
    page = MethodPage(
        "M",
        result_charts=[
            Chart("y", "x", lambda state: [empty, line]),
            Chart("none", "x", lambda state: [empty]),
        ],
        training_charts=[Chart("t", "u", lambda state: [line])],
    )
    assert charts_of(page, RunState()) == [("y", "x", [line]), ("t", "u", [line])]


# ---------------------------------------------------------------- places

CASES: Cases[int] = Cases(
    "numbers", (), lambda state: [4, 5, 6], Notice, str, lambda event, source: [], "none"
)


def test_the_first_row_that_matches_is_opened() -> None:
    goal, closed = (
        first_row(CASES, lambda row, name: row > int(name)),
        first_row(CASES, lambda row, _: True, False),
    )
    assert goal(RunState(), "4") == Place("numbers", 1, open=True) and goal(RunState(), "6") is None
    assert closed(RunState(), "") == Place("numbers", 0)
    page = MethodPage("M", links={"more": goal})
    assert page.place_of(Target("more", "5"), RunState()) == Place("numbers", 2, open=True)
    assert page.place_of(Target("less", "5"), RunState()) is None
    assert first_of(CASES, RunState(), lambda row: row > 4, "numbers", "above four") == [
        Highlight("2 numbers above four", Place("numbers", 1))
    ]
    assert first_of(CASES, RunState(), lambda row: row > 9, "numbers", "above nine") == []


def test_an_event_is_read_where_it_stands_and_of_no_other_kind() -> None:
    def read(offset: int, length: int) -> Any:
        if offset:
            raise DataError(what="torn", where="log") if length else OSError
        return Notice(text="x")

    source = CaseSource(Path("run"), RunState(), read)
    assert source.at((0, 1), Notice) == Notice(text="x")
    assert source.at((0, 1), StageStarted) is source.at(None, Notice) is None
    assert source.at((1, 1), Notice) is source.at((1, 0), Notice) is None


# ---------------------------------------------------------------- what if


@pytest.mark.parametrize(
    ("tried", "shown"),
    [
        ([("same", True), ("other", True), ("wrong", False)], 2), ([("same", True), ("other", True)], 1),
        ([("same", True)] * 9, 4), ([("same", False), ("other", True)], 0), ([], 0),
        ([("none", False), ("same", True), ("same", True)], 1), ([("none", False), ("wrong", False)], 1),
    ],
)  # fmt: skip
def test_of_several_tries_the_one_that_turns_the_verdict_is_shown(
    tried: list[tuple[str, bool]], shown: int
) -> None:
    """Else the first that changes the text; what stands beside it already tells nothing, and of a sweep that changes
    nothing the strength of the field is shown."""
    answers = [Answer("yours", text, right=right) for text, right in tried]
    beside = [Answer("committed", "same", right=True), Answer("none", "none", right=False)]
    assert Answers(beside, answers).most_telling == shown


def test_answers_stand_in_their_order_with_their_verdicts() -> None:
    def other(given: str, right: bool | None, verdict: str = "") -> OtherAnswer:
        return OtherAnswer(given=given, text=f"text of {given}", right=right, verdict=verdict)

    tried = AnswerTried(
        system="slsm", example="c", case={}, question="?", exact=True, committed=other("a", True),
        none=other("b", None), yours=[other("c", False, "no"), other("d", True)],
    )  # fmt: skip
    answers = answers_of(tried, lambda answer: [verdict_of(answer)])
    shown = [*answers.beside, *answers.tried]
    assert [(one.name, one.text, one.right, one.short) for one in shown] == [
        ("committed: a", "text of a", True, "text of a"), ("b", "text of b", None, "text of b"),
        ("yours: c", "text of c", False, "text of c"), ("yours: d", "text of d", True, "text of d"),
    ]  # fmt: skip
    lines = [block for one in shown for block in one.about if isinstance(block, Paragraph)]
    assert [(plain(line.text), spans(line.text)[0].tone) for line in lines] == [
        ("✓ right", "good"), ("· not judged", "dim"), ("✗ no", "bad"), ("✓ right", "good"),
    ]  # fmt: skip
    assert plain(verdict_line(True, "a\nb", "3 tokens").text) == "✓ a⏎b  3 tokens"


# ---------------------------------------------------------------- pages


def test_every_method_has_a_page_with_its_stages_tabs_and_charts() -> None:
    assert list(pages()) == ["ESM", "Evolution", "GFlowNet", "SLSM", "Pool", "Server"]
    assert {title: [cases.name for cases in page.cases] for title, page in pages().items()} == {
        "ESM": ["decisions", "pairs", "entries"], "Evolution": ["iterations", "answers"], "GFlowNet": ["questions"],
        "SLSM": ["answers"], "Pool": ["picks", "queries"], "Server": ["requests"],
    }  # fmt: skip
    assert {title: dict(page.shown_by) for title, page in pages().items()} == {
        "ESM": {"mine": "pairs", "select": "entries", "memory": "training", "eval": "decisions", "serve": "decisions"},
        "Evolution": {"clusters": "training", "evolve": "iterations"},
        "GFlowNet": {"graphs": "training", "retriever": "training", "agent-graphs": "training",
                     "gflownet": "training", "answer": "questions"},
        "SLSM": {"slsm": "answers"}, "Pool": {"pool": "queries", "selector": "training"},
        "Server": {"serve": "results"},
    }  # fmt: skip
    charts = [
        (chart.y, chart.x)
        for page in pages().values()
        for chart in (*page.result_charts, *page.training_charts)
    ]
    assert charts == [
        ("accuracy so far, share of answers right", "examples"),
        ("gain in the objective", "entry, in the order of picking"),
        ("scores of the answers, 0 to 1", "iteration"), ("length of an answer, tokens", "iteration"),
        ("answers that the first K paths meet, share", "K, paths of a question"), ("loss", "step"),
        ("residual δ and log Z, nats", "step"), ("sampled paths that meet an answer, share", "step"),
        ("answers that pass so far, share", "answers judged"),
        ("accuracy on held-out queries, 0 to 1", "training step"),
        ("expected score on training queries, 0 to 1", "training step"),
    ]  # fmt: skip
    for page in pages().values():
        assert page.help.startswith("# ") and page.about.endswith(".") and page_of(page.title) is page
        assert all(
            cases.empty.startswith(("No ", "There are no ")) and cases.empty.endswith(".")
            for cases in page.cases
        )
    assert (page_of("Nobody").title, page_of("Nobody").cases) == ("Nobody", ())


@pytest.mark.parametrize(
    ("title", "system"),
    [
        ("ESM", "esm"),
        ("Evolution", "evolution"),
        ("GFlowNet", "gflownet"),
        ("SLSM", "slsm"),
        ("Pool", "pool"),
    ],
)
def test_a_what_if_is_called_as_the_engine_calls_its_method(title: str, system: str) -> None:
    what_if = page_of(title).what_if
    assert what_if is not None and what_if.system == system and what_if.help.startswith("# What if: ")


def test_before_anything_is_known_a_page_is_empty() -> None:
    state = RunState()
    state.apply(WorkerStarted(pid=1, attempt=1, stages=["mine"]))
    for title, page in pages().items():
        assert (
            page.results(state)
            == page.training(state)
            == page.pictures(state)
            == charts_of(page, state)
            == []
        )
        assert page.overview.highlights(state) == [] and page.overview.verdict_so_far(state) is None
        assert page.overview.untested(state) == ""
        assert {cases.remark(state) for cases in page.cases} <= {"", "0 improved ▲"}, title


def test_an_events_case_and_what_can_be_tried_in_its_place() -> None:
    """Also of events that belong to the row of another; the server has no other choice."""
    drawn = {kind: (page.title, cases.name) for kind, (page, cases) in cases_of_events().items()}
    assert drawn[EvidenceAnswered] == drawn[QuestionSampled] == ("GFlowNet", "questions")
    assert (drawn[SelectorPicked], drawn[PoolQueryDone]) == (("Pool", "picks"), ("Pool", "queries"))
    assert {kind: what_if.system for kind, (what_if, _) in choices_of_events().items()} == {
        DecisionTaken: "esm", AnswerJudged: "evolution", QuestionSampled: "gflownet", ConversationAnswered: "slsm",
        PoolQueryDone: "pool", SelectorPicked: "pool",
    }  # fmt: skip
