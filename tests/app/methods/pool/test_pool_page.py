"""What the pool's page says, from events made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.blocks.block import (
    Beside,
    Block,
    Facts,
    Heading,
    Paragraph,
    Span,
    Table,
    Target,
    in_one_column,
    plain,
    spans,
)
from app.methods.overview import Curve
from app.methods.place import Place as OpenAt
from app.methods.pool import results
from app.methods.pool.candidates import pool_blocks
from app.methods.pool.overview import curve
from app.methods.pool.page import PAGE
from app.methods.pool.picks import PICKS
from app.methods.pool.queries import QUERIES
from app.methods.pool.scores import answers_line, score_cell
from app.methods.pool.what_if import WHAT_IF
from app.methods.source import CaseSource
from app.methods.what_if import Choice
from app.state.run import RunState
from app.table.column import Cell, cell_of
from engine import events as ev


def state_of(*events: ev.Event) -> RunState:
    state = RunState()
    for at, event in enumerate(events):
        state.apply(event, at, 1)
    return state


def case(blocks: list[Block]) -> list[str]:
    """The lines of a case as documents have them; the cells of a row with | between."""
    lines: list[str] = []
    for block in in_one_column(blocks):
        if isinstance(block, Paragraph):
            lines.append(plain(block.text))
        elif isinstance(block, Table):
            lines += [block.caption, *(" | ".join(map(plain, row)) for row in block.rows)]
    return lines


def source(state: RunState) -> CaseSource:
    return CaseSource(Path("run"), state, lambda *place: pytest.fail("the log is not read"))


def cells(kind: Any, state: RunState) -> list[dict[str, Cell]]:
    rows = kind.rows(state)
    return [{c.key: cell_of(c.show(c.value(row))) for c in kind.columns} for row in rows]


def trajectory(
    verdict: str, pair: tuple[int, int], score: float | None, kept: int = 0, **more: Any
) -> ev.PoolTrajectory:
    return ev.PoolTrajectory(
        pair=pair, verdict=verdict, score=score, kept=kept, **({"origin": "beam"} | more)
    )


def query(name: str, before: float, after: float, **more: Any) -> ev.PoolQueryDone:
    known: dict[str, Any] = {"injected": [], "trajectories": []}
    known |= more
    return ev.PoolQueryDone(
        query_id=name, question="How many?", answers={"7": 9, "1": 1}, given_pool=70, pool_before=[4, 5, 6],
        pool_after=[4, 9, 6], similarity=[0.9, 0.8, 0.7], referenced=[0], oracle_before=before, oracle_after=after,
        **known,
    )  # fmt: skip


BETTER = query(
    "q1", 0.3, 1.0, injected=[1], asked=6, failed=1, cut=6, dropped={"twice": 2}, warning="no help",
    trajectories=[
        trajectory("given", (4, 5), 0.3, 1, rule="as given"), trajectory("given", (6, 4), 1.0),
        trajectory("given", (4, 6), 1.0), trajectory("committed", (9, 4), 1.0, 2, rule="higher maximum", answer="7"),
        trajectory("committed", (9, 6), 1.0, rule="new score", answer="1"),
        trajectory("refused", (5, 4), 0.6, 1, rule="no improvement"), trajectory("refused", (5, 6), None),
        trajectory("refused", (6, 9), 0.0),
    ],
)  # fmt: skip
WORSE = query("q2", 1.0, 0.6)


def test_the_cells_of_a_query() -> None:
    """q1: fully right are two given trajectories; of those kept, one that was committed. Two of five mined ones were
    committed."""
    first, second = cells(QUERIES, state_of(BETTER, WORSE))
    assert first["oracle"] == Cell("0.30 → 1.00 ▲", "good") and second["oracle"] == Cell(
        "1.00 → 0.60 ▼", "bad"
    )
    (same,) = cells(QUERIES, state_of(query("q", 0.5, 0.5)))
    assert same["oracle"] == Cell("0.50 → 0.50  ")
    assert first["right"] == Cell("2 → 1") and second["right"] == Cell("0 → 0", "bad")
    assert first["injected"] == Cell("1") and second["injected"] == Cell("0", "dim")
    assert first["committed"] == Cell("2/5") and second["committed"] == Cell("0/0", "dim")
    assert [first[key].text for key in ("given_pool", "failed", "warning")] == ["70", "1", "!"]
    state = state_of(BETTER, WORSE, ev.PoolPairEvaluated(query_id="q3", pair=(1, 2), score=0.5))
    assert [QUERIES.notable(state, row) for row in QUERIES.rows(state)] == [True, False]
    assert QUERIES.remark(state) == "1 improved ▲  │  1 pair tried on q3"
    equal = state_of(
        query("q", 0.5, 0.5),
        *(ev.PoolPairEvaluated(query_id=name, pair=(1, 2), score=None) for name in "abcd"),
    )
    assert QUERIES.remark(equal) == "0 improved ▲  │  4 pairs tried on b, c, d", "the last three of them"
    assert not QUERIES.notable(equal, QUERIES.rows(equal)[0])


def test_a_query_in_full() -> None:
    """Before anything was committed the best score of a given pair was 1: the committed ones brought new scores."""
    lines = case(QUERIES.draw(BETTER, source(state_of(BETTER))))
    assert lines[:8] == [
        "How many?   q1",
        'people answered 9× "7", 1× "1"',
        "best pair (oracle@64) 0.30 → 1.00 at the end",
        "committed 9 + 4  ✓ 1.00 answered 7  a new score; best before 1.00",
        "committed 9 + 6  ✓ 1.00 answered 1  a new score; best before 1.00",
        "pool 70 → 3   6 removed   0 added   6 pairs asked, 1 failed",
        "2 dropped, twice",
        "! no help",
    ]
    assert (
        "mined, committed 2   beam" in lines
        and "from the data 3" in lines
        and "mined, refused 3   beam" in lines
    )
    for row in (
        "✓ 1.00 | 9 4 | kept 2× | higher maximum | 7", "◐ 0.30 | 4 5° | kept | beam | as given",
        "◐ 0.60 | 5° 4 | reserve | no improvement | ", "– | 5° 6 |  |  | ", "✗ 0.00 | 6 9 |  |  | ",
    ):  # fmt: skip
        assert row in lines, row
    assert "° not in the pool   reserve: fills a place" in lines


def test_a_pair_that_beats_all_before_it() -> None:
    low = query("q", 0.3, 0.9, trajectories=[
        trajectory("given", (4, 5), 0.3), trajectory("committed", (9, 4), 0.6, answer="a"),
        trajectory("committed", (9, 6), 0.9, answer="b"), trajectory("refused", (4, 6), 0.1),
        trajectory("committed", (6, 9), 0.4, answer="c"), trajectory("committed", (5, 9), 0.5, answer="d"),
    ])  # fmt: skip
    lines = case(QUERIES.draw(low, source(state_of(low))))
    assert "° not in the pool" in lines, "none of the refused fills a place"
    assert "committed 9 + 4  ◐ 0.60 answered a  ▲ best before 0.30" in lines
    assert "committed 9 + 6  ◐ 0.90 answered b  ▲ best before 0.60" in lines
    assert "committed 5 + 9  ◐ 0.50 answered d  a new score; best before 0.90" in lines


@pytest.mark.parametrize(
    ("given", "score", "line"),
    [
        ([None], 0.0, "committed 9 + 4  ✗ 0.00 answered a  a new score; best before 0.00"),
        ([], 0.05, "committed 9 + 4  ◐ 0.05 answered a  ▲ best before 0.00"),
        ([None], 0.05, "committed 9 + 4  ◐ 0.05 answered a  ▲ best before 0.00"),
    ],
)
def test_before_any_score_the_best_is_zero(given: list[float | None], score: float, line: str) -> None:
    """Where the model failed on each given pair, or none was given. What was committed and kept fills no place."""
    event = query("q", 0.0, score, trajectories=[
        *(trajectory("given", (4, 6), each) for each in given), trajectory("committed", (9, 4), score, 1, answer="a"),
    ])  # fmt: skip
    lines = case(QUERIES.draw(event, source(state_of(event))))
    assert line in lines and "° not in the pool" in lines


def test_how_scores_are_written() -> None:
    assert [score_cell(score) for score in (1.0, 0.3, 0.0, None)] == [
        Cell("✓ 1.00", "good"), Cell("◐ 0.30"), Cell("✗ 0.00", "bad"), Cell("–", "warn"),
    ]  # fmt: skip


def pick(method: str, score: float | None, **more: Any) -> ev.SelectorPick:
    known: dict[str, Any] = {"pointer": [0, 2], "pair": [4, 6]}
    return ev.SelectorPick(method=method, score=score, answer="7", **(known | more))


def picked(name: str, *picks: ev.SelectorPick) -> ev.SelectorPicked:
    return ev.SelectorPicked(
        query_id=name, question="How many?", answers={"7": 10}, pool=[4, 9, 6], picks=list(picks)
    )


P1 = picked("p1", pick("random", 0.0), pick("random", 0.5), pick("random", None), pick("rices", 0.3),
            pick("selector", 1.0, pointer=[1, 0], pair=[9, 4], probability=0.25))  # fmt: skip
P2 = picked("p2", pick("selector", 0.3), pick("rices", 0.6), pick("random", 0.6))
P3 = picked("p3", pick("selector", None), pick("rices", 0.6))


def test_the_cells_of_a_pick() -> None:
    """Of random draws the mean of those that were answered: (0 + 0.5) / 2."""
    first, second, third = cells(PICKS, state_of(P1, P2, P3))
    assert [first[key].text for key in ("selector", "against", "rices", "random")] == [
        "✓ 1.00", "▲", "◐ 0.30", "0.25",
    ]  # fmt: skip
    assert [one["against"] for one in (first, second, third)] == [
        Cell("▲", "good"),
        Cell("▼", "bad"),
        Cell(" "),
    ]
    state = state_of(P1, P2, P3)
    rows = PICKS.rows(state)
    assert [PICKS.notable(state, row) for row in rows] == [True, True, False]
    assert [row.sign("random") for row in rows] == [-1, 0, 0], "as good as RICES is neither better nor worse"


def test_a_pick_in_full() -> None:
    lines = case(PICKS.draw(P1, source(state_of(P1))))
    assert lines[:4] == [
        "How many?   p1",
        'people answered 10× "7"',
        "",
        "the selector | 9, 4 | 1, 0 | ✓ 1.00  7 | 0.250",
    ]
    assert [line.split(" | ")[0] for line in lines[4:]] == [
        "similarity (RICES)", "random pairs", "random pairs", "random pairs",
    ]  # fmt: skip
    assert lines[7] == "random pairs | 4, 6 | 0, 2 | –  the model failed | ·"


def test_an_answer_that_is_wrong_is_an_answer() -> None:
    """Only without a score did the model fail."""
    replace = msgspec.structs.replace
    wrong = replace(P1, picks=[replace(P1.picks[0], method="selector", score=0.0, answer="no")])
    assert case(PICKS.draw(wrong, source(state_of(wrong))))[3].split(" | ")[3] == "✗ 0.00  no"
    both = [
        replace(P1.picks[0], method=name, score=score) for name, score in (("random", 0.0), ("random", 1.0))
    ]
    [row] = PICKS.rows(state_of(replace(P1, picks=[*both, *wrong.picks, replace(both[1], method="rices")])))
    assert (row.random, row.selector, row.sign("selector")) == (0.5, 0.0, -1)
    assert row._replace(rices=0.0, selector=1.0).sign("selector") == 1


def compared(method: str, accuracy: float, **more: Any) -> ev.SelectorCompared:
    return ev.SelectorCompared(
        method=method, n=10, asked=10, accuracy=accuracy, low=accuracy - 0.1, high=accuracy + 0.1, **more,
    )  # fmt: skip


COMPARED = (
    compared("random", 0.4, difference=-0.2, difference_low=-0.3, difference_high=-0.1, failed=1),
    compared("rices", 0.6),
    compared("selector", 0.8, difference=0.2, difference_low=0.1, difference_high=0.3, failed=3),
)


def test_the_methods_on_the_held_out_queries() -> None:
    """The selector's pick beats RICES' on p1 and loses on p2; random pairs lose on p1 and tie on p2."""
    blocks = PAGE.results(state_of(P1, P2, P3, *COMPARED))
    [table] = [block for block in blocks if isinstance(block, Table)]
    assert [list(map(plain, row)) for row in table.rows] == [
        ["the selector", "10", "0.800", "[0.700, 0.900]", "+0.200", "[+0.100, +0.300]"],
        ["similarity (RICES)", "10", "0.600", "[0.500, 0.700]", "·", "·"],
        ["random pairs", "10", "0.400", "[0.300, 0.500]", "−0.200", "[−0.300, −0.100]"],
    ]  # fmt: skip
    assert [spans(row[4])[0].tone for row in table.rows] == ["good", "dim", "bad"]
    lines = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert [plain(line) for line in lines] == [
        "the selector: 1 query better, 1 query worse than RICES",
        "random pairs: 1 query worse than RICES",
        "3 queries left out of all methods: the model failed",
    ]
    better, worse = [span for span in spans(lines[0]) if span.target]
    assert better == Span("1 query better", "good", Target("better", "selector"))
    assert worse == Span("1 query worse", "bad", Target("worse", "selector"))
    assert PAGE.place_of(Target("better", "selector"), state_of(P2, P1)) == OpenAt("picks", 1, open=True)
    assert PAGE.place_of(Target("worse", "selector"), state_of(P2, P1)) == OpenAt("picks", 0, open=True)
    assert PAGE.place_of(Target("warning", "first"), state_of(WORSE, BETTER)) == OpenAt(
        "queries", 1, open=True
    )
    assert PAGE.place_of(Target("better", "random"), state_of(P2, P1)) is None


def test_at_eighty_columns_the_difference_keeps_its_interval() -> None:
    [table] = [block for block in PAGE.results(state_of(*COMPARED)) if isinstance(block, Table)]
    assert list(table.narrowed(78).header) == ["method", "n", "accuracy", "95%", "− RICES", "95%"]
    assert list(table.narrowed(60).header) == ["method", "accuracy", "− RICES", "95%"]


def test_the_pools_in_the_end() -> None:
    """Nothing before the stage is through; then also which queries have a warning."""

    def oracle(mean: float, positive: int) -> ev.OracleTotal:
        return ev.OracleTotal(mean=mean, positive=positive, low=0.1, high=0.9)

    totals = ev.PoolTotals(
        queries=4, before=oracle(0.3, 1), after=oracle(0.9, 3), injected=5, warnings=1, rules={}
    )
    assert PAGE.results(state_of(BETTER)) == []
    [best, warned] = PAGE.results(state_of(BETTER, totals))
    assert isinstance(best, Table) and isinstance(warned, Paragraph)
    assert best.caption == "Best known pair of a pool, 4 queries, 5 candidates injected"
    assert [" ".join(map(plain, row)) for row in best.rows] == [
        "original data 0.300 1/4 0.250 [0.100, 0.900]", "after injection 0.900 3/4 0.750 [0.100, 0.900]",
    ]  # fmt: skip
    assert plain(warned.text) == "! 1 query with a warning: marked ! in the table of queries"
    assert spans(warned.text)[1].target == Target("warning", "first")
    [_] = PAGE.results(state_of(BETTER, msgspec.structs.replace(totals, warnings=0)))


def step(number: int, phase: str, heldout: float | None) -> ev.SelectorStep:
    return ev.SelectorStep(
        phase=phase,
        step=number,
        steps=4,
        loss=1.0 / number,
        expected_score=0.1 * number,
        heldout_accuracy=heldout,
        gradient_norm=1.0,
        pairs=2,
    )


STEPS = (step(1, "supervised", 0.5), step(2, "supervised", None), step(4, "policy_gradient", 0.9))


def test_the_training_of_the_selector() -> None:
    state = state_of(*STEPS, *COMPARED)
    [course] = PAGE.training(state)
    assert isinstance(course, Table)
    assert [" ".join(map(plain, row)) for row in course.rows] == [
        "4 policy gradient 0.250 0.400 0.900", "1 supervised 1.000 0.100 0.500",
    ]  # fmt: skip
    assert course.legend[0].startswith("expected: mean score of the recorded pairs, weighted by")
    lines = {line.label: (list(line.x), list(line.y)) for line in results.accuracy_curves(state)}
    assert lines == {
        "selector": ([1, 4], [0.5, 0.9]), "similarity": ([0, 4], [0.6, 0.6]), "random": ([0, 4], [0.4, 0.4]),
    }  # fmt: skip
    expected = {line.label: (list(line.x), list(line.y)) for line in results.score_curves(state)}
    assert expected == {"supervised": ([1, 2], [0.1, 0.2]), "policy gradient": ([4], [0.4])}


def test_a_training_that_begins_at_zero_and_is_not_through() -> None:
    """A score of 0 was measured; the levels of the baselines reach to the step that will be the last."""
    state = state_of(step(1, "supervised", 0.0), step(2, "supervised", 0.25), *COMPARED)
    lines = {line.label: (list(line.x), list(line.y)) for line in results.accuracy_curves(state)}
    assert lines["selector"] == ([1, 2], [0.0, 0.25]) and lines["similarity"] == ([0, 4], [0.6, 0.6])
    [course] = PAGE.training(state)
    assert isinstance(course, Table) and [plain(row[0]) for row in course.rows] == ["2", "1"]


def test_the_picture_of_the_accuracies() -> None:
    [picture] = PAGE.pictures(state_of(compared("rices", 0.6)))
    assert picture.caption == "VQA accuracy on held-out queries, with bootstrap 95% intervals"
    assert "0.600 [0.500, 0.700]" in {getattr(mark, "text", "") for mark in picture.drawing.marks}
    assert PAGE.pictures(state_of()) == []


def test_a_wide_case_has_the_trajectories_beside_the_pool() -> None:
    [beside] = [b for b in QUERIES.draw(BETTER, source(state_of(BETTER))) if isinstance(b, Beside)]
    assert beside.least == 128


def test_the_pools_curve_runs_beside_the_data_as_given() -> None:
    """Best pairs of 1.0 and 0.5 after the search, of 0.3 and 0.5 before it."""
    drawn = curve(state_of(query("a", 0.3, 1.0), query("b", 0.5, 0.5)))
    assert (drawn.name, drawn.values) == ("pool", (1.0, 0.75))
    assert (drawn.baseline_name, drawn.baseline) == ("as given", (0.3, 0.4))


def test_what_if_begins_with_the_best_pair_that_was_asked() -> None:
    """Of the mined pairs 0.9 is the best; the pair of the data with 1.0 was not asked in this run."""
    event = query(
        "q1", 0.3, 0.9,
        trajectories=[
            trajectory("given", (4, 5), 1.0, answer="7"), trajectory("refused", (5, 6), 0.3, rule="no gain"),
            trajectory("committed", (9, 4), 0.9, rule="better"), trajectory("refused", (6, 4), None),
        ],
    )  # fmt: skip
    choice = WHAT_IF.of[ev.PoolQueryDone](event, source(RunState()))
    assert isinstance(choice, Choice) and choice.about.startswith("q1 · better: rows 9 and 4\nHow many?\n")
    assert choice.request({})["recorded"] == [9, 4]
    (known,) = choice.choices(None)
    assert isinstance(known, Table) and [[plain(cell) for cell in row][:2] for row in known.rows] == [
        ["1", "9 4"], ["2", "4 5"], ["3", "5 6"], ["4", "6 4"],
    ]  # fmt: skip


def test_what_if_begins_with_an_answer_that_is_wrong_rather_than_with_none() -> None:
    event = query(
        "q1", 0.0, 0.0, trajectories=[trajectory("refused", (6, 4), None), trajectory("refused", (5, 6), 0.0)]
    )
    choice = WHAT_IF.of[ev.PoolQueryDone](event, source(RunState()))
    assert isinstance(choice, Choice) and choice.request({})["recorded"] == [5, 6]


def test_other_demonstrations_are_typed_by_number_or_by_row() -> None:
    choice = WHAT_IF.of[ev.SelectorPicked](P2, source(RunState()))
    assert isinstance(choice, Choice)
    assert choice.about == 'p2 · the selector: rows 4 and 6\nHow many?\npeople answered 10× "7"'
    ((field,),) = choice.fields
    hint = "numbers of the list, or two rows such as 12+340"
    assert (field.value, field.hint) == ("2", hint) and field.read("2, 9+4") == [[4, 6], [9, 4]]
    for text, why in {
        "": hint,
        "9+": f"{hint}; found '9+'",
        "x+9": f"{hint}; found 'x+9'",
        "9x": f"{hint}; found '9x'",
        "5": "the list has no 5; it has 3 entries",
    }.items():
        with pytest.raises(ValueError) as error:
            field.read(text)
        assert str(error.value) == why
    assert choice.request({"pairs": [[9, 4]]}) == {"query": "p2", "recorded": [4, 6], "pairs": [[9, 4]]}
    (known,) = choice.choices(None)
    assert isinstance(known, Table) and list(known.header) == ["no", "rows", "score", "answer", "from"]
    assert [list(map(plain, row)) for row in known.rows] == [
        ["1", "4 6", "◐ 0.30", "7", "the selector"], ["2", "4 6", "◐ 0.60", "7", "similarity (RICES)"],
        ["3", "4 6", "◐ 0.60", "7", "random pairs"],
    ]  # fmt: skip
    given = query("q", 0, 0, trajectories=[trajectory("given", (4, 5), 1.0)])
    alone = WHAT_IF.of[ev.PoolQueryDone](given, source(RunState()))
    assert isinstance(alone, Choice) and alone.fields[0][0].value == ""
    assert alone.about.startswith("q · given: rows 4 and 5\n")
    nothing = WHAT_IF.of[ev.SelectorPicked](picked("p"), source(RunState()))
    assert nothing == "No method picked a pair for this query."
    assert WHAT_IF.of[ev.PoolQueryDone](query("q", 0, 0, trajectories=[]), source(RunState())) == (
        "The query has no trajectories."
    )


def test_answers_with_other_demonstrations() -> None:
    def other(given: str, score: float | None, verdict: str = "") -> ev.OtherAnswer:
        return ev.OtherAnswer(given=given, text="7", score=score, verdict=verdict)

    choice = WHAT_IF.of[ev.SelectorPicked](P2, source(RunState()))
    assert isinstance(choice, Choice)
    tried = ev.AnswerTried(
        system="pool", example="p2", case={}, question="?", committed=other("rows 4+6", 0.3), none=other("none", 0.0),
        yours=[other("rows 9+4", 1.0), other("rows 9+9", None, "the model failed")], exact=True,
    )  # fmt: skip
    answers = choice.answers(tried)
    said = [
        (one.name, [plain(block.text) for block in one.about if isinstance(block, Paragraph)])
        for one in (*answers.beside, *answers.tried)
    ]
    assert said == [
        ("committed: rows 4+6", ["◐ 0.30  VQA accuracy"]), ("none", ["✗ 0.00  VQA accuracy"]),
        ("yours: rows 9+4", ["✓ 1.00  VQA accuracy"]),
        ("yours: rows 9+9", ["–  VQA accuracy", "the model failed"]),
    ]  # fmt: skip


def test_what_is_worth_opening_of_a_pool() -> None:
    highlights = PAGE.overview.highlights(state_of(BETTER, WORSE, P1, P2, P3, *STEPS))
    assert [(one.text, one.place) for one in highlights] == [
        ("1 query on which similarity picks a better pair than the selector", OpenAt("picks", 1)),
        ("1 query with a warning", OpenAt("queries", 0)),
        ("the selector's training, beside its baselines", OpenAt("training")),
    ]


def test_the_selectors_curve_lies_over_the_level_of_similarity() -> None:
    assert curve(state_of(*STEPS)) == Curve(
        "held-out score", "the steps", "selector", (0.5, 0.9), "similarity", ()
    )
    assert curve(state_of(*STEPS, *COMPARED)).baseline == (0.6,)
    assert curve(state_of(step(1, "supervised", 0.0))).values == (0.0,), "all wrong is a score"


def test_answers_of_people() -> None:
    assert answers_line({}) == "·" and answers_line({"two\ndogs": 9, "1": 1}) == '9× "two⏎dogs", 1× "1"'


def test_the_pool_of_a_query() -> None:
    """Eight a line. Place 1 was injected, place 0 is in use."""
    event = msgspec.structs.replace(
        BETTER, pool_before=[10, 11, *range(12, 20)], pool_after=[10, 99, *range(12, 20)]
    )
    *grid, legend = case(pool_blocks(event))
    assert grid == [" 0  •10 + 99   12   13   14   15   16   17 ", " 8   18   19 "]
    assert legend.startswith("+ injected 1   • in a kept trajectory 1; numbers: rows of the embedding table")
    heading, replaced = pool_blocks(event)[-2:]
    assert heading == Heading("replaced, by place", 4)
    assert isinstance(replaced, Facts) and [(at, plain(words)) for at, words in replaced.rows] == [
        ("1", "11 → 99   similarity 0.800")
    ]
    [line] = [block for block in pool_blocks(BETTER) if isinstance(block, Paragraph)][:1]
    assert [span.tone for span in spans(line.text)] == ["dim", "strong", "accent", "dim"]
    assert case(pool_blocks(query("q", 0, 0)))[-1].startswith("+ injected 0   • in a kept trajectory 1")


def test_the_field_of_other_demonstrations() -> None:
    choice = WHAT_IF.of[ev.SelectorPicked](P2, source(RunState()))
    assert isinstance(choice, Choice)
    [[field]] = choice.fields
    assert (field.name, field.label, field.width) == ("pairs", "demonstrations", 0)
    assert QUERIES.notable_words == "query with a better pair than its original data had"


def test_the_tones_and_heads_of_a_query() -> None:
    blocks = in_one_column(QUERIES.draw(BETTER, source(state_of(BETTER))))
    assert [plain(block.text) for block in blocks if isinstance(block, Heading)] == [
        "pool", "replaced, by place", "trajectories",
    ]  # fmt: skip
    captions = [block.caption for block in blocks if isinstance(block, Table)]
    assert captions == ["mined, committed 2   beam", "from the data 3", "mined, refused 3   beam"]
    heads = [tuple(block.header) for block in blocks if isinstance(block, Table)]
    assert heads == [
        ("score", "pair", "kept", "rule", "answer"), ("score", "pair", "kept", "origin", ""),
        ("score", "pair", "kept", "rule", "answer"),
    ]  # fmt: skip
    by_words = {plain(block.text): block for block in blocks if isinstance(block, Paragraph)}
    failed = by_words["pool 70 → 3   6 removed   0 added   6 pairs asked, 1 failed"]
    assert [span.tone for span in spans(failed.text)] == ["dim", "warn"]
    assert spans(by_words["! no help"].text)[0].tone == "warn"
    other = query("q", 0, 0, trajectories=[trajectory("of_later", (4, 5), 0.0, origin="by_hand")])
    [table] = [b for b in in_one_column(QUERIES.draw(other, source(state_of(other)))) if isinstance(b, Table)]
    assert table.caption == "of_later 1   by hand"
    [warned, quiet] = cells(QUERIES, state_of(BETTER, WORSE))
    assert (warned["warning"], quiet["warning"]) == (Cell("!", "warn"), Cell(" ", "warn"))
