"""A decision as a story: differences with signs, bars with null as a line, the chain and what it leads to."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.style import Style

from app.blocks.block import Target
from app.blocks.two_texts import draw_texts
from engine.events import Candidate, DecisionTaken
from screens.esm.candidates import draw_candidates, score_bar
from screens.esm.chain import Chain, draw_chain
from screens.esm.decision_detail import Decided, draw_decision
from screens.widgets.links import find_links

_PLAIN = {name: Style.null() for name in ("dim", "strong", "good", "bad", "accent", "warn", "heading")}
_OWN = "one apple\n\n  two pears\n\nthree"
_GREEDY = "one apple\n\n  two plums\n\nthree\n\nfour"


def lines(drawn: object, width: int) -> list[str]:
    """What is drawn, as text."""
    console = Console(width=width, no_color=True)
    rendered = console.render_lines(drawn, console.options.update(width=width))  # type: ignore[arg-type]
    return ["".join(segment.text for segment in line).rstrip() for line in rendered]


def test_differences_have_signs_beside_each_other_and_below() -> None:
    """+ before what only the first has, − before what only the second has; indentation stays; ▸ marks a segment."""
    here = (_OWN.index("  two"), _OWN.index("three"))
    below = lines(draw_texts(_OWN, _GREEDY, ("esm", "greedy"), _PLAIN, 60, here), 60)
    assert below == [
        "   + esm   − greedy",
        "   one apple",
        "−    two plums",
        "+▸   two pears",
        "   three",
        "−  four",
    ]
    beside = lines(draw_texts(_OWN, _GREEDY, ("esm", "greedy"), _PLAIN, 100, here), 100)
    assert beside[2].startswith("+▸   two pears") and beside[2].partition("−")[2] == "    two plums"
    assert beside[4].strip() == "−  four"


def test_null_is_a_line_through_the_bars() -> None:
    """At the same column in every bar, whether the bar ends before it or goes beyond."""
    bars = [score_bar(score, 0.5, -0.5, 1.0, 31) for score in (1.0, 0.5, 0.2, -0.5)]
    assert [bar.index("╋" if "╋" in bar else "┃") for bar in bars] == [20] * 4
    assert [bar.count("━") + ("╋" in bar) for bar in bars] == [21, 10, 5, 11]
    assert score_bar(0.0, 0.0, 0.0, 0.0, 10) == "┃"


def test_the_chain_marks_where_it_left_greedys_way() -> None:
    """Only there; the others lead to their decisions."""
    chain = Chain("esm", "test-0001", (None, "wrong-0012", None), left=2, sign=-1)
    text = draw_chain(chain, 3, _PLAIN, 80)
    assert text.plain.splitlines() == [
        "1 null ─ ▼ 2 ▸wrong-0012 ─ [3 null]",
        "▼ left greedy's way in segment 2 and came out wrong: wrong-0012 was injected there",
    ]
    found = find_links(Console(width=80).render_lines(text))
    assert [one.target for one in found] == [Target("decision", f"esm test-0001 {m}") for m in (1, 2, 3)]
    assert {len(line) <= 20 for line in draw_chain(chain, 3, _PLAIN, 20).plain.splitlines()[:3]} == {True}


def test_candidates_show_the_log_probability_of_each_probe_beside_the_difference() -> None:
    """At 80 columns: the mean a token of every candidate's probe and of null's, none where nothing was probed."""
    candidates = [
        Candidate(
            entry="train-0001_m1_l2_wrong", kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, probed=True,
            logprob=-1.25, delta_logprob=0.25, score=0.7, probe_text="then",
        ),
        Candidate(entry="w2", kind="wrong", similarity=0.8, quality=0.5, ahat=0.4, score=0.4),
    ]  # fmt: skip
    decision = DecisionTaken(
        method="esm", example="x", m=2, gate="chosen", candidates=candidates, chosen="train-0001_m1_l2_wrong",
        null_ahat=0.3, null_logprob=-1.5, null_score=0.3, null_probe="so",
    )  # fmt: skip
    drawn = lines(draw_candidates(decision, _PLAIN, 80), 80)
    assert drawn[0].split() == ["entry", "sim", "Q", "Â", "logp", "Δlogp", "Score"]
    rows = [line.split() for line in drawn[1:4]]
    assert rows[0][:8] == [
        "▸",
        "train-0001_m1_l2_wrong",
        "0.900",
        "0.50",
        "0.450",
        "−1.250",
        "+0.250",
        "0.700",
    ]
    assert rows[1][:7] == ["w2", "0.800", "0.50", "0.400", "·", "·", "0.400"]
    assert rows[2][:7] == ["null", "·", "·", "0.300", "−1.500", "·", "0.300"]
    assert all(len(line) <= 80 for line in drawn)


NAME = "Backward → Forward, step 1"
NAMED = DecisionTaken(
    method="esm", example="x", m=2, gate="chosen", chosen="a", null_score=0.3, null_probe="so", score=0.7, alpha=2.8,
    layer=2,
    candidates=[
        Candidate(
            entry="a", name=NAME, kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, probed=True, score=0.7,
            probe_text="then",
        ),
        Candidate(entry="b", name="32 → 22, step 1", kind="wrong", similarity=0.8, quality=0.5, ahat=0.4),
        Candidate(entry="r", name="keep Forward, step 1", kind="right", similarity=0.8, quality=0.5, ahat=0.3),
    ],
)  # fmt: skip


@pytest.mark.parametrize(("width", "name"), [(80, NAME), (120, "Backward → Forward")])
def test_candidates_are_called_by_their_names_and_lead_to_their_ids(width: int, name: str) -> None:
    drawn = draw_candidates(NAMED, _PLAIN, width)
    rows = lines(drawn, width)
    assert rows[1].startswith(f"▸ {name}  ")
    text = " ".join(" ".join(rows).split())
    assert "1 wrong entry not probed: 32 → 22, step 1 Â 0.400" in text
    assert "1 right entry speaking for null: keep Forward, step 1 Â 0.300" in text
    targets = [one.target for one in find_links(Console(width=width).render_lines(drawn))]
    assert targets == [Target("entry", key) for key in ("a", "b", "r")]


def test_a_decision_is_told_with_the_names() -> None:
    decided = Decided(NAMED, Chain("esm", "x", (None, NAME), left=2, sign=1))
    text = " ".join(" ".join(lines(draw_decision(decided, _PLAIN, 120), 120)).split())
    assert f"committed with {NAME}" in text
    assert f"{NAME} scored highest (0.700, null 0.300), so it was injected at layer 2 with α 2.800" in text
    assert "1 null ─ ▲ [2 ▸Backward → Forward]" in text
    assert f"came out right: {NAME} was injected there" in text
