"""What Evolution's page says, from events made by hand."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console
from rich.style import Style

from app.blocks.block import (
    Block,
    Changes,
    Facts,
    Heading,
    Paragraph,
    Picture,
    Table,
    Target,
    Writing,
    in_one_column,
    plain,
    spans,
)
from app.blocks.drawing import Label
from app.blocks.terminal import draw
from app.methods.evolution import training
from app.methods.evolution.answers import ANSWERS
from app.methods.evolution.clusters import cluster_table, cluster_words, delta_map
from app.methods.evolution.iterations import ITERATIONS, server_blocks
from app.methods.evolution.page import PAGE
from app.methods.evolution.what_if import WHAT_IF, _cluster, _clusters
from app.methods.overview import Curve
from app.methods.pages import charts_of
from app.methods.place import Place
from app.methods.source import CaseSource
from app.methods.what_if import Choice
from app.report.result_blocks import method_blocks
from app.state.run import RunState
from app.table.column import Cell, ListColumn, cell_of
from engine import events as ev
from tests.exactly import exactly

PALETTE = {
    name: Style() for name in ("dim", "strong", "good", "bad", "accent", "warn", "heading")
}  # fmt: skip


class Log:
    """A state folded from events that can be read again."""

    def __init__(self, *events: ev.Event) -> None:
        self.events, self.state = events, RunState()
        for at, event in enumerate(events):
            self.state.apply(event, at, 1)

    def case(self, event: ev.Event) -> list[Block]:
        """The case in full that is drawn from an event."""
        kind = ITERATIONS if isinstance(event, ev.IterationBegan) else ANSWERS
        source = CaseSource(Path("run"), self.state, lambda offset, length: self.events[offset])
        return kind.draw(event, source)


def cells(columns: Sequence[ListColumn[Any]], row: Any) -> list[Cell]:
    return [cell_of(column.show(column.value(row))) for column in columns]


def texts(blocks: Sequence[Block]) -> list[str]:
    """All lines of headings, paragraphs, facts and writings."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph | Heading | Writing):
            lines.append(plain(block.text))
        elif isinstance(block, Facts):
            lines += [f"{name}: {plain(value)}" for name, value in block.rows]
    return lines


def table(blocks: Sequence[Block], caption: str = "") -> Table:
    """The table whose caption begins so; without one, the table that has none."""
    tables = [block for block in blocks if isinstance(block, Table) and bool(block.caption) == bool(caption)]
    [found] = [block for block in tables if block.caption.startswith(caption)]
    return found


def rows(found: Table) -> list[list[str]]:
    return [list(map(plain, row)) for row in found.rows]


CLUSTERS = ev.ClustersBuilt(
    tokens=100,
    clusters=[
        ev.TokenCluster(id="0", description="", size=1, share=0.05, frequent_tokens=["<|im_end|>"]),
        ev.TokenCluster(
            id="2", description="", size=1234, share=0.25, frequent_tokens=[" Based", " provided"]
        ),
        ev.TokenCluster(id="3", description="", size=20, share=0.5, frequent_tokens=[" cash"]),
    ],
)


def began(**more: Any) -> ev.EvolutionBegan:
    fields: dict[str, Any] = {
        "clusters": ["0", "2", "3"], "iterations": 4, "minibatch": 4, "validation": 2, "test": 2, "scale": 40.0,
        "weights": [0.4, 0.6], "server": "SGLang", "judge": "gpt-4o", "reflector": "o3", "questions": 30,
    }  # fmt: skip
    return ev.EvolutionBegan(**{**fields, **more})


def scored(
    iteration: int,
    split: str,
    composite: float,
    tokens: float,
    correct: int = 3,
    answers: int = 4,
    **more: Any,
) -> ev.Event:
    return ev.AnswersScored(
        iteration=iteration, split=split, answers=answers, judged=4, correct=correct, mean_tokens=tokens, shortness=0.5,
        correctness=correct / 4, composite=composite, error=0.012, **more,
    )  # fmt: skip


def answer(
    iteration: int,
    split: str,
    example: str,
    tokens: int,
    correct: bool | None,
    text: str = "Cash was 41.",
    **more: Any,
) -> ev.AnswerJudged:
    return ev.AnswerJudged(
        iteration=iteration, split=split, example=example, question="What was cash?", gold="41", tokens=tokens,
        correct=correct, answer=text, reasoning="it says 41", **more,
    )  # fmt: skip


FIRST = ev.IterationBegan(iteration=0, deltas={"0": 0.0, "2": 0.0, "3": 0.0})
SECOND = ev.IterationBegan(iteration=1, deltas={"0": 0.4, "2": -0.8, "3": 0.0})
PLAIN_Q = answer(0, "baseline", "q", 10, False, "Based on it, no.",
                 pieces=["Based", " on it", ", no."], clusters=[2, 3, 3])  # fmt: skip
UNDER_Q = answer(1, "validation", "q", 4, True, pieces=["Cash", " was 41."], clusters=[3, 255])
UNDER_P = answer(1, "validation", "p", 9, False)


@pytest.fixture
def log() -> Log:
    """Iteration 0 has zero deltas, 1 is better and kept, the reflector's reply to it is the last that is known."""
    return Log(
        CLUSTERS, began(), PLAIN_Q, answer(0, "baseline", "p", 6, True), answer(0, "baseline", "r", 8, True),
        scored(0, "baseline", 0.5, 8.0), FIRST, scored(0, "minibatch", 0.51, 9.0),
        scored(0, "validation", 0.5, 8.0, best=True),
        ev.ReflectorReplied(iteration=0, reflector="o3", deltas=SECOND.deltas, summary="Less padding.",
                            message="m.txt"),
        ev.IterationFinished(iteration=0, calls=1, tokens=10),
        SECOND, answer(1, "minibatch", "m", 5, None), UNDER_Q, UNDER_P, answer(1, "validation", "r", 4, True),
        scored(1, "minibatch", 0.6, 5.0, correct=2), scored(1, "validation", 0.62, 6.5, best=True),
        ev.ReflectorReplied(iteration=1, reflector="o3", deltas={"0": 0.4, "2": -1.0, "3": 0.1}, summary="Still less.",
                            attempts=2),
        ev.IterationFinished(iteration=1, calls=1200, tokens=34567, cost=1.5),
    )  # fmt: skip


# ---------------------------------------------------------------- iterations


def test_the_cells_of_an_iteration(log: Log) -> None:
    first, second = ITERATIONS.rows(log.state)
    assert [cell.text for cell in cells(ITERATIONS.columns, first)] == [
        "0", "★", "0.510", "0.750", "9.0", "0.500", "0.750", "8.0", "✓",
    ]  # fmt: skip
    assert [cell.text for cell in cells(ITERATIONS.columns, second)] == [
        "1", "★", "0.600", "0.500", "5.0", "0.620", "0.750", "6.5", "✓",
    ]  # fmt: skip
    assert [ITERATIONS.notable(log.state, row) for row in (first, second)] == [False, True], "the last best"
    assert ITERATIONS.remark(log.state) == (
        "4 planned  │  ★ iteration 1 is the best by the validation set: 0.620, no deltas 0.500"
    )
    assert "0.4 shortness + 0.6 correctness" in ITERATIONS.columns[2].help


def test_the_states_of_an_iteration() -> None:
    def shown(*events: ev.Event) -> list[Cell]:
        log = Log(began(iterations=1), *events)
        [row] = ITERATIONS.rows(log.state)
        return cells(ITERATIONS.columns, row)

    assert shown(FIRST)[-1] == Cell("answering", "warn") and shown(FIRST)[2] == Cell("·", "dim")
    assert shown(FIRST)[1].text == " "
    assert shown(FIRST, scored(0, "minibatch", 0.5, 1.0))[-1] == Cell("reflecting", "warn")
    assert shown(FIRST, ev.IterationFinished(iteration=0))[-1] == Cell("✓", "good")
    failed = ev.ReflectorReplied(iteration=0, reflector="o3", aborted="no JSON")
    assert shown(FIRST, failed)[-1] == Cell("aborted", "bad")
    assert ITERATIONS.remark(Log(began(), FIRST).state) == "4 planned" and ITERATIONS.remark(RunState()) == ""


def test_an_iteration_that_the_log_has_only_scores_of_has_no_row() -> None:
    log = Log(began(), scored(0, "minibatch", 0.5, 1.0))
    assert ITERATIONS.rows(log.state) == []


def test_an_iteration_says_what_it_gained_and_why(log: Log) -> None:
    blocks = log.case(SECOND)
    assert texts(blocks) == [
        "iteration 1  ★ kept as best  its 4 answers  ▲ 1 turned right  ▼ 1 turned wrong",
        "▲ +0.120 composite on the validation set, from 0.500 (iteration 0) to 0.620",
        "why these: the reply to iteration 0: Less padding.",
        "o3 replied, after 2 attempts, for the next iteration",
        "Still less.",
    ]
    assert isinstance(blocks[0], Paragraph) and isinstance(blocks[1], Paragraph)
    assert [span.target for span in spans(blocks[0].text) if span.target] == [
        Target("answers", "1"), Target("right", "1"), Target("wrong", "1"),
    ]  # fmt: skip
    assert spans(blocks[1].text)[0].tone == "good"


def test_a_reply_to_the_last_iteration_is_tried_by_none() -> None:
    """Of two planned, iteration 1 is the last."""
    reply = ev.ReflectorReplied(iteration=1, reflector="o3", summary="Still less.", deltas={"2": -1.0})
    for planned, words in ((2, ", after the last iteration: none tries it"), (3, ", for the next iteration")):
        lines = texts(Log(began(iterations=planned), SECOND, reply).case(SECOND))
        assert lines == ["iteration 1", f"o3 replied{words}", "Still less."]


def test_the_first_iteration_is_held_against_no_deltas_and_leads_to_the_one_that_tries_its_reply(
    log: Log,
) -> None:
    assert texts(log.case(FIRST)) == [
        "iteration 0  ★ kept as best",
        "▲ 0.000 composite on the validation set, from 0.500 (no deltas) to 0.500",
        "o3 replied, for the next iteration",
        "Less padding.",
        "→ iteration 1",
        "sent: m.txt",
    ]


def test_the_scores_of_an_iteration_stand_beside_the_unchanged_model(log: Log) -> None:
    scores = table(log.case(SECOND))
    assert list(scores.header) == [
        "answers",
        "right",
        "correct",
        "tokens",
        "shortness",
        "composite",
        "± error",
    ]
    assert rows(scores) == [
        ["minibatch", "2 of 4", "0.500", "5.0", "0.500", "0.600", "0.012"],
        ["validation", "3 of 4", "0.750", "6.5", "0.500", "0.620", "0.012"],
        ["validation, unchanged model", "3 of 4", "0.750", "8.0", "0.500", "0.500", "0.012"],
    ]
    assert scores.figures == 6 and list(scores.notes) == [
        "composite = 0.4 × shortness + 0.6 × share of right answers; shortness = 1 / (1 + mean tokens / 40)",
        "± error: standard error of the composite",
    ]
    left = [scores.header, *(scores.narrowed(width).header for width in range(90, 20, -1))]
    gone = [set(wide) - set(narrow) for wide, narrow in pairwise(left) if set(wide) != set(narrow)]
    assert gone == [{"shortness"}, {"right"}, {"± error"}, {"tokens"}, {"correct"}], "the composite stays"


def test_a_clusters_words_stand_beside_its_number_and_the_most_changed_comes_first(log: Log) -> None:
    deltas = table(log.case(SECOND), "Deltas of iteration 1")
    assert list(deltas.header) == ["tokens such as", "cluster", "before", "here", "here − before"]
    assert rows(deltas) == [
        ["Based provided", "2", "0.00", "−0.80", "−0.80"],
        ["end of text", "0", "0.00", "+0.40", "+0.40"],
        ["cash", "3", "0.00", "0.00", "·"],
    ]
    assert [spans(row[4])[0].tone for row in deltas.rows] == ["bad", "good", "dim"]
    assert deltas.figures == 4 and "below 0 its tokens become rarer" in deltas.notes[0]
    first = rows(table(log.case(FIRST), "Deltas of iteration 0"))
    assert first[0][2:] == ["·", "0.00", "·"]
    begun = ev.IterationBegan(iteration=0, deltas={"0": 0.3})
    assert rows(table(Log(begun).case(begun), "Deltas of")) == [["end of text", "0", "·", "+0.30", "·"]], (
        "none came before"
    )
    third = Log(*log.events, ev.IterationBegan(iteration=2, deltas={"0": 0.3, "2": -1.0, "3": 0.1}))
    assert rows(table(third.case(third.events[-1]), "Deltas of iteration 2")) == [
        ["Based provided", "2", "−0.80", "−1.00", "−0.20"],
        ["end of text", "0", "+0.40", "+0.30", "−0.10"],
        ["cash", "3", "0.00", "+0.10", "+0.10"],
    ]


def test_worse_and_not_surely_better_iterations() -> None:
    def gained(composite: float, best: bool = False) -> str:
        log = Log(
            began(),
            scored(0, "baseline", 0.5, 8.0),
            FIRST,
            scored(0, "validation", composite, 8.0, best=best),
        )
        return texts(log.case(FIRST))[1]

    assert gained(0.45).startswith("▼ −0.050 composite") and gained(0.51).startswith("≈ +0.010 composite")
    assert gained(0.51, best=True).startswith("▲ +0.010 composite")
    assert gained(0.5).startswith("≈ 0.000 composite"), "as good is not worse"


def test_minibatches_are_other_questions() -> None:
    events = [began(best_by="minibatch", validation=0), FIRST, scored(0, "minibatch", 0.5, 9.0, best=True),
              SECOND, scored(1, "minibatch", 0.8, 5.0, best=True)]  # fmt: skip
    lines = texts(Log(*events).case(SECOND))
    assert lines[1] == (
        "▲ +0.300 composite on its minibatch, from 0.500 (iteration 0) to 0.800; other questions than before"
    )
    assert not any("validation" in line for line in lines)
    assert ITERATIONS.remark(Log(*events).state).endswith("the best by its minibatch: 0.800")
    plain = Log(*events, scored(0, "baseline", 0.5, 8.0))  # on the validation set: other questions, too
    assert ITERATIONS.remark(plain.state).endswith("the best by its minibatch: 0.800")


def test_what_was_not_tried_failed_or_cannot_be_told() -> None:
    score = scored(1, "minibatch", 0.4, 9.0, cannot_tell=1)
    score = ev.AnswersScored(iteration=1, split="minibatch", answers=7, judged=4, correct=1, mean_tokens=9.0,
                             shortness=0.5, correctness=0.25, composite=0.4, cannot_tell=1)  # fmt: skip
    reply = ev.ReflectorReplied(iteration=1, reflector="o3", aborted="no JSON in 3 replies", attempts=3)
    lines = texts(Log(began(), SECOND, score, reply).case(SECOND))
    assert lines == [
        "iteration 1",
        "minibatch: on 1 the judge cannot tell",
        "minibatch: on 2 the judge failed",
        "not tried on the validation set: the minibatch was not better than the best, within its error",
        "o3 replied, after 3 attempts, for the next iteration",
        "no valid reply: no JSON in 3 replies",
    ]


def test_what_no_deltas_reach_stands_beside_a_score_on_the_same_questions() -> None:
    """A minibatch has other ones."""
    minibatch, validation = scored(1, "minibatch", 0.6, 5.0), scored(1, "validation", 0.62, 6.5)
    for events, named in (
        ([minibatch], ["minibatch"]),
        ([minibatch, validation], ["minibatch", "validation", "validation, unchanged model"]),
    ):  # fmt: skip
        log = Log(began(), scored(0, "baseline", 0.5, 8.0), SECOND, *events)
        assert [row[0] for row in rows(table(log.case(SECOND)))][: len(named)] == named
        assert ("validation, unchanged model" in str(log.case(SECOND))) == (len(events) == 2)


def test_of_a_run_that_is_not_through_it_is_said_how_many_are_planned() -> None:
    """4 iterations: not yet with the third, but with the fourth."""
    best = scored(0, "validation", 0.9, 3.0, best=True)
    many = [ev.IterationBegan(iteration=n, deltas={}) for n in range(4)]
    said = [ITERATIONS.remark(Log(began(), many[0], best, *many[1:n]).state) for n in (3, 4)]
    assert said == [
        "4 planned  │  ★ iteration 0 is the best by the validation set: 0.900",
        "★ iteration 0 is the best by the validation set: 0.900",
    ]


def test_the_server_is_mentioned_where_there_is_something_to_say() -> None:
    def lines(state: str, **more: Any) -> list[str]:
        log = Log(began(), FIRST, ev.ServerChanged(state=state, server="SGLang", **more))
        return texts(log.case(FIRST))[1:]

    assert lines("failed", log=["loading", "out of memory"]) == [
        "model server, SGLang: failed  ", "loading\nout of memory",
    ]  # fmt: skip
    assert lines("starting") == ["model server, SGLang: starting  "]
    assert lines("healthy", log=["serving"]) == lines("stopped") == lines("stopping") == []
    assert lines("healthy", detail="port 4711") == ["model server, SGLang: healthy  port 4711"]
    for state, tone in (("failed", "bad"), ("starting", "warn")):
        [head] = server_blocks(ev.ServerChanged(state=state, server="SGLang"))
        assert isinstance(head, Paragraph) and spans(head.text)[1][:2] == (state, tone)
    done = ev.IterationFinished(iteration=0)
    later = Log(began(), FIRST, done, ev.ServerChanged(state="failed", server="SGLang"))
    assert len(texts(later.case(FIRST))) == 1, "after the iteration"
    assert texts(training.course(later.state.evolution))[0] == "model server, SGLang: failed  "


# ---------------------------------------------------------------- answers


def test_the_cells_of_an_answer(log: Log) -> None:
    shown = [cells(ANSWERS.columns, row) for row in ANSWERS.rows(log.state)]
    assert [tuple(cell.text for cell in row[:6]) for row in shown] == [
        ("·", "✗", " ", "10", "·", "baseline"), ("·", "✓", " ", "6", "·", "baseline"),
        ("·", "✓", " ", "8", "·", "baseline"), ("1", "·", " ", "5", "·", "minibatch"),
        ("1", "✓", "▲", "4", "−6", "validation"), ("1", "✗", "▼", "9", "+3", "validation"),
        ("1", "✓", " ", "4", "−4", "validation"),
    ]  # fmt: skip
    assert [cell.text for cell in shown[4][6:]] == ["What was cash?", "41", "q"]
    assert [shown[at][2].tone for at in (4, 5)] == ["good", "bad"]
    assert [shown[at][4].tone for at in (3, 4, 5)] == ["dim", "good", "bad"], "fewer tokens are better"
    notable = [ANSWERS.notable(log.state, row) for row in ANSWERS.rows(log.state)]
    assert notable == [False, False, False, False, True, True, True], "the last one is halved"


def test_asked_to_be_brief_is_no_work_of_the_deltas() -> None:
    log = Log(began(), answer(0, "baseline", "q", 10, True), answer(0, "brief_1", "q", 3, False),
              answer(0, "validation", "q", 6, True), answer(0, "validation", "q2", 1, True))  # fmt: skip
    found = list(ANSWERS.rows(log.state))
    assert cells(ANSWERS.columns, found[1])[:5] == [
        Cell("·"), Cell("✗", "bad"), Cell("▼", "bad"), Cell("3"), Cell("−7", "good"),
    ]  # fmt: skip
    assert [ANSWERS.notable(log.state, row) for row in found] == [False, False, False, False]
    assert "asked to be brief" in printed(log.case(log.events[2]))


def test_an_answer_stands_beside_that_of_the_unchanged_model(log: Log) -> None:
    blocks = log.case(UNDER_Q)
    assert texts(blocks) == [
        "q  iteration 1, validation   ✓ right   4 tokens, 6 fewer than the unchanged model  ▲ which is wrong",
        "question: What was cash?", "right answer: 41", "judge: it says 41",
    ]  # fmt: skip
    changes, clusters = in_one_column(blocks)[-2:]
    names = "under the deltas of iteration 1 (4 tokens)", "the unchanged model (10 tokens)"
    assert changes == Changes("Cash was 41.", "Based on it, no.", names)
    assert isinstance(clusters, Table)
    assert list(clusters.header) == ["tokens such as", "cluster", "tokens", "unchanged", "delta"]
    assert rows(clusters) == [
        ["■ cash", "3", "1", "2", "0.00"], ["■ Based provided", "2", "0", "1", "−0.80"], ["■ ", "none", "1", "0", "·"],
    ]  # fmt: skip
    assert texts(log.case(UNDER_P))[0] == (
        "p  iteration 1, validation   ✗ wrong   9 tokens, 3 more than the unchanged model  ▼ which is right"
    )


def test_an_answer_alone(log: Log) -> None:
    lines = texts(log.case(log.events[12]))
    assert lines[0] == "m  iteration 1, minibatch   · not judged   5 tokens"
    assert lines[-1] == "the unchanged model was not asked this question; w asks it, under no deltas"
    blocks = log.case(PLAIN_Q)
    assert texts(blocks)[0] == "q  baseline   ✗ wrong   10 tokens" and "w asks" not in texts(blocks)[-1]
    heading, text, clusters = in_one_column(blocks)[-3:]
    assert heading == Heading("the unchanged model (10 tokens)", 4) and text == Writing("Based on it, no.")
    assert isinstance(clusters, Table) and rows(clusters)[0] == ["■ cash", "3", "2", "·"]
    told = answer(0, "minibatch", "x", 8, None, cannot_tell=True)
    assert texts(Log(told).case(told))[0] == "x  iteration 0, minibatch   · the judge cannot tell   8 tokens"


def test_an_answer_that_was_not_judged_is_neither_better_nor_worse() -> None:
    for one, other in ((None, True), (None, False), (True, None)):
        log = Log(began(), answer(0, "test_plain", "q", 7, other), answer(3, "test", "q", 5, one))
        [title] = texts(log.case(log.events[2]))[:1]
        assert title.endswith("5 tokens, 2 fewer than the unchanged model  ")


def test_as_many_tokens() -> None:
    log = Log(began(), answer(0, "test_plain", "q", 5, True), answer(3, "test", "q", 5, True))
    assert texts(log.case(log.events[2]))[0] == (
        "q  iteration 3, test   ✓ right   5 tokens, as many as the unchanged model  "
    )
    assert cells(ANSWERS.columns, ANSWERS.rows(log.state)[1])[4] == Cell("0", "dim")


def printed(blocks: Sequence[Block], width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(draw(blocks, PALETTE, width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_tokens_have_the_colours_of_their_clusters(log: Log) -> None:
    """Beside each other where there is room; a token of no cluster has none."""
    text = printed(log.case(UNDER_Q))
    assert any(
        "under the deltas of iteration 1" in line and "the unchanged model" in line
        for line in text.splitlines()
    )
    assert "■ cash" in text and "Based on it, no." in text
    console = Console(width=60, file=io.StringIO())
    segments = list(console.render(draw(log.case(UNDER_Q), PALETTE, 60)))
    colours = {segment.text.strip(): segment.style and segment.style.color for segment in segments}
    assert colours["Cash"] == colours["on it"] != colours["Based"] and not colours["was 41."]
    marks = [s.style.color.name for s in segments if s.text.startswith("■") and s.style and s.style.color]
    assert marks == ["bright_magenta", "bright_yellow"], "clusters 3 and 2"


# ---------------------------------------------------------------- links


def test_links_lead_to_iterations_and_answers(log: Log) -> None:
    def place(kind: str, name: str) -> Place | None:
        return PAGE.place_of(Target(kind, name), log.state)

    assert place("iteration", "1") == Place("iterations", 1, open=True) and place("iteration", "7") is None
    assert place("answers", "1") == Place("answers", 3) and place("answers", "0") is None
    assert place("right", "1") == Place("answers", 4, open=True)
    assert place("wrong", "1") == Place("answers", 5, open=True)


# ---------------------------------------------------------------- results


def compared(
    method: str, correctness: float = 0.9, mean_tokens: float = 40.04, composite: float = 0.74, **more: Any
) -> ev.MethodCompared:
    return ev.MethodCompared(
        method=method, n=6, correctness=correctness, wilson_low=0.8, wilson_high=0.95, mean_tokens=mean_tokens,
        shortness=0.5, composite=composite, **more,
    )  # fmt: skip


COMPARED = (
    compared("no_processor", ahead=-0.07, ahead_low=-0.09, ahead_high=-0.05),
    compared("length_cap", cap=25, mean_tokens=25.0, correctness=0.5, difference=-0.4, low=-0.5, high=-0.3, p=0.0001,
             tokens_difference=-15.0, tokens_low=-15.5, tokens_high=-14.5, cannot_tell=2),
    compared("brief_prompt", prompt="Be brief.", mean_tokens=45.0, difference=0.02, low=-0.1, high=0.2, p=0.25,
             tokens_difference=5.0, tokens_low=1.0, tokens_high=9.0, ahead=0.02, ahead_low=0.01, ahead_high=0.03),
    compared("best", mean_tokens=20.0, composite=0.81, difference=0.05, low=0.01, high=0.09, p=1.0,
             tokens_difference=-20.0, tokens_low=-22.0, tokens_high=-18.0),
)  # fmt: skip


def test_the_methods_on_the_test_set() -> None:
    log = Log(began(), *COMPARED)
    found = PAGE.results(log.state)
    tokens = table(found, "Length of an answer, against the unchanged model")
    assert rows(tokens) == [
        ["the unchanged model", "40.0", "·", "·"],
        ["a cap at the same length: 25", "25.0", "−15.0", "[−15.5, −14.5]"],
        ["a request for short answers", "45.0", "+5.0", "[+1.0, +9.0]"],
        ["the evolved deltas", "20.0", "−20.0", "[−22.0, −18.0]"],
    ]
    tones = [spans(row[2])[0].tone for row in tokens.rows]
    assert tones == ["dim", "good", "bad", "good"], "fewer tokens are better"
    right = table(found, "Right answers, against the unchanged model")
    assert rows(right) == [
        ["the unchanged model", "0.900", "[0.800, 0.950]", "·", "·", "·"],
        ["a cap at the same length: 25", "0.500", "[0.800, 0.950]", "−0.400", "[−0.500, −0.300]", "1e-04"],
        ["a request for short answers", "0.900", "[0.800, 0.950]", "+0.020", "[−0.100, +0.200]", "0.250"],
        ["the evolved deltas", "0.900", "[0.800, 0.950]", "+0.050", "[+0.010, +0.090]", "1.000"],
    ]
    assert [spans(row[3])[0].tone for row in right.rows] == ["dim", "bad", "", "good"]
    assert spans(tokens.rows[3][0])[0].tone == "strong" and (tokens.figures, right.figures) == (3, 5)
    assert list(tokens.notes) == ["a request for short answers: Be brief."]
    composite = table(found, "Composite, against the evolved deltas")
    assert rows(composite) == [
        ["the unchanged model", "0.740", "−0.070", "[−0.090, −0.050]", "6", "0"],
        ["a cap at the same length: 25", "0.740", "·", "·", "6", "2"],
        ["a request for short answers", "0.740", "+0.020", "[+0.010, +0.030]", "6", "0"],
        ["the evolved deltas", "0.810", "·", "·", "6", "0"],
    ]
    assert [spans(row[2])[0].tone for row in composite.rows] == ["bad", "dim", "good", "dim"]
    assert "composite: 0.4 shortness + 0.6 correctness" in composite.legend


def test_at_eighty_columns_every_difference_has_its_interval() -> None:
    found = PAGE.results(Log(began(), *COMPARED).state)
    assert list(table(found, "Length").narrowed(78).header) == ["on the test set", "tokens", "change", "95%"]
    right = table(found, "Right")
    assert list(right.narrowed(78).header) == ["on the test set", "correct", "95%", "change", "95%", "p"]
    assert list(right.narrowed(70).header) == ["on the test set", "correct", "change", "95%", "p"]


def test_questions_on_which_the_judge_cannot_tell_are_counted() -> None:
    more = PAGE.more_results(Log(began(cannot_tell=7), *COMPARED).state)
    assert texts(more) == ["the judge cannot tell on 7 of 30 questions: their answers are not scored"]
    assert PAGE.more_results(Log(began(), *COMPARED).state) == []


def test_without_a_test_set_nothing_is_compared() -> None:
    log = Log(began(test=0), FIRST, scored(0, "validation", 0.5, 8.0, best=True), SECOND,
              scored(1, "validation", 0.62, 6.5, correct=4, best=True, answers=5, cannot_tell=1))  # fmt: skip
    found = table(PAGE.results(log.state), "Deltas, the first and the best")
    assert rows(found) == [["0", "★", "0.500", "0.750", "8.0"], ["1", "★", "0.620", "1.000", "6.5"]]
    assert list(found.header) == ["#", "★", "validated", "v.correct", "v.tokens"]
    assert found.notes == [
        "Iteration 1 has the highest composite on the validation set, 0.620: 4 of 4 answers right, 6.5 tokens each. "
        "That chose it; no test set compares it with the unchanged model."
    ]


def test_the_tokens_that_each_method_saves_are_drawn() -> None:
    [picture] = PAGE.pictures(Log(*COMPARED).state)
    labels = [mark.text for mark in picture.drawing.marks if isinstance(mark, Label)]
    assert "−20.0 [−22.0, −18.0]" in labels and "the evolved deltas" in labels and "+5.0" not in labels
    assert "the unchanged model" not in labels and PAGE.pictures(RunState()) == []


CUT = {"the reply was cut off at the token limit": ""}


def replied(iteration: int, *refused: dict[str, str], **more: Any) -> list[ev.Event]:
    """An iteration and the reply to it."""
    began = ev.IterationBegan(iteration=iteration, deltas={})
    return [began, ev.ReflectorReplied(iteration=iteration, reflector="o3", refused=list(refused), **more)]


def test_refused_replies_are_counted_by_what_was_wrong() -> None:
    """Seven replies: two good at once, good after a refused one, two refused, one refused before the server failed."""
    both = {"missing clusters": "2", "beyond ±100": "3"}
    log = Log(
        began(), *replied(0), *replied(1, CUT), *replied(2, CUT, both, aborted="no valid reply"),
        *replied(3, both, aborted="500"), *replied(4),
    )  # fmt: skip
    found = table(PAGE.results(log.state), "Replies of o3 that were refused: 4 of 7")
    assert rows(found) == [
        ["the reply was cut off at the token limit", "2"], ["missing clusters", "2"], ["beyond ±100", "2"],
    ]  # fmt: skip
    assert list(found.header) == ["what was wrong", "replies"] and list(found.notes) == [
        "a refused reply is asked for once more; a reply may break several rules",
        "2 of 5 iterations ended without new deltas",
    ]
    assert PAGE.results(Log(began(), *replied(0)).state) == []


def test_an_iteration_says_which_rules_its_refused_replies_broke() -> None:
    def lines(*events: ev.Event) -> list[str]:
        return texts(Log(began(), *events).case(events[0]))[1:]

    refused = {"missing clusters": "2, 3", "beyond ±100": "4"}
    assert lines(*replied(0, CUT, summary="Less.", attempts=2)) == [
        "o3 replied, after 2 attempts, for the next iteration",
        "reply 1 refused: the reply was cut off at the token limit",
        "Less.",
    ]
    assert lines(*replied(0, CUT, refused, aborted="no valid reply in 2 attempts")) == [
        "o3 replied, for the next iteration",
        "reply 1 refused: the reply was cut off at the token limit",
        "reply 2 refused: missing clusters: 2, 3; beyond ±100: 4",
        "no valid reply: no valid reply in 2 attempts",
    ]


# ---------------------------------------------------------------- training


def test_the_charts_have_the_level_of_no_deltas(log: Log) -> None:
    scores = {line.label: (list(line.x), list(line.y), line.mark) for line in training.scores(log.state)}
    assert scores == {
        "composite": ([0, 1], [0.51, 0.6], ""), "correct": ([0, 1], [0.75, 0.5], ""),
        "validation": ([0, 1], [0.5, 0.62], ""), "no deltas": ([0, 1], [0.5, 0.5], ""),
        "best": ([0, 1], [0.5, 0.62], "★"),
    }  # fmt: skip
    tokens = {line.label: (list(line.x), list(line.y)) for line in training.lengths(log.state)}
    assert tokens == {
        "minibatch": ([0, 1], [9, 5]),
        "validation": ([0, 1], [8, 6.5]),
        "no deltas": ([0, 1], [8, 8]),
    }
    assert [y for y, _, _ in charts_of(PAGE, log.state)] == [
        "scores of the answers, 0 to 1",
        "length of an answer, tokens",
    ]


def test_only_what_was_kept_has_a_star_and_before_the_first_iteration_there_is_no_level() -> None:
    first, second = scored(0, "validation", 0.5, 8.0, best=True), scored(1, "validation", 0.4, 6.5)
    state = Log(began(), scored(0, "baseline", 0.5, 8.0), FIRST, first, SECOND, second).state
    star = training.scores(state)[-1]
    assert (star.label, list(star.x), list(star.y)) == ("best", [0], [0.5])
    before = training.lengths(Log(began(), scored(0, "baseline", 0.5, 8.0)).state)
    assert [(line.label, list(line.x)) for line in before] == [("minibatch", []), ("validation", [])]


def test_where_minibatches_decide_nothing_is_drawn_of_other_questions() -> None:
    log = Log(
        began(best_by="minibatch"),
        scored(0, "baseline", 0.9, 3.0),
        FIRST,
        scored(0, "minibatch", 0.5, 9.0, best=True),
    )
    assert [line.label for line in training.lengths(log.state)] == ["minibatch"]
    scores = training.scores(log.state)
    assert [line.label for line in scores] == ["composite", "correct", "best"] and list(scores[2].y) == [0.5]


def test_a_report_leaves_out_single_points(log: Log) -> None:
    drawn = pictures_of(log.state, "Evolution")
    names = [mark.text for picture in drawn for mark in picture.drawing.marks if isinstance(mark, Label)]
    assert len(drawn) == 2 and "no deltas" in names and "best" not in names


def test_who_took_part_and_what_it_cost(log: Log) -> None:
    assert texts(PAGE.training(log.state)) == [
        "iterations: 2 of 4",
        "model server: SGLang",
        "judge, reflector: gpt-4o, o3; both: 1,200 calls, 34,567 tokens, cost 1.50",
        "score: composite = 0.4 × shortness + 0.6 × share of right answers; shortness = 1 / (1 + mean tokens / 40)",
    ]
    assert "judge, reflector: gpt-4o, o3" in texts(PAGE.training(Log(began()).state))
    assert PAGE.training(RunState()) == []


def test_all_deltas_by_iteration(log: Log) -> None:
    """Iterations 0 and 1; the reply to 1, which no iteration tried, has no column. 0.4 is half of 0.8."""
    [found] = delta_map(log.state.evolution)
    assert isinstance(found, Table)
    assert list(found.header) == ["tokens such as", "cluster", "0", "★1"] and found.figures == 3
    assert rows(found) == [
        ["end of text", "0", "· ", "+0.40▅"],
        ["Based provided", "2", "· ", "−0.80█"],
        ["cash", "3", "· ", "· "],
    ]
    assert [spans(cell)[0].tone for cell in found.rows[1][2:]] == ["dim", "bad"]
    assert spans(found.rows[0][3])[0].tone == "good"
    assert list(found.narrowed(34).header) == ["tokens such as", "cluster", "★1"], "the best one stays"
    assert "highest composite on the validation set" in found.notes[1] and "in nats" in found.notes[0]
    assert delta_map(RunState().evolution) == []


def test_a_reply_that_was_given_up_has_no_deltas_to_show() -> None:
    """All clusters of the newest iteration have a row, one that began with it, too."""
    aborted = ev.ReflectorReplied(iteration=1, reflector="o3", aborted="no JSON", attempts=3)
    first = ev.IterationBegan(iteration=0, deltas={"2": 0.1})
    [found] = delta_map(Log(began(), first, SECOND, aborted).state.evolution)
    assert isinstance(found, Table) and list(found.header)[2:] == ["0", "1"]
    assert [row[1] for row in rows(found)] == ["0", "2", "3"]


def test_the_strongest_delta_is_the_highest_block_however_weak_it_is() -> None:
    """A half of it is the fifth of eight blocks: 0.5 × 8 = 4 lower ones."""
    log = Log(began(), ev.IterationBegan(iteration=0, deltas={"2": -0.2, "3": 0.1}))
    [found] = delta_map(log.state.evolution)
    assert isinstance(found, Table)
    assert rows(found) == [["", "2", "−0.20█"], ["", "3", "+0.10▅"]]
    [zero] = delta_map(Log(began(), FIRST).state.evolution)
    assert isinstance(zero, Table) and {row[-1] for row in rows(zero)} == {"· "}


def test_of_many_iterations_the_best_and_the_newest_stand() -> None:
    events = [ev.IterationBegan(iteration=n, deltas={"2": -0.1 * n}) for n in range(40)]
    log = Log(began(), *events[:3], scored(2, "validation", 0.9, 3.0, best=True), *events[3:])
    [found] = delta_map(log.state.evolution)
    assert isinstance(found, Table)
    assert (
        list(found.header)[2:5] == ["★2", "10", "11"] and found.header[-1] == "39" and len(found.header) == 33
    )
    assert list(found.narrowed(60).header)[2:] == ["★2", "37", "38", "39"], "the oldest are left out"


def test_the_clusters_of_the_vocabulary(log: Log) -> None:
    [found] = cluster_table(log.state.evolution)
    assert rows(found) == [
        ["end of text", "0", "1", "5.0%"], ["Based provided", "2", "1,234", "25.0%"], ["cash", "3", "20", "50.0%"],
    ]  # fmt: skip
    uncounted = ev.TokenCluster(id="2", description="", size=1234, central_tokens=[" Based"])
    [found] = cluster_table(Log(ev.ClustersBuilt(tokens=1234, clusters=[uncounted])).state.evolution)
    assert rows(found) == [["Based", "2", "1,234", "·"]], "not 0%: nothing was counted"


def test_a_cluster_has_the_same_words_everywhere(log: Log) -> None:
    """`<|im_end|>` and `' '` say little to a reader."""
    built = ev.ClustersBuilt(tokens=9, clusters=[
        ev.TokenCluster(id="2", description="", size=1, frequent_tokens=[" ", "\n", " the", "\r", "\x1b[2J"],
                        central_tokens=[" between"]),
        ev.TokenCluster(id="3", description="", size=1, central_tokens=[f" t{n}" for n in range(9)]),
        ev.TokenCluster(id="4", description="names", size=1),
    ])  # fmt: skip
    state = Log(built).state.evolution
    assert cluster_words(state, "0") == "end of text" and cluster_words(state, "1") == "digits and symbols"
    assert cluster_words(state, "2").startswith("(space) (new line) the (return)")
    assert cluster_words(state, "3") == "t0 t1 t2 t3 t4 t5"
    assert cluster_words(state, "4") == "names" and cluster_words(state, "9") == ""


def pictures_of(state: RunState, method: str) -> list[Picture]:
    """Those of the report."""
    return [block for block in method_blocks(state, method) if isinstance(block, Picture)]


# ---------------------------------------------------------------- what if


def other(given: str, text: str, tokens: int, **more: Any) -> ev.OtherAnswer:
    return ev.OtherAnswer(given=given, text=text, tokens=tokens, **more)


def choice_of(event: ev.AnswerJudged, log: Log) -> Choice:
    source = CaseSource(Path("run"), log.state, lambda offset, length: log.events[offset])
    choice = WHAT_IF.of[ev.AnswerJudged](event, source)
    assert isinstance(choice, Choice)
    return choice


def test_an_answer_can_be_tried_under_other_deltas(log: Log) -> None:
    choice = choice_of(UNDER_Q, log)
    assert choice.about == "q · iteration 1, validation\nright answer 41\nWhat was cash?"
    fields = {field.label: field for line in choice.fields for field in line}
    assert {label: field.value for label, field in fields.items()} == {
        "deltas of iteration": "", "times": "1", "set": "",
    }  # fmt: skip
    values = {field.name: field.read(field.value) for field in fields.values()}
    assert choice.request(values) == {
        "iteration": 1, "split": "validation", "example": "q", "of": None, "scales": [1.0], "put": {},
    }  # fmt: skip
    put = fields["set"].read
    assert put("3=-0.5, 2=100") == {"3": -0.5, "2": 100.0}
    refused = {
        "9=0": "there is no cluster '9'; there are 0 to 3", "2=101": "expected -100 to 100, found 101",
        "2=1 3": "expected a cluster and its delta, such as 3=-0.5, found '3'",
    }  # fmt: skip
    for text, why in refused.items():
        with pytest.raises(ValueError) as error:
            put(text)
        assert str(error.value) == why
    with pytest.raises(ValueError, match=r"^there is no cluster '9'; none are known$"):
        _cluster("9", [])


def test_an_answer_without_deltas_is_tried_under_those_of_the_best_iteration(log: Log) -> None:
    choice = choice_of(PLAIN_Q, log)
    assert choice.about.splitlines()[0] == "q · iteration 0, baseline, without deltas"
    assert choice.fields[0][0].value == "1"
    with pytest.raises(
        ValueError,
        match=exactly("deltas of iteration: this answer was given without deltas, so name an iteration"),
    ):
        choice.request({"of": None})
    assert choice.request({"of": 1})["of"] == 1
    assert choice.request({"of": 0})["of"] == 0, "the first iteration has number 0"
    [table] = choice.choices(None)
    assert isinstance(table, Table) and {row[2] for row in rows(table)} == {"·"}


def test_what_was_tried_stands_beside_the_answer_as_it_was(log: Log) -> None:
    """4 tokens as committed; 6, two more, without deltas; 3, one fewer, under others. Two strengths were tried: the
    second is the first that changes the text."""
    tried = ev.AnswerTried(
        system="evolution", example="q", case={}, question="?",
        committed=other("own deltas", "Cash was 41.", 4, right=True),
        none=other("no deltas", "Based on it, no.", 6, right=False, verdict="it says no"),
        yours=[
            other("× 1", "Cash was 41.", 4, right=True),
            other("× 3", "It was 41.", 3, right=True, deltas={"0": 0.4, "2": -0.5}),
        ],
        exact=True,
    )  # fmt: skip
    choice = choice_of(UNDER_Q, log)
    answers = choice.answers(tried)
    assert [(one.name, texts(one.about), one.short) for one in (*answers.beside, *answers.tried)] == [
        ("committed: own deltas", ["4 tokens", "✓ right"], "4"),
        ("no deltas", ["6 tokens (+2)", "✗ it says no"], "6"),
        ("yours: × 1", ["4 tokens", "✓ right"], "4"), ("yours: × 3", ["3 tokens (−1)", "✓ right"], "3"),
    ]  # fmt: skip
    assert answers.most_telling == 1
    before, after = choice.choices(None)[0], choice.choices(tried)[0]
    assert isinstance(before, Table) and isinstance(after, Table)
    own = [["0", "end of text", "+0.40"], ["2", "Based provided", "−0.80"], ["3", "cash", "0.00"]]
    assert rows(before) == [[*row, "·"] for row in own]
    assert rows(after) == [[*row, last] for row, last in zip(own, ("+0.40", "−0.50", "·"), strict=True)]
    assert [spans(row[3])[0].tone for row in after.rows] == ["dim", "strong", "dim"]
    none = structs.replace(
        tried, yours=[other("none", "It was 41.", 3, right=True, deltas={"0": 0.0, "2": -0.8})]
    )
    [table] = choice.choices(none)
    assert isinstance(table, Table)
    assert [spans(row[3])[0].tone for row in table.rows] == ["strong", "dim", "dim"], "0.4 was made 0"


def test_the_length_of_the_answers_runs_up_beside_the_unchanged_model(log: Log) -> None:
    """9 and 5 tokens of the minibatches; 8 on the validation set without deltas, 40 once a test set is compared."""
    curve = PAGE.overview.curve(log.state)
    assert curve == Curve(
        "tokens of an answer, minibatch", "the iterations", "minibatch", (9.0, 5.0), "unchanged", (8.0,), 1
    )
    log.state.apply(compared("no_processor", mean_tokens=40.0), 99, 1)
    later = PAGE.overview.curve(log.state)
    assert later is not None and later.baseline == (40.0,)
    none = PAGE.overview.curve(RunState())
    assert none is not None and (none.values, none.baseline) == ((), ())


def test_an_iteration_that_the_state_does_not_have() -> None:
    assert texts(Log().case(FIRST)) == ["The log has nothing more about this iteration."]


def test_what_is_worth_opening_of_an_evolution(log: Log) -> None:
    """The best iteration is the second of those that began; one alone has no course yet."""
    assert [(one.text, one.place) for one in PAGE.overview.highlights(log.state)] == [
        ("iteration 1: the best deltas, composite 0.620 on the validation set", Place("iterations", 1, open=True)),
        ("how every cluster was raised and lowered", Place("training")),
        ("the answers beside the unchanged model's, in the colours of their clusters", Place("answers")),
    ]  # fmt: skip
    assert PAGE.overview.highlights(Log(began(), FIRST).state) == []
    by_itself = Log(began(best_by="minibatch"), FIRST, scored(0, "minibatch", 0.5, 9.0, best=True))
    assert [one.text for one in PAGE.overview.highlights(by_itself.state)] == [
        "iteration 0: the best deltas, composite 0.500 on its minibatch"
    ]


def test_what_can_be_said_without_a_test_set() -> None:
    events = FIRST, scored(0, "validation", 0.5, 8.04, correct=1, best=True)
    said = (
        "Iteration 0 has the highest composite on the validation set, 0.500: 1 of 4 answers right, 8.0 tokens each. "
        "That chose it; no test set compares it with the unchanged model."
    )
    assert PAGE.overview.untested(Log(began(test=0), *events).state) == said
    assert PAGE.overview.untested(Log(began(test=2), *events).state) == ""
    assert PAGE.overview.untested(Log(began(test=0), *events, *COMPARED).state) == ""
    assert PAGE.overview.untested(Log(began(test=0), FIRST).state) == ""


def test_a_delta_of_zero_is_none(log: Log) -> None:
    """Of a cluster that the answer had no delta for: tried with 0 it is as it was, with 0.1 it is not."""
    for delta, tone in ((0.0, "dim"), (0.1, "strong")):
        tried = ev.AnswerTried(
            system="evolution", example="q", case={}, question="?", committed=other("own", "a", 4),
            none=other("none", "b", 6), yours=[other("yours", "c", 5, deltas={"2": delta})], exact=True,
        )  # fmt: skip
        shown = _clusters(tried, log.state.evolution, ["2"], {})
        assert spans(shown.rows[0][3])[0].tone == tone


def test_the_fields_of_other_deltas(log: Log) -> None:
    fields = [
        [(f.name, f.label, f.width, f.hint, f.is_swept) for f in line]
        for line in choice_of(UNDER_Q, log).fields
    ]
    assert fields == [
        [("of", "deltas of iteration", 8, "own", False), ("scales", "times", 20, "", True)],
        [("put", "set", 0, "such as 3=-0.5 7=0", False)],
    ]
    [table] = choice_of(UNDER_Q, log).choices(None)
    assert isinstance(table, Table) and table.figures == 2
    assert list(table.header) == ["cluster", "tokens such as", "own", "yours"]
    before = Log(began())
    assert choice_of(answer(0, "minibatch", "q", 4, None), before).fields[1][0].read("2=1") == {"2": 1.0}
