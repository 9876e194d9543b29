"""Results, training and links: figures, tones, coordinates and targets worked out by hand."""

from __future__ import annotations

import msgspec
import pytest

from app.blocks.block import Picture, Span, Table, Target, plain, spans
from app.blocks.drawing import Dot, Line
from app.methods.esm import results, training
from app.methods.esm.answers import evaluated_blocks
from app.methods.esm.page import PAGE
from app.methods.pages import charts_of
from app.methods.place import Place
from app.report.result_blocks import method_blocks
from app.state.run import RunState
from engine.events import (
    Event,
    ExampleEvaluated,
    MemoryBuilt,
    RolloutEnded,
)
from tests.app.methods.esm.made import (
    AS_GREEDY,
    TURNED_RIGHT,
    TURNED_WRONG,
    W1,
    answer,
    cells,
    decision,
    document_of,
    method,
    pair,
    pick,
    source_of,
    text_of,
    tried,
)

GREEDY = method("greedy", mean_tokens=80.0, tokens_per_second=1234.4)
ESM = method(
    "esm", accuracy=0.75, mean_tokens=70.0, mean_probe_tokens=20.0, difference=0.25, low=0.1, high=0.4, p=0.03125,
    fixed=2, broken=1,
)  # fmt: skip
WORSE = method(
    "no_memory", accuracy=0.25, mean_tokens=60.0, difference=-0.25, low=-0.4, high=-0.1, p=1.0, broken=1
)
UNSURE = method("random_vector", difference=0.05, low=-0.1, high=0.2, p=0.5)


def state_of(*events: Event) -> RunState:
    return source_of(events).state


def rows_of(table: Table) -> list[list[str]]:
    return [[plain(cell) for cell in row] for row in table.rows]


def test_the_columns_of_a_method() -> None:
    """Wilson's interval of 3 of 4: centre (0.75 + 1.92 / 4) / (1 + 3.84 / 4), 0.301 to 0.954."""
    shown = cells(results.COLUMNS, ESM)
    assert {key: cell.text for key, cell in shown.items()} == {
        "method": "ESM", "n": "4", "accuracy": "0.750", "wilson": "[0.301, 0.954]", "difference": "+0.250",
        "interval": "[+0.100, +0.400]", "p": "0.031", "fixed": "2", "broken": "1",
    }  # fmt: skip
    assert shown["method"].tone == "strong" and cells(results.COLUMNS, GREEDY)["method"].tone == ""


def test_right_answers_are_counted_to_the_nearest() -> None:
    """29 of 100 are an accuracy whose hundredfold is a little below 29. Wilson's interval of 29: centre
    (0.29 + 1.92 / 100) / (1 + 3.84 / 100), 0.210 to 0.385; of 28 it would end at 0.375."""
    assert 0.29 * 100 < 29
    assert cells(results.COLUMNS, method("esm", n=100, accuracy=0.29))["wilson"].text == "[0.210, 0.385]"


def test_a_difference_has_a_tone_only_where_its_interval_excludes_zero() -> None:
    tones = [cells(results.COLUMNS, row)["difference"] for row in (ESM, WORSE, UNSURE, GREEDY)]
    assert tones == [("+0.250", "good"), ("−0.250", "bad"), ("+0.050", ""), ("·", "dim")]


def test_methods_that_are_done_stand_in_the_results_and_the_others_below() -> None:
    state = state_of(GREEDY, ESM, method("no_probing", n=2, final=False), method("esm", n=1, final=False))
    first, second = results.results(state.esm)
    assert isinstance(first, Table) and isinstance(second, Table)
    assert first.caption == "Methods, against greedy"
    assert [row[0] for row in rows_of(first)] == [row[0] for row in rows_of(second)] == ["greedy", "ESM"]
    assert "ESM: steered by the entry of the memory that fits the state best" in first.notes
    (running,) = results.running(state.esm)
    assert isinstance(running, Table) and running.caption == "Methods at work, against greedy so far"
    assert [row[:2] for row in rows_of(running)] == [["no probing", "2"]]
    assert results.results(state_of().esm) == results.running(state_of(GREEDY).esm) == []


def test_counts_of_turned_answers_lead_to_their_decisions() -> None:
    """Of a method that takes decisions; a count of none leads nowhere."""
    none_wrong = method("esm", fixed=2)
    state = state_of(*TURNED_RIGHT, GREEDY, ESM, WORSE)
    (table,) = results.compared(state.esm, [GREEDY, ESM, WORSE, none_wrong], "")
    links = [[span.target for cell in row for span in spans(cell) if span.target] for row in table.rows]
    assert links == [
        [],
        [Target("filter", "method:esm fixed left"), Target("filter", "method:esm broken left")],
        [],
        [Target("filter", "method:esm fixed left")],
    ]
    assert rows_of(table)[1][-2:] == ["2", "1"] and isinstance(table.rows[1][-1], Span)


def test_what_an_answer_costs() -> None:
    """90 tokens against greedy's 80 are 12.5% more, 60 are 25% less."""
    (table,) = results.cost(state_of(GREEDY, ESM, WORSE, UNSURE).esm)
    assert rows_of(table) == [
        ["greedy", "80.0", "0.0", "80.0", "", "1,234"],
        ["ESM", "70.0", "20.0", "90.0", "+12.5%", "0"],
        ["no memory", "60.0", "0.0", "60.0", "−25.0%", "0"],
        ["random vector", "80.0", "0.0", "80.0", "0.0%", "0"],
    ]
    assert table.header[4] == "change" and "change: of all tokens, against greedy" in table.legend
    (alone,) = results.cost(state_of(ESM).esm)
    assert rows_of(alone)[0][4] == ""
    empty, summed = (
        method("greedy", mean_tokens=0.0),
        method("esm", mean_tokens=70.04, mean_probe_tokens=20.02),
    )
    (of_nothing,) = results.cost(state_of(empty, summed).esm)
    assert rows_of(of_nothing)[1] == ["ESM", "70.0", "20.0", "90.1", "", "0"], (
        "of no tokens nothing is a share"
    )


def test_each_method_has_a_curve() -> None:
    state = state_of(
        method("greedy", n=2, accuracy=0.5, final=False), method("no_memory", n=2, accuracy=0.0), GREEDY,
        method("esm", n=3, accuracy=1.0, final=False), ESM,
    )  # fmt: skip
    lines = [(s.label, list(s.x), list(s.y)) for s in results.accuracy_curves(state)]
    assert lines == [
        ("ESM", [3, 4], [1.0, 0.75]),
        ("greedy", [2, 4], [0.5, 0.5]),
        ("no memory", [2], [0.0]),
    ]
    assert charts_of(PAGE, state)[0][:2] == ("accuracy so far, share of answers right", "examples")


def test_the_picture_of_the_differences() -> None:
    """−0.4 to 0.4 around zero with 0.04 of room on 190 to 490: +0.25 stands at 490, less 0.19 of 0.88 × 300: 425.2."""
    state = state_of(GREEDY, ESM, WORSE)
    picture = pictures_of(state, "ESM")[0]
    assert picture.caption == "Accuracy minus greedy's, with paired bootstrap 95% intervals"
    dots = [(round(mark.x, 1), mark.y) for mark in picture.drawing.marks if isinstance(mark, Dot)]
    assert dots == [(425.2, 11.0), (254.8, 33.0)]
    zero = [
        mark.points[0][0] for mark in picture.drawing.marks if isinstance(mark, Line) and mark.style == "zero"
    ]
    assert [round(x, 1) for x in zero] == [340.0]
    assert results.difference_picture(state_of(GREEDY).esm) == []


# ---------------------------------------------------------------- training


def test_what_was_mined() -> None:
    ended = [
        RolloutEnded(example="a", draw=n, correct=n < 2, reward=1, tokens=1, segments=1) for n in range(3)
    ]
    pairs = [
        pair("a", **tried(True, False)),
        pair("b", **tried(True, False)),
        pair("c", **tried(False, True)),
        pair("d"),
    ]
    (table,) = training.mined(state_of(*ended, *pairs).esm)
    assert isinstance(table, Table)
    assert rows_of(table) == [
        ["answers sampled", "", "3"], ["of them right", "", "2"], ["pairs", "a right and a wrong text", "4"],
        ["  fixes", "its vector turns the wrong answer right", "2"], ["  harms", "it turns a right answer wrong", "1"],
        ["  untried", "not tried out", "1"],
    ]  # fmt: skip
    assert [spans(row[2])[0].tone for row in table.rows[3:]] == ["good", "bad", "dim"]
    assert training.mined(state_of().esm) == []


def test_what_the_memory_holds() -> None:
    """Before the index is built by the picks; the longest bar has 24 cells: 3 wrong and 1 right of 4 are 18 and 6."""
    picks = [pick(0, "a"), pick(1, "b"), pick(2, "c", "right", m=2)]
    (table,) = training.memory(state_of(*picks).esm)
    assert isinstance(table, Table) and table.caption == "3 entries picked: 2 wrong, 1 right"
    assert rows_of(table) == [["1", "█" * 24, "2", "0"], ["2", "░" * 12, "0", "1"]]
    built = MemoryBuilt(
        entries=14, hidden_size=64, layers=[2, 3], by_control_point={"10": [3, 1], "9": [1, 0]}
    )
    (table,) = training.memory(state_of(*picks, built).esm)
    assert isinstance(table, Table)
    assert table.caption == "3 entries picked: 2 wrong, 1 right; in the index 14 × 64, layers 2, 3"
    assert rows_of(table) == [["9", "█" * 6, "1", "0"], ["10", "█" * 18 + "░" * 6, "3", "1"]]
    assert training.memory(state_of().esm) == []


def test_a_memory_without_entries_has_no_bars() -> None:
    built = MemoryBuilt(entries=0, hidden_size=64, layers=[2], by_control_point={"1": [0, 0]})
    (table,) = training.memory(state_of(pick(0, "a"), built).esm)
    assert isinstance(table, Table) and rows_of(table) == [["1", "", "0", "0"]]


def test_the_gain_of_each_entry_is_drawn() -> None:
    [line] = training.gain_curve(state_of(pick(0, "a", gain=0.75), pick(1, "b", gain=-0.5)))
    assert (list(line.x), list(line.y)) == ([0, 1], [0.75, -0.5])


# ---------------------------------------------------------------- links, and pages of documents


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (Target("entry", W1), Place("entries", 1)),
        (Target("entry", "lost"), None),
        (Target("pair", "data-0001_m1_l2"), Place("pairs", 0)),
        (Target("decision", "esm t-1 2"), Place("decisions", 1, open=True)),
        (Target("decision", "esm t-1 4"), None),
        (Target("example", 'esm a "b"'), Place("decisions", filter='method:esm example:"a \\"b\\""')),
        (Target("filter", "method:esm fixed"), Place("decisions", filter="method:esm fixed")),
    ],
)
def test_where_links_lead(target: Target, place: Place | None) -> None:
    state = state_of(pair(), pick(0, "other"), pick(1, W1), *TURNED_RIGHT)
    assert PAGE.place_of(target, state) == place


def test_a_marked_answer_is_found_by_its_decisions() -> None:
    """An answer without decisions, as greedy's, is found by those of the other answers to its example."""
    found = PAGE.event_places[ExampleEvaluated]
    taken = msgspec.structs.replace(answer("no_probing", "t-1", "28", "28"), decisions=2)
    assert found(taken) == Place("decisions", filter='method:no_probing example:"t-1"')
    assert found(answer("greedy", "t-1", "28", "28")) == Place("decisions", filter='example:"t-1"')


def test_the_page_of_an_answer_shows_greedys_beside() -> None:
    source = source_of([*TURNED_RIGHT, *AS_GREEDY])
    text = document_of(evaluated_blocks(TURNED_RIGHT[-1], source))  # type: ignore[arg-type]
    for said in ("How many in t-1?", "right is 28   esm 28 ✓   greedy 34 ✗", "− greedy wrote, + esm wrote\n",
                 "  one.\n- minus.\n- 34\n+ plus.\n+ 28"):  # fmt: skip
        assert said in text, said
    assert "the whole answer, as greedy's" in document_of(evaluated_blocks(AS_GREEDY[-1], source))  # type: ignore[arg-type]
    alone = document_of(evaluated_blocks(TURNED_WRONG[0], source))  # type: ignore[arg-type]
    assert "right is 28   greedy 28 ✓" in alone and "the whole answer\n" in alone


def test_a_run_of_esm_opens_its_tabs() -> None:
    page = PAGE
    assert [cases.name for cases in page.cases] == ["decisions", "pairs", "entries"]
    shown = {
        "mine": "pairs",
        "select": "entries",
        "memory": "training",
        "eval": "decisions",
        "serve": "decisions",
    }
    assert page.shown_by == shown and "`alpha` injected scale" in page.help
    state = state_of(pick(0, "a"), GREEDY, method("esm", final=False))
    text = text_of([*page.training(state), *page.results(state), *page.more_results(state)], 120)
    for caption in ("1 entry picked", "Methods, against greedy", "Tokens of an answer", "Methods at work"):
        assert caption in text


def pictures_of(state: RunState, method: str) -> list[Picture]:
    """Those of the report."""
    return [block for block in method_blocks(state, method) if isinstance(block, Picture)]


def test_counts_lead_to_decisions_that_were_taken_by_then() -> None:
    """An earlier moment shares its memory with a later one, in which the method has decided."""
    state = RunState()
    state.apply(decision("a", 1, "x"), 0, 1)
    early = state.share()
    state.apply(decision("a", 1, "x", method="no_probing"), 10, 1)
    assert results._decides(state.esm, "no_probing") and not results._decides(early.esm, "no_probing")
    assert results._decides(early.esm, "esm") and not results._decides(early.esm, "unknown")
