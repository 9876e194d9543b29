"""The offline judge, by example."""

from __future__ import annotations

import pytest

from engine.evolution.history import Usage
from engine.evolution.judge import JudgeFailed, NumericJudge, Unjudged, Verdict, judge_retrying, quantities


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

    once = Usage(calls=1, tokens=7)
    thrice = Usage(calls=3, tokens=21)
    assert judge_retrying(Flaky(2), "?", ["1"], "1", 3, lambda: None) == Verdict(True, "fine", thrice)
    failed = judge_retrying(Flaky(3), "?", ["1"], "1", 3, lambda: None)
    assert isinstance(failed, Unjudged) and "no verdict" in failed.reason and failed.usage == thrice
