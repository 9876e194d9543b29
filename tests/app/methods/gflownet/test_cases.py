"""What GFlowNet's cases say, from events made by hand."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from rich.style import Style

from app.blocks.block import (
    Beside,
    Block,
    Facts,
    Heading,
    Paragraph,
    Span,
    Table,
    Target,
    Writing,
    plain,
    spans,
)
from app.blocks.terminal import draw
from app.methods.gflownet.page import PAGE
from app.methods.gflownet.paths import LEGEND, left_at, met, way
from app.methods.gflownet.questions import QUESTIONS
from app.methods.gflownet.what_if import WHAT_IF
from app.methods.overview import Curve
from app.methods.place import Place
from app.methods.source import CaseSource
from app.methods.what_if import Choice
from app.report.item_words import item_words
from app.state.run import RunState
from app.table.column import Cell, cell_of
from engine import events as ev
from engine.events import QuestionSampled

PALETTE = {name: Style.null() for name in ("dim", "strong", "good", "bad", "accent", "warn", "heading")}
CAPITAL = ev.PathStep(head="Oslo", relation="capital", tail="Ostrel", score=0.9, gt=True)
RIVER = ev.PathStep(head="Ostrel", relation="lies on", tail="Sella", score=0.8, gt=True, answer=True)
TWIN = ev.PathStep(head="Ostrel", relation="twinned with", tail="Lima", score=0.2)
RIGHT = ev.SampledPath(steps=[CAPITAL, RIVER], count=12, probability=0.6, reward=1.0, answers=["Sella"])
ASTRAY = ev.SampledPath(steps=[CAPITAL, TWIN], count=6, probability=0.25, reward=0.001)
SHORT = ev.SampledPath(steps=[CAPITAL], count=1, probability=0.1, reward=0.001)
STOPPED = ev.SampledPath(steps=[], count=1, probability=0.0004, reward=0.001)


def question(sample_id: str = "q1", *paths: ev.SampledPath, **more: Any) -> ev.QuestionSampled:
    event = ev.QuestionSampled(
        sample_id=sample_id, question="Which river?", starts=["Oslo", "Bergen"], answers=["Sella", "Glomma"],
        golds=["Sella", "Glomma"], nodes=140, edges=1, samples=20, log_z=1.314, temperature=1.4, prior_alpha=0.5,
        paths=list(paths or (RIGHT, ASTRAY, STOPPED)), prompt="Triplets:\n(a,b,c)",
    )  # fmt: skip
    return msgspec.structs.replace(event, **more)


def answer(sample_id: str, method: str, hit: bool, text: str, **more: Any) -> ev.EvidenceAnswered:
    return ev.EvidenceAnswered(
        sample_id=sample_id, method=method, question="Which river?", golds=["Sella", "Glomma"], answer=text, hit=hit,
        recall=float(hit), **({"triples": 4, "prompt_tokens": 53, "prompt": f"P of {method}"} | more),
    )  # fmt: skip


class Log:
    """A state folded from events that can be read again; an event's number is its place."""

    def __init__(self, *events: ev.Event) -> None:
        self.events, self.state = events, RunState()
        for at, event in enumerate(events):
            self.state.apply(event, at, 1)

    @property
    def source(self) -> CaseSource:
        return CaseSource(Path("run"), self.state, lambda offset, length: self.events[offset])


@pytest.fixture
def log() -> Log:
    return Log(
        question("q1"), question("q2", ASTRAY, SHORT), answer("q1", "triples", False, "Lima"),
        answer("q1", "gflownet", True, "Sella"), answer("q2", "triples", True, "Glomma"),
        answer("q2", "gflownet", False, "Lima"), answer("q3", "triples", True, "Sella"),
    )  # fmt: skip


def texts(blocks: Any) -> list[str]:
    """All lines of headings, paragraphs, facts and texts."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph | Heading):
            lines.append(plain(block.text))
        elif isinstance(block, Facts):
            lines += [f"{name}: {plain(value)}" for name, value in block.rows]
        elif isinstance(block, Writing):
            lines.append(block.text)
        elif isinstance(block, Beside):
            lines += [f"| {line}" for line in texts([*block.first, *block.second])]
    return lines


def on_terminal(blocks: list[Block], width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(draw(blocks, PALETTE, width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def cells(columns: Any, row: Any) -> list[Cell]:
    return [cell_of(column.show(column.value(row))) for column in columns]


# ---------------------------------------------------------------- questions


def test_the_cells_of_a_question(log: Log) -> None:
    """q1: 12 of 20 draws meet one of two answers, the first path does; of q2 none does."""
    rows = QUESTIONS.rows(log.state)
    assert [column.label for column in QUESTIONS.columns] == [
        "rank", "reader", "±", "triples", "question", "answer from paths", "meeting", "answers", "paths", "edges", "id"
    ]  # fmt: skip
    assert cells(QUESTIONS.columns, rows[0]) == [
        Cell("1", "good"), Cell("✓", "good"), Cell("▲", "good"), Cell("✗", "bad"), Cell("Which river?"), Cell("Sella"),
        Cell("0.60"), Cell("1/2"), Cell("3"), Cell("1"), Cell("q1"),
    ]  # fmt: skip
    assert cells(QUESTIONS.columns, rows[1])[:9] == [
        Cell("–", "bad"), Cell("✗", "bad"), Cell("▼", "bad"), Cell("✓", "good"), Cell("Which river?"), Cell("Lima"),
        Cell("0.00"), Cell("0/2"), Cell("2"),
    ]  # fmt: skip
    assert [QUESTIONS.notable(log.state, row) for row in rows] == [True, True]
    assert QUESTIONS.remark(log.state) == (
        "1 whose paths meet no answer  │  ▲ 1 right from paths only, ▼ 1 from triples only"
    )
    later = Log(question("q", ASTRAY, RIGHT))
    assert cells(QUESTIONS.columns, QUESTIONS.rows(later.state)[0])[:6] == [
        Cell("2"), Cell("·", "dim"), Cell(" "), Cell("·", "dim"), Cell("Which river?"), Cell(""),
    ]  # fmt: skip
    assert QUESTIONS.remark(later.state) == "" and not QUESTIONS.notable(
        later.state, QUESTIONS.rows(later.state)[0]
    )
    nothing = Log(question("q", ASTRAY, answers=[]))
    assert not QUESTIONS.notable(nothing.state, QUESTIONS.rows(nothing.state)[0])


def test_answers_that_agree_are_not_notable() -> None:
    log = Log(question("q1"), answer("q1", "triples", True, "Sella"), answer("q1", "gflownet", True, "Sella"))
    [row] = QUESTIONS.rows(log.state)
    assert cells(QUESTIONS.columns, row)[2] == Cell(" ") and not QUESTIONS.notable(log.state, row)
    assert QUESTIONS.remark(log.state) == ""
    assert not any("only" in line for line in texts(QUESTIONS.draw(log.events[0], log.source)))


@pytest.mark.parametrize("method", ["gflownet", "triples"])
def test_a_question_that_is_answered_once_so_far_has_no_sign(method: str) -> None:
    log = Log(question("q1"), answer("q1", method, True, "Sella"))
    [row] = QUESTIONS.rows(log.state)
    assert row.sign == 0 and not QUESTIONS.notable(log.state, row) and QUESTIONS.remark(log.state) == ""
    assert [place.offset for place in row.places] == [0, 1]


def test_a_row_stands_for_all_events_of_its_question(log: Log) -> None:
    row = QUESTIONS.rows(log.state)[0]
    assert sorted(place.offset for place in row.places) == [0, 2, 3] and row.place.offset == 0
    whole = texts(QUESTIONS.draw(log.events[0], log.source))
    assert texts(QUESTIONS.draw(log.events[2], log.source)) == whole
    assert texts(QUESTIONS.draw(log.events[3], log.source)) == whole


def test_the_remark_counts_each_way() -> None:
    """Right from paths only: three; from triples only: two; the same from both: one."""
    hits = [(True, False)] * 3 + [(False, True)] * 2 + [(True, True)]
    log = Log(*(question(f"q{at}") for at in range(6)), *(
        answer(f"q{at}", method, hit, "x")
        for at, pair in enumerate(hits) for method, hit in zip(("gflownet", "triples"), pair, strict=True)
    ))  # fmt: skip
    assert QUESTIONS.remark(log.state) == "▲ 3 right from paths only, ▼ 2 from triples only"


def test_a_question_with_its_answers_and_paths(log: Log) -> None:
    blocks = QUESTIONS.draw(log.events[0], log.source)
    assert texts(blocks) == [
        "Which river?   q1", "from: Oslo, Bergen", "to: Sella, Glomma",
        "from sampled paths: ✓ Sella   4 triples, 53 tokens",
        "from the best-scored triples: ✗ Lima   4 triples, 53 tokens",
        "▲ only the sampled paths lead to a right answer",
        "✓ 1 of 3 paths meet an answer; 1 of 2 answers met",
        "140 nodes, 1 edge   temperature 1.4, prior α 0.50, log Z 1.31",
        "20 independent draws from P_F, the most frequent path first",
        "| what the reader got: sampled paths", "| P of gflownet",
        "| what the reader got: the best-scored triples", "| P of triples",
    ]  # fmt: skip
    [beside] = [block for block in blocks if isinstance(block, Beside)]
    assert texts(beside.first) == ["what the reader got: sampled paths", "P of gflownet"]
    lines = on_terminal(blocks, 120)
    assert any("P of gflownet" in line and "P of triples" in line for line in lines)
    assert not any("P of gflownet" in line and "P of triples" in line for line in on_terminal(blocks, 80))
    lost = QUESTIONS.draw(log.events[1], log.source)
    assert "▼ only the best-scored triples lead to a right answer" in texts(lost)
    tones = {plain(block.text)[0]: block.tone for block in [*blocks, *lost] if isinstance(block, Paragraph)}
    assert (tones["▲"], tones["▼"]) == ("good", "bad")


def test_a_question_that_was_not_answered() -> None:
    alone = question()
    assert texts(QUESTIONS.draw(alone, Log(alone).source))[-2:] == [
        "what the language model gets",
        "Triplets:\n(a,b,c)",
    ]
    distinct = question(distinct=True, golds=["Sella"], prompt="", samples=1)
    lines = texts(QUESTIONS.draw(distinct, Log().source))
    assert lines[3] == "right answers: Sella"
    turned = question(golds=["Glomma", "Sella"], prompt="")
    assert not any("right answers" in line for line in texts(QUESTIONS.draw(turned, Log().source)))
    assert lines[-1] == "1 path drawn without replacement from P_F, the most probable first"


def test_an_answer_that_stands_alone(log: Log) -> None:
    """The other one is not there yet, and its paths are not in the log."""
    blocks = QUESTIONS.draw(log.events[6], log.source)
    assert texts(blocks) == [
        "Which river?   q3", "right answers: Sella, Glomma",
        "from the best-scored triples: ✓ Sella   4 triples, 53 tokens",
        "what the reader got: the best-scored triples", "P of triples",
    ]  # fmt: skip


def test_answers_that_failed_were_cut_or_are_empty() -> None:
    log = Log(
        answer("q", "triples", False, "", failure="no reply", triples=1, prompt_tokens=1, prompt=""),
        answer("q", "gflownet", False, "Sel\nla", cut=True, prompt=""), answer("r", "gflownet", False, "", prompt=""),
    )  # fmt: skip
    lines = texts(QUESTIONS.draw(log.events[0], log.source))
    assert lines[2:] == [
        "from sampled paths: ✗ Sel, la (cut off)   4 triples, 53 tokens",
        "from the best-scored triples: ✗ no answer: no reply   1 triple, 1 token",
    ]
    assert (
        texts(QUESTIONS.draw(log.events[2], log.source))[2]
        == "from sampled paths: ✗ (empty)   4 triples, 53 tokens"
    )


def test_a_missed_question_says_where_its_paths_went_wrong() -> None:
    blocks = QUESTIONS.draw(question("q", ASTRAY, ASTRAY, SHORT, STOPPED), Log().source)
    assert texts(blocks)[3:6] == [
        "✗ none of 4 paths meets an answer",
        "  2 left the shortest paths at step 2 by twinned with",
        "  2 stopped before an answer",
    ]
    assert [left_at(path) for path in (RIGHT, ASTRAY, SHORT, STOPPED)] == [0, 2, 0, 0]


def test_the_paths_of_a_question() -> None:
    """A bar of ten cells of the share of draws, 12 of 20; edges of shortest paths are thick, ★ is an answer."""

    def rows(event: ev.QuestionSampled) -> list[tuple[str, ...]]:
        [table] = [block for block in QUESTIONS.draw(event, Log(event).source) if isinstance(block, Table)]
        assert list(table.header) == ["path", "meets", "share", "drawn", "P_F", "R"] and table.figures == 4
        assert list(table.notes) == list(LEGEND)
        return [tuple(map(plain, row)) for row in table.rows]

    assert rows(question()) == [
        ("1 Oslo ━capital━▶ Ostrel ━lies on━▶ Sella★", "✓ Sella", "━━━━━━────", "12", "0.600", "1.000"),
        (
            "2 Oslo ━capital━▶ Ostrel ≠ ─twinned with─▶ Lima",
            "✗ no answer",
            "━━━───────",
            "6",
            "0.250",
            "0.001",
        ),
        ("3 STOP at once", "✗ no answer", "╸─────────", "1", "4e-04", "0.001"),
    ]
    none = rows(question("q1", STOPPED, samples=0))[0]
    assert none[2] == "━━━━━━━━━━", "a log from elsewhere may say that one of none was drawn"
    distinct = rows(question(distinct=True))  # the bar is P_F: 0.6, 0.25
    assert [row[2] for row in distinct[:2]] == ["━━━━━━────", "━━╸───────"]


def test_the_tones_of_a_way() -> None:
    assert [span.tone for span in spans(way(RIGHT))] == ["", "bad", "accent", "", "bad", "accent", "good"]
    assert [span.tone for span in spans(way(ASTRAY))][4:] == ["bad", "dim", ""]
    both = ev.SampledPath(steps=[TWIN], count=1, probability=1, reward=1, answers=["Lima", "Rima"])
    assert plain(way(both)) == "Ostrel ─twinned with─▶ Lima", (
        "a path that meets an answer went nowhere astray"
    )
    assert met(both) == Span("✓ Lima, Rima", "good") and met(SHORT) == Span("✗ no answer", "bad")


# ---------------------------------------------------------------- links and words


def test_links_lead_to_the_first_question_that_one_kind_of_evidence_answers_alone(log: Log) -> None:
    places = [PAGE.place_of(Target(kind, ""), log.state) for kind in ("better", "worse")]
    assert [(p.tab, p.key, p.open) for p in places if p] == [("questions", 0, True), ("questions", 1, True)]
    assert PAGE.place_of(Target("better", ""), Log().state) is None


def test_cases_in_a_few_words(log: Log) -> None:
    """A question's paths and its two answers are told apart."""
    answers = [answer("q1", method, True, "Sella") for method in ("gflownet", "triples")]
    assert [item_words(event) for event in (*log.events[:2], *answers)] == [
        "question q1", "question q2", "answer from sampled paths to q1",
        "answer from the best-scored triples to q1",
    ]  # fmt: skip


def test_paths_that_were_tried_say_what_is_new_and_what_is_missing(log: Log) -> None:
    """Of the right path, the one astray and the one that stopped, two are missing; the short one is new."""
    choice = WHAT_IF.of[QuestionSampled](question(), log.source)
    assert isinstance(choice, Choice)
    tried = ev.PathsTried(
        example="q1",
        committed=question(),
        none=question(temperature=1.0),
        yours=question("q1", RIGHT, SHORT),
        exact=True,
    )
    said = [
        [plain(block.text) for block in answer.about if isinstance(block, Paragraph)]
        for answer in choice.answers(tried).beside
    ]
    first, _, drawn = (answer.about[-1] for answer in choice.answers(tried).beside)
    assert isinstance(first, Table) and tuple(first.notes) == LEGEND
    assert isinstance(drawn, Table) and not drawn.notes
    assert [tuple(map(plain, row))[:4] for row in drawn.rows] == [
        ("+2 Oslo ━capital━▶ Ostrel", "✗ no answer", "╸─────────", "1"),
        ("−2 Oslo ━capital━▶ Ostrel ≠ ─twinned with─▶ Lima", "✗ no answer", "━━━───────", "6"),
        ("−3 STOP at once", "✗ no answer", "╸─────────", "1"),
        ("1 Oslo ━capital━▶ Ostrel ━lies on━▶ Sella★", "✓ Sella", "━━━━━━────", "12"),
    ]
    met_one = "✓ 12 of 20 paths meet an answer; 1 of 2 answers met"
    assert said == [
        [met_one], [met_one, "= the committed paths"], [met_one, "+1 −2 against the committed paths"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ((RIGHT, ASTRAY, STOPPED, SHORT), "+1 −0 against the committed paths"),
        ((RIGHT, ASTRAY), "+0 −1 against the committed paths"),
        ((STOPPED, ASTRAY, RIGHT), "= the committed paths"),
    ],
)
def test_paths_may_only_come_or_only_go(paths: tuple[ev.SampledPath, ...], words: str) -> None:
    """Against the right path, the one astray and the one that stopped."""
    choice = WHAT_IF.of[QuestionSampled](question(), Log().source)
    assert isinstance(choice, Choice)
    tried = ev.PathsTried(
        example="q1", committed=question(), none=question(), yours=question("q1", *paths), exact=True
    )
    yours = choice.answers(tried).beside[2]
    assert [plain(block.text) for block in yours.about if isinstance(block, Paragraph)][1] == words


def test_paths_and_answers_that_are_met_are_counted_apart(log: Log) -> None:
    """Two of three paths lead to the same one of two answers."""
    again = ev.SampledPath(
        steps=[CAPITAL, TWIN, RIVER], count=2, probability=0.1, reward=1.0, answers=["Sella"]
    )
    blocks = QUESTIONS.draw(question("q1", RIGHT, again, ASTRAY), log.source)
    lines = [plain(block.text) for block in blocks if isinstance(block, Paragraph)]
    assert "✓ 2 of 3 paths meet an answer; 1 of 2 answers met" in lines


def test_what_is_worth_opening_of_a_sampler(log: Log) -> None:
    """Of q2 no path meets an answer, and triples alone lead to one."""
    assert [(one.text, one.place) for one in PAGE.overview.highlights(log.state)] == [
        ("1 question of which no path meets an answer", Place("questions", 1)),
        ("1 question answered right from triples and wrong from paths", Place("questions", 1)),
    ]
    trained = Log(
        ev.SamplerStep(step=1, steps=2, loss=1.0, tb_loss=1.0, success_mean=0.25),
        ev.SamplerEvaluated(split="test", step=1, method="gflownet", n=4, k=10, metrics={}),
    )
    assert [(one.text, one.place) for one in PAGE.overview.highlights(trained.state)] == [
        ("the training, and how far it is from sampling by reward", Place("training")),
        ("the sampler beside beam search, figure by figure", Place("results")),
    ]


def test_the_course_on_the_overview_is_that_of_the_answers_once_there_are_some(log: Log) -> None:
    """From paths: right, wrong; from triples: wrong, right, right."""
    assert PAGE.overview.curve(log.state) == Curve(
        "right so far", "the questions", "GFlowNet", (1.0, 0.5), "triples", (0.0, 0.5, 2 / 3)
    )
    steps = (ev.SamplerStep(step=at, steps=2, loss=1.0, tb_loss=1.0, success_mean=at / 4) for at in (1, 2))
    assert PAGE.overview.curve(Log(*steps).state) == Curve(
        "paths that meet an answer", "the steps", "GFlowNet", (0.25, 0.5)
    )


def test_paths_can_be_tried_with_other_settings() -> None:
    choice = WHAT_IF.of[QuestionSampled](question(), Log().source)
    assert isinstance(choice, Choice)
    assert choice.about == "q1 · temperature 1.4, prior α 0.5\nWhich river?\nto Sella, Glomma"
    fields = [(field.name, field.label, field.value, field.width) for line in choice.fields for field in line]
    assert fields == [
        ("temperature", "temperature", "1.4", 9), ("prior_alpha", "prior α", "0.5", 9), ("samples", "samples", "20", 8),
        ("distinct", "distinct", "0", 5), ("draw", "draw", "0", 9),
    ]  # fmt: skip
    read = {field.name: field.read(field.value) for line in choice.fields for field in line}
    assert choice.request(read) == {
        "sample_id": "q1", "temperature": 1.4, "prior_alpha": 0.5, "samples": 20, "distinct": False, "draw": 0,
    }  # fmt: skip
    for name, text, why in (
        ("temperature", "0", "expected 1e-06 to 100, found 0"), ("prior_alpha", "101", "expected 0 to 100, found 101"),
        ("samples", "0", "expected a whole number from 1 to 1,000, found '0'"),
        ("distinct", "2", "expected 0 or 1, found '2'"),
    ):  # fmt: skip
        field = next(field for line in choice.fields for field in line if field.name == name)
        with pytest.raises(ValueError) as error:
            field.read(text)
        assert str(error.value) == why
    missed = ev.PathsTried(
        example="q1", committed=question("q1", ASTRAY), none=question("q1", ASTRAY, temperature=0.5, prior_alpha=0.0),
        yours=question(), exact=True,
    )  # fmt: skip
    committed, none, yours = choice.answers(missed).beside
    assert [one.name for one in (committed, none, yours)] == [
        "committed: temperature 1.4, prior α 0.5", "no prior: temperature 0.5, prior α 0",
        "yours: temperature 1.4, prior α 0.5",
    ]  # fmt: skip
    [said] = [block for block in committed.about if isinstance(block, Paragraph)]
    assert plain(said.text) == "✗ 0 of 20 paths meet an answer; 0 of 2 answers met"
    assert spans(said.text)[0].tone == "bad"
