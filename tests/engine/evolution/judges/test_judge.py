"""The offline judge, by example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evolution.judges.judge import JudgeFailed, NumericJudge, Unjudged, Verdict, judge_with_retries
from engine.evolution.judges.quantities import quantities
from engine.evolution.judges.words import token_f1
from engine.servers.spent import Spent


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("41 million dollars", "Cash 41 million dollars.", True),
        ("41 million dollars", "Cash 14 million dollars.", False),
        ("41 million dollars", "Cash 411 million dollars.", False),
        ("$1,577.00", "It was 1577 dollars.", True),
        ("$1577.00", "about $1,577 million", True),
        ("12.5%", "12.5 percent", True),
        ("12.5%", "It grew by 13%.", False),
        ("(45)", "a loss of -45", True),
        ("(45)", "a gain of 45", False),
        ("$8.70", "The answer is $8.7 billion.", True),
        ("2.5 billion", "2500 million", True),
        ("2.5 billion", "2400 million", False),
        ("0.4", ".4", True),
        ("-3", "in FY2022-3", False),
        ("cash was larger", "Please note: cash was larger.", True),
        ("cash was larger", "Cash and revenue; revenue was larger.", False),
        ("Yes", "Yes, it does.", True),
        ("41", "", False),
        # percent and shares
        ("8.7%", "0.087", True),
        ("8.7%", "It is 8.7 percent.", True),
        ("8.7%", "8.7 per cent", True),
        ("8.7%", "87%", False),
        ("0.087", "8.7%", True),
        ("0.087", "0.87%", False),
        # scales, separators, currency, signs
        ("2 billion", "2000 million", True),
        ("2 billion", "$2,000,000,000", True),
        ("2,000,000,000", "US$2bn", True),
        ("2 billion", "2 million", False),
        ("$(1,234.5) million", "-$1,234.5 million", True),
        ("$(1,234.5) million", "($1,234.5) million", True),
        ("$(1,234.5) million", "$1,234.5 million", False),
        # what an answer comes to
        ("41", "It may be 39, 40, 41 or 42.", False),
        ("41", "Cash was 39, then rose by 2 to 41.", True),
        ("41", "It is 41, not 39.", False),
        ("41", "Cash was 41 in 2022 (see page of 2023).", True),
        ("41", "The answer is 41, up from 39 in 2021.", True),
        ("41", "The answer is 39. No: the final answer: 41, up from 39.", True),
        ("41", "Cash was 41 million, that is 41,000,000.", True),
        ("2019", "It was founded in 2019.", True),
        ("12 and 15", "First 12, then 15.", True),
        ("12 and 15", "First 12, then 15, then 18.", False),
        ("41 in fiscal 2022", "41", True),
        # texts
        ("The cash was larger", "cash, larger it was", True),
        ("cash was larger", "cash was not larger", False),
        ("cash was larger", "cash wasn't larger", False),
        ("No", "No, cash did not grow.", True),
        ("No", "Yes, it did.", False),
        ("Yes", "Nothing is said of that.", False),
        ("capital expenditure and marketing", "Marketing; also capital expenditure.", True),
        (
            "Yes, the 3 segments all grew and so the company as a whole reports higher sales in every region",
            "The segments all grew; the company as a whole reports higher sales in every region, so yes, 3 did",
            True,
        ),
    ],
)
def test_verdicts(gold: str, answer: str, right: bool) -> None:
    verdict = NumericJudge(0.001).judge("?", [gold], answer)
    assert verdict.correct == right
    assert verdict.reasoning


def test_tolerance_is_relative() -> None:
    assert NumericJudge(0.05).judge("?", ["100"], "about 104").correct
    assert not NumericJudge(0.05).judge("?", ["100"], "about 106").correct
    assert not NumericJudge(0.0).judge("?", ["100"], "100.1").correct


def test_tolerance_is_absolute_where_the_gold_is_nothing() -> None:
    assert NumericJudge(0.01).judge("?", ["0"], "It changed by 0.005.").correct
    assert not NumericJudge(0.01).judge("?", ["0"], "It changed by 0.02.").correct
    assert NumericJudge(0.0).judge("?", ["$0"], "0 million").correct


def test_the_threshold_of_texts_counts() -> None:
    """Two of three words of both."""
    for threshold, right in ((0.66, True), (0.67, False)):
        assert (
            NumericJudge(0.0, threshold).judge("?", ["cash was larger"], "revenue was larger").correct
            == right
        )


words_drawn = st.lists(st.sampled_from(["cash", "debt", "grew", "fell", "not", "q"]), max_size=6)


@given(words_drawn, words_drawn)
def test_token_f1_is_the_harmonic_mean(want: list[str], said: list[str]) -> None:
    """Written out: precision and recall over words as often as they occur."""
    left = list(said)
    common = 0
    for word in want:
        if word in left:
            left.remove(word)
            common += 1
    precision, recall = common / max(len(said), 1), common / max(len(want), 1)
    expected = 2 * precision * recall / (precision + recall) if common else 0.0
    assert token_f1(want, said) == pytest.approx(expected)


@given(
    st.integers(-(10**12), 10**12).filter(bool), st.sampled_from(["{:,}", "${:,}", "{:,} dollars", "{:,}.00"])
)
def test_numbers_are_read_however_they_are_written(number: int, form: str) -> None:
    judge = NumericJudge(0.0)
    told = (
        form.format(abs(number)) if number > 0 else "(" + form.format(-number).removesuffix(" dollars") + ")"
    )
    assert judge.judge("?", [str(number)], f"It was {told}").correct
    assert not judge.judge("?", [str(number)], f"It was {number + 1}").correct


def test_any_gold_answer_will_do() -> None:
    assert NumericJudge(0.0).judge("?", ["7", "8"], "It is 8.").correct


def test_what_stands_in_a_text() -> None:
    found = quantities("FY2022: $ 412 million, (1,234.5), 3.2bn and 5%")
    assert [(q.value, q.percent) for q in found] == [
        (412e6, False),
        (-1234.5, False),
        (3.2e9, False),
        (5.0, True),
    ]


def test_failures_are_retried_then_told() -> None:
    class Flaky:
        """Every call takes a token."""

        name = "flaky"

        def __init__(self, failures: int) -> None:
            self.left = failures

        def judge(self, question: str, golds: object, answer: str) -> Verdict:
            self.left -= 1
            if self.left >= 0:
                raise JudgeFailed(what="no verdict", where="here", mend="try again", usage=once)
            return Verdict(True, "fine", once)

    once = Spent(calls=1, tokens=7)
    thrice = Spent(calls=3, tokens=21)
    assert judge_with_retries(Flaky(2), "?", ["1"], "1", 3, lambda: None) == Verdict(True, "fine", thrice)
    failed = judge_with_retries(Flaky(3), "?", ["1"], "1", 3, lambda: None)
    assert isinstance(failed, Unjudged) and "no verdict" in failed.reason and failed.usage == thrice
