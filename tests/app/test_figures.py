"""How figures are written: each text here was written by hand."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pytest

from app.methods.overview import Curve
from app.wording import figures
from app.wording.figures import NONE
from app.wording.verdict_text import verdict_sentence
from engine.events.verdict import Verdict
from screens.overview.curve_view import draw_curve

MINUS = "\N{MINUS SIGN}"


def test_what_is_not_known_is_one_sign_everywhere() -> None:
    """Not an empty cell in one place and a dash in another."""
    for write in (figures.fixed, figures.signed, figures.probability, figures.share, figures.outcome):
        assert write(None) == NONE == "·"
    for write in (figures.fixed, figures.signed, figures.probability, figures.share, figures.figure):
        assert write(nan) == NONE
    assert figures.figure(inf) == NONE
    assert figures.interval(None, 0.1) == figures.bounds(0.1, None) == NONE


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [
        (0.8125, 3, "0.813"), (0.0, 3, "0.000"), (-0.05, 3, f"{MINUS}0.050"), (-0.0004, 3, "0.000"),
        (45.94, 1, "45.9"), (1.0, 0, "1"), (-12.5, 1, f"{MINUS}12.5"), (-0.4, 0, "0"),
    ],
)  # fmt: skip
def test_a_value_with_fixed_digits(value: float, digits: int, told: str) -> None:
    """No minus before what is written as zero."""
    assert figures.fixed(value, digits) == told


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [
        (0.12, 3, "+0.120"), (-0.02, 3, f"{MINUS}0.020"), (0.0, 3, "0.000"), (-0.0001, 3, "0.000"),
        (0.0004, 3, "0.000"), (0.0006, 3, "+0.001"), (-0.0006, 3, f"{MINUS}0.001"), (0.3, 0, "0"), (10.0, 0, "+10"),
        (-45.94, 1, f"{MINUS}45.9"), (7.0, 0, "+7"), (inf, 3, "+inf"),
    ],
)  # fmt: skip
def test_a_difference_has_its_sign(value: float, digits: int, told: str) -> None:
    """The minus is as wide as the plus; what rounds to zero has neither, from below or above."""
    assert figures.signed(value, digits) == told


@pytest.mark.parametrize("mean", [46 / 160, 0.2875, 0.28750000000000003, 1.15 / 4])
def test_a_half_is_rounded_one_way_everywhere(mean: float) -> None:
    """0.2875 is no float: what is nearest lies below it, and sums of shares end above. Away from zero, all of them."""
    assert (figures.fixed(mean), figures.share(mean), figures.figure(mean)) == ("0.288", "28.8%", "0.288")
    assert (figures.signed(-mean), figures.share(-mean)) == (f"{MINUS}0.288", f"{MINUS}28.8%")
    assert figures.fixed(0.28749) == "0.287" and figures.fixed(25.25, 1) == "25.3"
    curve = Curve("passed so far", "the conversations", "a", (0.0, mean), "no note", (mean,))
    assert "no note 0.288" in draw_curve(curve, 60, 3).plain
    verdict = Verdict(
        method="always", baseline="baseline", metric="pass_score", n=160, value=mean, baseline_value=mean,
        difference=0.0, low=0.0, high=0.0,
    )  # fmt: skip
    assert verdict_sentence(verdict).count("28.8%") == 2


def test_intervals() -> None:
    """Of a difference with signs, of a value without."""
    assert figures.interval(-0.05, 0.21) == f"[{MINUS}0.050, +0.210]"
    assert figures.interval(0.0, 1.0) == "[0.000, +1.000]"
    assert figures.interval(-50.14, -41.66, 1) == f"[{MINUS}50.1, {MINUS}41.7]"
    assert figures.bounds(0.75, 0.87) == "[0.750, 0.870]"
    assert figures.bounds(12.34, 15.66, 1) == "[12.3, 15.7]"


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.0312, "0.031"),
        (1.0, "1.000"),
        (0.001, "0.001"),
        (0.00099, "1e-03"),
        (2.4e-7, "2e-07"),
        (0.0, "0.000"),
    ],
)
def test_a_probability_is_never_rounded_to_zero(p: float, told: str) -> None:
    """Below a thousandth the power of ten counts."""
    assert figures.probability(p) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.8124, "81.2%"), (1.0, "100.0%"), (-0.05, f"{MINUS}5.0%"), (-0.0001, "0.0%"), (0.0, "0.0%")],
)
def test_a_share_is_a_percentage(value: float, told: str) -> None:
    assert figures.share(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.8456, "0.846"), (-9.9994, f"{MINUS}9.999"), (12.34, "12.3"), (999.94, "999.9"), (1234.5, "1,235"),
        (-1234567.0, f"{MINUS}1,234,567"), (0.0, "0.000"), (-0.0, "0.000"), (0.00012, "0.00012"), (3e-9, "3e-09"),
        (-3e-9, f"{MINUS}3e-09"), (10.0, "10.0"), (1000.0, "1,000"), (-1000.0, f"{MINUS}1,000"), (0.001, "0.001"),
    ],
)  # fmt: skip
def test_a_value_beside_a_chart(value: float, told: str) -> None:
    """Thousands are set apart; what is small keeps two digits that count."""
    assert figures.figure(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.85, "0.85"), (5.0, "5"), (12_000.0, "12k"), (12_500.0, "12500"), (250_000.0, "250k"), (2e6, "2e+06"),
        (1e-6, "1e-06"), (-0.5, f"{MINUS}0.5"), (-20_000.0, f"{MINUS}20k"), (0.0, "0"),
        (9_000.0, "9000"), (10_000.0, "10k"), (999_000.0, "999k"), (1e6, "1e+06"),
    ],
)  # fmt: skip
def test_a_label_at_an_axis(value: float, told: str) -> None:
    assert figures.tick(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.96511, "0.9651"), (1234.56, "1235"), (9999.7, "10,000"), (12345.6, "12,346"), (1234567, "1,234,567"),
        (-7, f"{MINUS}7"), (-0.25, f"{MINUS}0.25"), ("greedy", "greedy"), ("-x", "-x"), (1e-7, "1e-07"),
    ],
)  # fmt: skip
def test_a_figure_of_a_stage(value: object, told: str) -> None:
    """Four digits that count; a text is left as it is."""
    assert figures.short(value) == told


def test_outcomes_are_signs_and_not_colours() -> None:
    assert [figures.outcome(one) for one in (True, False, None)] == ["✓", "✗", "·"]
    assert [figures.outcome_words(one) for one in (True, False, None)] == [
        "✓ right",
        "✗ wrong",
        "· not judged",
    ]
    assert [figures.against_greedy(one) for one in (1, -1, 0, None)] == ["▲", "▼", " ", " "]


def test_formats_stand_in_one_module() -> None:
    """Nobody else writes the minus that is as wide as a plus: but for the sentences of verdicts."""
    root = Path(__file__).parents[2]
    users = {
        str(path.relative_to(root))
        for folder in ("app", "screens")
        for path in (root / folder).rglob("*.py")
        if f'replace("-", "{MINUS}")' in path.read_text()
    }
    assert users == set()


def test_a_figure_has_the_digits_of_its_unit() -> None:
    """Shares have three, all else has one; a difference has its sign."""
    assert figures.of_unit(0.9654, "share") == "0.965" and figures.of_unit(45.94, "tokens") == "45.9"
    assert figures.of_unit(0.9654, "share", is_difference=True) == "+0.965"
    assert figures.of_unit(None, "share") == NONE
