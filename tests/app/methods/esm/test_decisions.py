"""A decision in full: on a terminal and in documents; figures, signs and sentences worked out by hand."""

from __future__ import annotations

import pytest
from rich.console import Console

from app.blocks.block import Changes, Facts, Paragraph, Span, Target, plain, spans
from app.blocks.terminal import draw
from app.methods.esm.answers import Answers, answers_line
from app.methods.esm.candidates import candidate_blocks, score_bar
from app.methods.esm.chain import Chain, chain_line, chain_of, parting
from app.methods.esm.decisions import DECISIONS, decision_blocks, decision_place
from app.methods.esm.entry_words import name_within
from app.report.item_words import item_words
from engine.events import Candidate, Event
from screens.widgets.links import find_links
from tests.app.methods.esm.made import (
    AS_GREEDY,
    CHOSEN,
    PALETTE,
    SAME_OUTCOME,
    TURNED_RIGHT,
    TURNED_WRONG,
    W1,
    answer,
    decision,
    document_of,
    source_of,
    text_of,
)


def drawn(events: list[Event], at: int, width: int = 100) -> str:
    return text_of(decision_blocks(events[at], source_of(events)), width)  # type: ignore[arg-type]


def test_a_decision_that_turned_an_answer_right() -> None:
    lines = drawn(TURNED_RIGHT, 2, 120).splitlines()
    assert lines[:6] == [
        "t-1  esm  segment 2   ✓ right  ▲ fixed",
        "question  How many in t-1?",
        "answers   right is 28   esm 28 ✓   greedy 34 ✗",
        "segments  1 null ─ ▲ [2 ▸data-0001_m1_l2_wrong] ─ 3 null",
        "turned    ▲ left greedy's way in segment 2 and came out right: data-0001_m1_l2_wrong was injected there",
        "rule      chosen: data-0001_m1_l2_wrong scored highest (0.700, null 0.300), so it was injected at layer 2 "
        "with α 1.400.",
    ]
    assert "committed with data-0001_m1_l2_wrong" in lines and "null would have begun  minus …" in lines
    assert (
        lines[-1] == "entries searched 12   committed 18 tokens after 14   probes 32 tokens   ended by stop"
    )
    at = next(at for at, line in enumerate(lines) if "esm wrote (▸ this segment)" in line)
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "one. one.",
        "+▸ plus. − minus.",
        "+ 28 − 34",
    ]


def test_a_decision_that_turned_an_answer_wrong() -> None:
    text = drawn(TURNED_WRONG, 2)
    assert text.startswith("t-2  esm  segment 2   ✗ wrong  ▼ broken\n")
    assert "right is 28   esm 29 ✗   greedy 28 ✓" in text and "segments  1 null ─ ▼ [2 null]" in text
    assert "▼ left greedy's way in segment 2 and came out wrong: nothing was injected there" in text
    assert "committed, not steered" in text and "null would have" not in text.partition("committed, not")[2]


def test_right_and_wrong_have_their_tones() -> None:
    for events, steered, greedy in ((TURNED_RIGHT, "good", "bad"), (TURNED_WRONG, "bad", "good")):
        title, facts, *_ = decision_blocks(events[2], source_of(events))  # type: ignore[arg-type]
        assert isinstance(title, Paragraph) and isinstance(facts, Facts)
        assert spans(title.text)[-1].tone == steered
        answers = spans(dict(facts.rows)["answers"])
        assert [span.tone for span in answers if span.text[-1] in "✓✗"] == [steered, greedy]


def test_an_answer_that_left_greedys_way_and_came_out_the_same() -> None:
    text = drawn(SAME_OUTCOME, 1)
    assert text.startswith("t-3  esm  segment 1   ✓ right\n") and "≠ [1 ▸data-0001_m1_l2_wrong]" in text
    assert "≠ left greedy's way in segment 1 and came out the same" in text
    assert "esm wrote (▸ this segment)" in text and "+▸ new 28" in text, "the first segment is marked, too"
    assert "what null would have written was not recorded (online.record_null does that)" in text


def test_an_answer_that_is_greedys() -> None:
    text = drawn(AS_GREEDY, 1)
    assert "the text is greedy's to the end" in text and "the whole answer, as greedy's\nsame 28" in text
    assert "greedy wrote" not in text


def test_greedy_has_nothing_beside_it() -> None:
    events = [decision("t-5", 1, "28", method="greedy"), answer("greedy", "t-5", "28", "28")]
    text = drawn(events, 0)
    assert "right is 28   greedy 28 ✓\n" in text and "\nthe whole answer\n28" in text


def test_before_the_answer_is_there() -> None:
    """What was written so far stands in its place; of a long text the end."""
    begun = decision("t-6", 2, "more", prefix="x" * 700 + "so far", ended="")
    text = drawn([begun], 0)
    assert "t-6  esm  segment 2   · not evaluated yet" in text and "answers" not in text
    assert "\nwritten before it\n" in text and "so\nfar\n" in text and text.count("x") == 594
    assert text.endswith("ended by –") and "turned" not in text


def test_no_evaluation_is_promised_to_a_request() -> None:
    """The server has answered it, and that is all."""
    served = decision("6b0c-1", 1, "So.", stage="serve", ended="eos")
    text = drawn([served], 0)
    assert "6b0c-1  esm  segment 1   · of a request, whose right answer nobody knows\n" in text
    assert "yet" not in text and "answers" not in text


def test_the_rest_of_an_answer_is_called_so() -> None:
    assert drawn(TURNED_RIGHT, 3).startswith("t-1  esm  the rest of the answer   ✓ right  ▲ fixed")
    assert item_words(TURNED_RIGHT[3]) == "decision of esm on t-1, the rest"
    assert item_words(TURNED_RIGHT[2]) == "decision of esm on t-1, segment 2"
    named = decision("t-1", 1, "x", method="no_probing")
    assert item_words(named) == "decision of no probing on t-1, segment 1"
    assert drawn([named], 0).startswith("t-1  no probing  segment 1")
    assert item_words(answer("no_probing", "t-1", "28", "28")) == "answer of no probing to t-1"


def test_what_null_would_have_written_stands_beside() -> None:
    events = list(TURNED_RIGHT)
    events[2] = decision("t-1", 2, "plus.\n", **CHOSEN | {"null_segment": "minus.\n"})
    lines = drawn(events, 2).splitlines()
    at = next(at for at, line in enumerate(lines) if "null would have written" in line)
    assert "committed with data-0001_m1_l2_wrong" in lines[at]
    assert lines[at + 1].startswith("+  plus.") and lines[at + 1].rstrip().endswith("−  minus.")


def test_of_a_long_question_the_end_stands_above_and_all_of_it_below() -> None:
    long = "begins here. " + "y" * 300 + " How many?"
    events = [answer("greedy", "t-7", "1", "a"), decision("t-7", 1, "a")]
    events[0] = type(events[0])(
        **{n: getattr(events[0], n) for n in events[0].__struct_fields__} | {"question": long}
    )
    above, _, below = drawn(events, 1).partition("The whole question\n")
    assert "begins here." not in above and "How many?" in above and "begins here." in below


def test_a_document_has_the_same_and_a_table_of_the_candidates() -> None:
    text = document_of(decision_blocks(TURNED_RIGHT[2], source_of(TURNED_RIGHT)))  # type: ignore[arg-type]
    for said in (
        "▲ left greedy's way in segment 2",
        "esm 28 ✓   greedy 34 ✗",
        "injected at layer 2 with α 1.400",
        "− greedy wrote, + esm wrote (▸ this segment)\n\n```diff\n  one.\n- minus.\n- 34\n+ plus.\n+ 28\n```",
    ):
        assert said in text, said
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "| candidate | sim | Q | Â | logp | Δlogp | Score |  |"
    assert rows[2:] == [
        "| ▸ data-0001_m1_l2_wrong | 0.900 | 0.50 | 0.450 | −1.250 | +0.250 | 0.700 | ━━━━━━╋━━━━━━━ |",
        "| null | · | · | 0.250 | −1.500 | · | 0.300 | ━━━━━━┃─────── |",
        "| data-0002_m1_l2_wrong | 0.800 | 0.25 | 0.200 | · | · | 0.100 | ━━━───┃─────── |",
    ]
    assert "┃ is null's Score: the largest β Â of a right entry" in text
    assert "2 right entries speaking for null: r-1 Â 0.700 … 0.600" in text


# ---------------------------------------------------------------- candidates


def test_candidates_show_their_figures_a_bar_and_their_probes() -> None:
    """From 0 to 0.7 over 14 cells null's 0.3 stands in cell round(0.3 / 0.7 × 13) = 6, the bar of 0.1 ends in cell
    round(0.1 / 0.7 × 13) = 2. In 78 columns there is room for all but Q."""
    lines = text_of(candidate_blocks(TURNED_RIGHT[2]), 90).splitlines()  # type: ignore[arg-type]
    assert lines[0].split() == ["candidate", "sim", "Q", "Â", "logp", "Δlogp", "Score"]
    assert lines[1].split() == [
        "▸",
        W1,
        "0.900",
        "0.50",
        "0.450",
        "−1.250",
        "+0.250",
        "0.700",
        "━━━━━━╋━━━━━━━",
    ]
    assert lines[2].split() == ["null", "·", "·", "0.250", "−1.500", "·", "0.300", "━━━━━━┃───────"]
    assert lines[3].split() == [
        "data-0002_m1_l2_wrong", "0.800", "0.25", "0.200", "·", "·", "0.100", "━━━───┃───────",
    ]  # fmt: skip
    assert "2 right entries speaking for null: r-1 Â 0.700 … 0.600" in lines
    assert "┃ is null's Score" in " ".join(lines)
    narrow = text_of(candidate_blocks(TURNED_RIGHT[2]), 78).splitlines()  # type: ignore[arg-type]
    assert narrow[0].split() == ["candidate", "sim", "Â", "logp", "Δlogp", "Score"]
    assert narrow[1].split()[1] == W1 and all(len(line) <= 78 for line in narrow)


def test_bars_of_scores_that_lie_close_begin_at_the_lowest() -> None:
    """From 0 they would look alike; the range is said."""
    candidates = [
        Candidate(entry=f"data-{at}_m1_l2_wrong", kind="wrong", similarity=1, quality=1, ahat=1, score=score)
        for at, score in enumerate((1.006, 1.004, 1.002))
    ]
    close = decision("t-1", 2, "x", candidates=candidates, null_score=1.005)
    text = text_of(candidate_blocks(close), 90)
    assert [line.split()[-1] for line in text.splitlines()[1:5]] == [
        "━━━━━━━━━━╋━━━", "━━━━━━━━━━┃───", "━━━━━━━───┃───", "━─────────┃───",
    ]  # fmt: skip
    assert "The Scores lie close: the bars go from 1.002 to 1.006." in " ".join(text.split())
    assert "lie close" not in text_of(candidate_blocks(TURNED_RIGHT[2]), 90)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 200])
def test_what_the_probes_wrote_stands_below_the_figures(width: int) -> None:
    lines = text_of(candidate_blocks(TURNED_RIGHT[2]), width).splitlines()  # type: ignore[arg-type]
    at = lines.index("probes wrote")
    assert [line.split() for line in lines[at + 1 : at + 3]] == [[W1, "plus"], ["null", "minus"]]


def test_null_that_won_is_marked() -> None:
    won = decision("t-1", 2, "x", **CHOSEN | {"chosen": None, "gate": "null_best"})
    lines = text_of(candidate_blocks(won), 78).splitlines()
    assert lines[2].startswith("▸ null") and lines[1].startswith("  data-0001")


def test_candidates_without_a_score_are_counted() -> None:
    d = decision("t-1", 2, "x", candidates=CHOSEN["candidates"][2:3])
    assert text_of(candidate_blocks(d), 80) == "1 right entry speaking for null: r-1 Â 0.700"


def test_a_candidate_with_a_score_of_zero_was_scored() -> None:
    zero = Candidate(
        entry="data-0007_m1_l2_wrong", kind="wrong", similarity=0.5, quality=0.5, ahat=0.25, score=0.0
    )
    text = text_of(candidate_blocks(decision("t-1", 2, "x", candidates=[zero], null_score=0.0)), 90)
    assert "0.000" in text and "not probed" not in text and "null" in text


def test_that_null_would_have_written_nothing_is_known() -> None:
    d = decision("t-1", 2, "plus.\n", **CHOSEN | {"null_segment": ""})
    changes = [block for block in decision_blocks(d, source_of([d])) if isinstance(block, Changes)]
    assert [(block.new, block.old) for block in changes] == [("plus.\n", "")]


def test_a_segment_is_marked_where_it_was_written_and_not_where_its_words_stand_before() -> None:
    d = decision("t-1", 2, "So. ", prefix="So. ")
    answers = [answer(method, "t-1", "28", text) for method, text in (("esm", "So. So. "), ("greedy", "No."))]
    blocks = decision_blocks(d, source_of([d, *answers]))
    assert [block.marked for block in blocks if isinstance(block, Changes)] == [(4, 8)]


def test_null_is_a_line_through_the_bars() -> None:
    """At the same column in every bar, whether the bar ends before it or goes beyond."""
    bars = [score_bar(score, 0.5, -0.5, 1.0, 31) for score in (1.0, 0.5, 0.2, -0.5)]
    assert [bar.index("╋" if "╋" in bar else "┃") for bar in bars] == [20] * 4
    assert [bar.count("━") + ("╋" in bar) for bar in bars] == [21, 10, 5, 11]
    assert score_bar(0.0, 0.0, 0.0, 0.0, 10) == "┃─────────"


@pytest.mark.parametrize(
    ("score", "null", "low", "bar"),
    [
        (1.0, 0.5, 0.0, "━━╋━━"), (0.5, 0.5, 0.0, "━━┃──"), (0.25, 0.5, 0.0, "━━┃──"), (0.0, 0.5, 0.0, "──┃──"),
        (0.5, 0.0, 0.0, "┃━━──"), (1.0, 1.0, 0.0, "━━━━┃"), (-1.0, 0.0, -1.0, "━━┃──"), (-1.0, -0.5, -1.0, "━╋━──"),
        (0.5, -0.5, -1.0, "─┃━━─"),
    ],
)  # fmt: skip
def test_a_bar_of_five_cells(score: float, null: float, low: float, bar: str) -> None:
    """From `low` to 1: a quarter a cell from 0 on, a half a cell from −1 on, where 0 is the third."""
    assert score_bar(score, null, low, 1.0, 5) == bar


def test_only_a_name_that_is_too_long_goes_without_its_step() -> None:
    assert [name_within("minus → plus, step 2 #3", width) for width in (24, 23, 22)] == [
        "minus → plus, step 2 #3", "minus → plus, step 2 #3", "minus → plus #3"
    ]  # fmt: skip


def test_an_answer_of_nothing_is_told_so() -> None:
    greedy, esm = answer("greedy", "t", "28", "a 28"), answer("esm", "t", "", "a")
    line = answers_line(Answers("esm", esm, greedy))
    assert plain(line) == "right is 28   esm nothing ✗   greedy 28 ✓"


def test_what_was_not_probed_stands_before_what_speaks_for_null() -> None:
    """The nearest is named, the farthest only told."""
    rest = [
        Candidate(entry=name, kind=kind, similarity=0.5, quality=1.0, ahat=ahat)
        for name, kind, ahat in (
            ("w-1", "wrong", 0.1),
            ("r-1", "right", 0.7),
            ("w-2", "wrong", 0.5),
            ("w-3", "wrong", 0.2),
        )
    ]
    assert text_of(candidate_blocks(decision("t-1", 2, "x", candidates=rest)), 100) == (
        "3 wrong entries not probed: w-2 Â 0.500 … 0.100   1 right entry speaking for null: r-1 Â 0.700"
    )


def test_a_chain_in_full() -> None:
    """The segment at hand stands in brackets; each leads to its decision."""
    chain = Chain("esm", "t", (None, "wrong-0012", None), 2, -1)

    def to(m: int) -> Target:
        return Target("decision", f"esm t {m}")

    between = Span(" ─ ", "dim")
    assert chain_line(chain, 2) == [
        Span("1 null", "dim", to(1)), between, Span("▼ ", "bad"), Span("[2 ▸wrong-0012]", "strong", to(2)), between,
        Span("3 null", "dim", to(3)),
    ]  # fmt: skip
    assert chain_line(chain._replace(left=0), 1)[:3] == [
        Span("[1 null]", "strong", to(1)), between, Span("2 ▸wrong-0012", "", to(2)),
    ]  # fmt: skip


def links_of(blocks: list, width: int = 100) -> list[Target]:
    lines = Console(width=width).render_lines(draw(blocks, PALETTE, width))
    return [found.target for found in find_links(lines)]


def test_ids_lead_to_their_rows() -> None:
    found = links_of(decision_blocks(TURNED_RIGHT[2], source_of(TURNED_RIGHT)))  # type: ignore[arg-type]
    assert found == [
        Target("example", "esm t-1"),
        *(Target("decision", f"esm t-1 {m}") for m in (1, 2, 3)),
        *(Target("entry", name) for name in (W1, "data-0002_m1_l2_wrong", "r-1")),
    ]


# ---------------------------------------------------------------- chain


def test_a_chain_is_read_from_the_state() -> None:
    state = source_of(TURNED_RIGHT).state.esm
    assert chain_of(state, "esm", "t-1") == Chain("esm", "t-1", (None, W1, None), left=2, sign=1)
    assert chain_of(state, "esm", "unknown") == Chain("esm", "unknown", (), 0, None)


@pytest.mark.parametrize(
    ("left", "sign", "tone", "words"),
    [
        (2, 1, "good", "▲ left greedy's way in segment 2 and came out right: wrong-0012 was injected there"),
        (2, -1, "bad", "▼ left greedy's way in segment 2 and came out wrong: wrong-0012 was injected there"),
        (
            2,
            0,
            "warn",
            "≠ left greedy's way in segment 2 and came out the same: wrong-0012 was injected there",
        ),
        (0, 0, "", "the text is greedy's to the end"),
        (0, 1, "", ""),
        (0, None, "", ""),
    ],
)
def test_where_it_left_greedys_way(left: int, sign: int | None, tone: str, words: str) -> None:
    chain = Chain("esm", "t", (None, "wrong-0012"), left, sign)
    assert parting(chain) == words
    signs = [
        span for span in chain_line(chain, 1) if not isinstance(span, str) and span.text in ("▲ ", "▼ ", "≠ ")
    ]
    assert [span.tone for span in signs] == ([tone] if left else [])


def test_decisions_are_found_by_their_place_in_the_answer() -> None:
    state = source_of([*TURNED_RIGHT, *TURNED_WRONG]).state
    places = [decision_place(state, f"esm t-2 {m}") for m in (0, 1, 2, 3)]
    assert [place and (place.key, place.open) for place in places] == [None, (3, True), (4, True), None]
    assert decision_place(state, "esm t-9 1") is None
    assert len(DECISIONS.rows(state)) == 5
    assert [DECISIONS.notable(state, row) for row in range(5)] == [False, True, False, False, True]
