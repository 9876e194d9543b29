"""The offline judge, by example."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evolution.judges.asked import as_asked
from engine.evolution.judges.judge import JudgeFailed, Verdict, judge_with_retries
from engine.evolution.judges.numeric_judge import NumericJudge
from engine.evolution.judges.polarity import _asked, _implied, direction_of_answer
from engine.evolution.judges.quantities import quantities
from engine.evolution.judges.scope import JudgeScope
from engine.evolution.judges.stated import _without, stated
from engine.servers.spent import Spent


@pytest.mark.parametrize(
    ("text", "value"),
    [("(1,234.5)", -1234.5), ("(1,234 in all)", 1234), ("1,234)", 1234), ("-3", -3), ("($3)", -3)],
)
def test_both_parentheses_make_a_figure_negative(text: str, value: float) -> None:
    (figure,) = quantities(text)
    assert figure.plain == value


@pytest.mark.parametrize(
    ("text", "year"),
    [("2019", True), ("(2019)", True), ("1899", False), ("1900", True), ("2100", True), ("2101", False),
     ("$2019", False), ("2019%", False), ("2,019", False), ("2019.5", False), ("2 thousand", False)],
)  # fmt: skip
def test_four_bare_digits_are_a_year(text: str, year: bool) -> None:
    """In parentheses, too, which would make another figure negative."""
    (figure,) = quantities(text)
    assert figure.year is year


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 thousand", 2e3), ("2 million", 2e6), ("2 billion", 2e9), ("2 trillion", 2e12), ("2k", 2e3), ("2m", 2e6),
        ("2mm", 2e6), ("2mn", 2e6), ("2bn", 2e9), ("2b", 2e9), ("2 BN", 2e9), ("2 kg", 2), ("2 millions", 2),
        ("US$2", 2), ("€ 2", 2), ("£-2", -2), ("-$2", -2), ("\u22122", -2), (".25", 0.25), ("1,234,567.5", 1234567.5),
        ("1234.50", 1234.5),
    ],
)  # fmt: skip
def test_a_figure_is_read_with_its_scale_currency_and_sign(text: str, value: float) -> None:
    (figure,) = quantities(text)
    assert figure.value == value and figure.scaled is (value >= 2e3 and text[0] == "2")


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("5%", True), ("5 %", True), ("5 percent", True), ("5 per cent", True), ("5 pp", True),
        ("5 percentage points", True), ("5 percentage-points", True), ("5 points", False),
        ("5 percents", False),
    ],
)  # fmt: skip
def test_a_share_is_told_in_many_ways(text: str, percent: bool) -> None:
    (figure,) = quantities(text)
    assert figure.percent is percent and figure.plain == 5


@pytest.mark.parametrize(
    "text",
    [
        *(f"{month} 12" for month in (
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December", "Jan.", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov",
            "Dec",
        )),
        "31st December", "1 May", "May 2nd", "March 3rd", "10-K", "5-year", "Note 12", "notes 3", "7. ", "12) ",
        "FY22", "A4",
    ],
)  # fmt: skip
def test_days_forms_notes_and_numbers_of_a_list_are_no_figures(text: str) -> None:
    assert quantities(f"{text} text") == []


def test_a_form_behind_a_comma_is_no_figure() -> None:
    assert quantities("See the filing, 10-K, and of its notes, 5-year ones.") == []


def test_a_month_beside_a_share_or_a_fraction_leaves_it_a_figure() -> None:
    assert [one.text for one in quantities("in May 12% and in June 3.5")] == ["12%", "3.5"]


@pytest.mark.parametrize(
    "word",
    [
        "declined", "decreased", "fell", "falling", "dropped", "down", "negative", "loss", "losses", "lost", "lower",
        "reduced", "shrank", "shrinks", "shrunk",
    ],
)  # fmt: skip
def test_each_word_for_falling_is_known(word: str) -> None:
    (figure,) = quantities(f"It {word} by 3")
    assert figure.falls


@pytest.mark.parametrize(
    ("text", "falls"),
    [
        ("Sales fell by 3 in all the regions in which goods are sold at all.", True),
        ("In all the regions in which goods are sold at all sales fell by 3.", True),
        ("A loss of about 3.", True), ("A decline of about another 3.", False), ("Sales rose by 3.", False),
        (f"It dropped {'x' * 30} 3", True), (f"It dropped {'x' * 36} 3", False),
    ],
)  # fmt: skip
def test_a_figure_falls_where_a_word_close_before_it_says_so(text: str, falls: bool) -> None:
    """With at most two words and 40 characters between them."""
    (figure,) = quantities(text)
    assert figure.falls is falls


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        ("It rose at first. The weather was fine. Therefore it fell.", -1), ("It rose. It fell.", -1),
        ("It fell. Nobody knows why.", -1), ("Here is what happened: it rose. It fell. Nobody knows why.", -1),
        ("It rose and fell. It rose.", 1), ("Nobody knows. It rose. Nobody asks.", 1), ("Nobody knows.", 0), ("", 0),
    ],
)  # fmt: skip
def test_the_direction_of_an_answer_is_that_of_the_last_sentence_that_decides(answer: str, way: int) -> None:
    """Or of the first that has one, where none of those has."""
    assert direction_of_answer(answer) == way


def test_of_figures_that_are_all_left_out_all_are_kept() -> None:
    one, two = quantities("3 and 4")
    assert _without([one, two], {one.start}) == [two]
    assert _without([one, two], {one.start, two.start}) == [one, two]


@pytest.mark.parametrize(
    ("answer", "gold", "found"),
    [
        ("It rose by 2, from 39 to 41. Debt was 7.", "5", ["2", "7"]),
        ("It was 3, not 4. Debt was 7.", "5", ["3", "7"]),
        ("It was 3 or 4. Debt was 7, up from 8.", "5", ["7"]),
        ("It was 3. Debt was 4. Staff was 3, and 9 in 2019.", "5", ["3", "3", "9"]),
        ("It was 3 in 2018.", "2019", ["2018"]),
        ("It was 3 in 2018.", "5", ["3"]),
        ("Costs were 5%. Sales were 3, 4 and 6.", "5 and 6", ["5%", "4", "6"]),
        ("Costs were 5%, sales 3.", "5% and 6%", ["5%", "3"]),
        ("Nobody knows. It rose by 2, from 39 to 41.", "5", ["2", "41"]),
        ("It was 3. Staff was 4. Debt was 7.", "5 and 5", ["3", "7"]),
        ("It was 3, then 12, then 5%. Staff was 9, debt 8.", "12 and 5%", ["9", "8"]),
        ("Nothing was said.", "5", []),
    ],
)
def test_the_figures_that_an_answer_comes_to(answer: str, gold: str, found: list[str]) -> None:
    """The last ones of all, and the first sentence's where it has no more than are wanted."""
    assert [number.text for number in stated(answer, quantities(gold))] == found


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["Revenue did grow.", "Revenue did not grow."], "no"), (["Revenue did not grow.", "Revenue did grow."], "yes"),
        (["Revenue did not grow.", "Costs grew."], "no"), (["It rains."], ""),
    ],
)  # fmt: skip
def test_of_sentences_that_repeat_the_question_alike_the_last_counts(parts: list[str], said: str) -> None:
    assert _implied(_asked("Did revenue grow?"), parts) == said


TREES = "oak elm fir ash yew box fig gum tea bay"


@pytest.mark.parametrize(
    ("asked", "part", "said"),
    [
        (10, "The oak, the elm and the fir stand.", "yes"), (10, "The oak and the elm stand.", ""),
        (4, "The oak and the elm do not stand.", "no"), (4, "The oak stands.", ""),
        (3, "The oak stands.", "yes"), (3, "The yew stands.", ""),
    ],
)  # fmt: skip
def test_a_sentence_is_about_what_is_asked_where_it_repeats_three_words_of_ten(
    asked: int, part: str, said: str
) -> None:
    """And at least one."""
    assert _implied(set(TREES.split()[:asked]), [part]) == said


@pytest.mark.parametrize(
    ("gold", "asked"),
    [
        ("12.5", 12.5e6),
        ("$1,577", 1577e6),
        ("(45)", -45e6),
        ("12.5%", 12.5),
        ("3 percent", 3),
        ("2 billion", 2e9),
        ("2018", 2018),
    ],
)
def test_a_figure_without_a_scale_is_in_the_one_that_the_question_asks_for(gold: str, asked: float) -> None:
    """A share, a year and a figure with a scale of its own stay as they are."""
    (figure,) = quantities(gold)
    assert as_asked("How much was it, in millions?", figure).value == asked
    assert as_asked("How much was it?", figure) == figure


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
        ("39", "It is 41, not 39.", False),
        ("41", "It may be 39, 40, 41 or 42.", False),
        ("41", "Cash was 39, then rose by 2 to 41.", True),
        ("41", "It is 41, not 39.", True),
        ("41", "Cash was 41 in 2022 (see page of 2023).", True),
        ("41", "The answer is 41, up from 39 in 2021.", True),
        ("41", "The answer is 39. No: the final answer: 41, up from 39.", True),
        ("41", "Cash was 41 million, that is 41,000,000.", True),
        ("2019", "It was founded in 2019.", True),
        ("12 and 15", "First 12, then 15.", True),
        ("12 and 15", "First 12, then 15, then 18.", False),
        ("41 in fiscal 2022", "41", True),
        ("2", "It rose by 2, from 39 to 41.", True),
        ("2", "It fell by 3, from 44 to 41.", False),
        ("2", "It rose by 2, from 39 to 41. Debt was 7.", True),
        # the first claim counts beside the last figure, if it says no more than is wanted
        ("41", "Cash was 41 million. Debt was 39 million.", True),
        ("41", "Cash was 41 or 43 million. Debt was 39 million.", False),
        ("41", "Cash was 41 million. It stands in the balance sheet of December 31, 2018.", True),
        ("41", "Cash was 41 million, says the 10-K of its 5-year plan, Note 12.", True),
        (
            "4.5% and 3.1%",
            "Sales grew 4.5% here. Margins were 9.9%. Abroad they grew 3.1%, and 2.2% in all.",
            True,
        ),
        (
            "4.5% and 3.1%",
            "Sales grew 4.5% here. Margins were 9.9%. Abroad they grew 3.0%, and 2.2% in all.",
            False,
        ),
        ("4.5% and -3.1%", "Here it grew by 4.5%, abroad there was a decline of 3.1%.", True),
        # rounding to the decimals of the gold answer
        ("0.4", "It was 0.389.", True),
        ("0.4", "It was 0.34.", False),
        ("0.7", "It was 0.75.", True),
        ("7", "It was 7.4.", False),
        # yes and no
        ("No", "No, cash did not grow.", True),
        ("No", "Yes, it did.", False),
        ("Yes", "Nothing is said of that.", False),
        # what figures are worked out from is not what the answer comes to
        ("0.68", "The ratio is 0.68 (5,121.3 / 7,491.5).", True),
        ("0.68", "The ratio is 0.68 ($5,121.3 million ÷ $7,491.5 million).", True),
        ("0.68", "It is 0.68, as assets of 5,121.3 are divided by debts of 7,491.5.", True),
        ("0.68", "Assets (5,121.3) over debts (7,491.5): 5,121.3 / 7,491.5 = 0.68", True),
        ("0.68", "Answer: 5,121.3 / 7,491.5 = 0.68", True),
        ("7,491.5", "The ratio is 0.68 (5,121.3 / 7,491.5).", False),
        ("41", "It was 41 (100 - 59).", True),
        ("41", "It was 41 million, that is 100 million minus 59 million.", True),
        ("41", "Cash was 41 million \u2013 up from 39 million.", True),
        ("9.5", "It was sold 9.5 times, up from 8.1 times.", True),
        # a change is told in many orders
        ("1 percentage point", "It rose by 1 percentage point, from 8 percent to now 9 percent.", True),
        (
            "1 percentage point",
            "It rose from 8 percent to as much as 9 percent, i.e. by 1 percentage point.",
            True,
        ),
        ("1 percentage point", "It rose by 2 percentage points: it was 7% and is now 9%.", False),
        ("2%", "It rose 2%, from 8 percent to now 10 percent.", True),
        ("7%", "Of the 90% it was 5-7%.", True),
        ("9%", "It rose by 1 percentage point, from 8 percent to now 9 percent.", True),
        ("0.2%", "It fell by 0.2 percentage points.", True),
        ("decline of 0.2%", "There was a decline of -0.2%.", False),
        ("0.2%", "It fell by 0.3 percentage-points.", False),
        # tables in thousands
        ("2.5 million", "It was 2,500.", True),
        ("2.5 million", "It was 2,600.", False),
        ("2.5 million", "It was 2,500 million.", False),
        ("2,500", "It was 2.5 million.", False),
    ],
)
def test_verdicts(gold: str, answer: str, right: bool) -> None:
    verdict = NumericJudge(0.001).judge("?", [gold], answer)
    assert verdict.correct == right
    assert verdict.reasoning


@pytest.mark.parametrize(
    ("question", "gold", "answer", "right"),
    [
        # in the unit that the question asks for
        ("What was cash? Answer in USD millions.", "5818", "It was $5.818 billion.", True),
        ("What was cash? Answer in USD millions.", "5818", "It was $5.918 billion.", False),
        ("What was cash in USD billions?", "0.4", "It was $389 million.", True),
        # but not a share, a year, or what says its own unit
        ("How much did cash grow, which is told in USD millions?", "5.8%", "It grew by 5.8%.", True),
        ("Cash is told in USD millions: when was it highest?", "2019", "It was highest in 2019.", True),
        ("What was cash in USD millions?", "5.8 billion", "It was $5.8 billion.", True),
        ("What is the ratio?", "0.8", "The ratio is 0.84.", True),
        # yes and no
        ("Did cash grow in 2020?", "Yes, by 3%.", "To see if cash grew we compare the years. Cash grew in 2020.", True),
        ("Did cash grow in 2020?", "Yes, by 3%.", "Cash did not grow in 2020.", False),
        ("Did cash grow in 2020?", "No.", "Therefore, cash declined in 2020.", True),
        ("Did cash grow in 2020?", "Yes.", "Therefore, cash declined in 2020.", False),
        ("Is the firm healthy?", "No.", "The firm is unhealthy.", True),
        ("Is trade seasonal?", "Yes", "Trade is seasonal, although prices do not follow.", True),
        ("Is trade seasonal?", "No", "Some say so. The answer is no.", True),
        ("Is trade seasonal?", "Yes", "Oaks grow slowly. Elms are tall.", False),
        ("Is trade subject to seasonality?", "Yes", "Oaks are seasonal, and so are elms.", True),
        # modal verbs, lacks, and negations that are none
        ("Will growth accelerate?", "No", "Growth may not accelerate.", True),
        ("Will growth accelerate?", "Yes", "Growth may not accelerate.", False),
        ("Will growth accelerate?", "Yes", "Growth could accelerate.", True),
        (
            "Is growth in Oaks' EPS expected to accelerate in 2023?", "No",
            "EPS of Oaks is expected to grow by 3.5% in 2023. This suggests that growth may not accelerate.", True,
        ),
        ("Will growth accelerate?", "No", "Growth is likely to decelerate.", True),
        ("Will growth accelerate?", "No", "Growth is unlikely to accelerate.", True),
        ("Did trade recover?", "No", "Trade failed to recover.", True),
        ("Did trade recover?", "Yes", "Trade did not only recover but grew.", True),
        ("Did trade recover?", "Yes", "There is no doubt that trade did recover.", True),
        (
            "Has Oaks increased its debt on the balance sheet in this period?", "No",
            "Oaks has decreased debt by 3.", True,
        ),
        (
            "Is growth in the Oaks and Elms Trading Company's EPS expected to accelerate in FY2023?", "No",
            "EPS of Oaks is expected to grow by 3.5%. This suggests that growth may not accelerate.", True,
        ),
        # a heading announces, and what concludes counts more than what comes first or last
        ("Has debt increased?", "No", "According to the sheet on debt:\nDebt has decreased by 3.", True),
        ("Is trade seasonal?", "No", "Trade is seasonal here. So trade is not seasonal. It rains there.", True),
        ("Is trade seasonal?", "No", "Trade is not seasonal. Boats are seasonal goods of our trade.", True),
        # what stands around the sentence that answers is padding
        (
            "Is trade seasonal?", "Yes",
            "Here is what the report says. Yes, trade is seasonal. Please note that this may be rounded.", True,
        ),
        ("Did it rise or fall?", "fell", "Based on the report, it can be said. It fell by 3. Please note this.", True),
        ("Did it rise or fall?", "fell", "It rose by 3.", False),
        # refusals
        ("Is trade seasonal?", "No", "There is no specific information on whether trade is seasonal.", False),
        ("Is trade seasonal?", "Yes", "The text does not say whether trade is seasonal.", False),
        ("Is trade seasonal?", "Yes", "I cannot determine whether trade is seasonal.", False),
        ("Is trade seasonal?", "No", "I cannot determine whether trade is seasonal.", False),
        # what follows the sentence that concludes is a caveat
        (
            "Is trade seasonal?", "Yes",
            "It varies. Therefore, trade is seasonal. I cannot determine the months.", True,
        ),
        (
            "Is trade seasonal?", "Yes",
            "The report does not provide monthly figures. Therefore, trade is seasonal by its quarters.", True,
        ),
    ],
)  # fmt: skip
def test_what_is_asked_counts(question: str, gold: str, answer: str, right: bool) -> None:
    verdict = NumericJudge(0.001).judge(question, [gold], answer)
    assert verdict.correct == right, verdict.reasoning


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("What does the firm sell?", "Boats and oars"),
        ("Which branch shrank?", "The branch for oars shrank by 0.9%"),
        ("What changed?", "3 branches were closed, and the branch for boats moved to another harbour nearby"),
        ("Is trade healthy by its ratio? If the ratio is not meaningful, say so.", "Yes, it is 1.2."),
        ("Is trade healthy? If that is not what one asks of a bank, then state that.", "Yes"),
        ("What is the nature of the debt?", "87% of it is owed to staff"),
        ("What drove sales?", "Sales grew by 4% abroad"),
        ("What changes are forecast?", "More of the types 737 and 787"),
        ("Was there any change in the number of shops?", "Yes, from 982 to 969 by closing"),
        ("Is trade seasonal, and if so, when?", "Yes, in May"),
        ("Is trade seasonal?", "Yes, boats sell mostly before holidays"),  # five new words
        ("Is trade seasonal?", "Yes, as boats and oars are mostly bought before holidays, and masts never"),
    ],
)
def test_it_says_where_it_cannot_tell(question: str, gold: str) -> None:
    """By question and gold answer alone: whatever is answered, so that no answer escapes by its form."""
    judge = NumericJudge(0.01)
    assert judge.cannot_tell(question, [gold])
    for answer in (gold, "", "I cannot tell.", "Yes, 0.9%."):
        assert judge.judge(question, [gold], answer).correct is None
    assert judge.cannot_tell(question, ["41", gold]), "one of several gold answers is enough"
    assert judge.judge(question, ["41", gold], "41").correct is None
    assert not judge.cannot_tell("What is the amount?", ["41"])


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("Is there any trade?", "Yes"),  # nothing more is said
        ("Is there any trade?", "No, neither here nor abroad"),  # there is none to name
        ("Is trade seasonal?", "Yes, boats sell before holidays"),  # four new words
        ("What is the nature of the debt, in percent?", "87%"),
        ("How much did sales grow?", "They grew by about 4% in all"),
    ],
)
def test_it_can_tell_where_little_stands_beside_what_it_compares(question: str, gold: str) -> None:
    assert not NumericJudge(0.01).cannot_tell(question, [gold])


def test_tolerance_is_relative() -> None:
    assert NumericJudge(0.05).judge("?", ["100"], "about 104").correct
    assert not NumericJudge(0.05).judge("?", ["100"], "about 106").correct
    assert not NumericJudge(0.0).judge("?", ["100"], "100.1").correct
    assert NumericJudge(0.0).judge("?", ["35%"], "0.35").correct, "0.01 * 35 is not quite 0.35"


def test_tolerance_is_absolute_where_the_gold_is_nothing() -> None:
    assert NumericJudge(0.01).judge("?", ["0"], "It changed by 0.005.").correct
    assert not NumericJudge(0.01).judge("?", ["0"], "It changed by 0.02.").correct
    assert NumericJudge(0.0).judge("?", ["$0"], "0 million").correct
    assert NumericJudge(0.01).judge("?", ["0.0"], "It changed by 0.04.").correct, "rounded to one decimal"
    assert not NumericJudge(0.01).judge("?", ["0.0"], "It changed by 0.06.").correct


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


@pytest.mark.parametrize(
    "piece",
    [
        "1. ",
        "from 1 to 2 ",
        "! ",
        "\n ",
        "no, ",
        "( ",
        "1,111",
        "answer is ",
        "St. ",
        "not 5 ",
        "text does ",
        "the ",
    ],
)
def test_a_long_answer_is_judged_in_linear_time(piece: str) -> None:
    """30,000 characters of each take tenths of a second; where a pattern is quadratic, many seconds."""
    answer, judge = piece * (30_000 // len(piece)), NumericJudge(0.01)
    began = time.process_time()
    for gold in ("41", "4.5% and 3.1%", "Yes", "fell"):
        judge.judge("Did cash rise or fall?", [gold], answer)
    assert time.process_time() - began < 4


def test_any_gold_answer_will_do() -> None:
    """The reason is that of the one that it meets, or of the first."""
    judge = NumericJudge(0.0)
    met, missed = judge.judge("?", ["7", "8"], "It is 8."), judge.judge("?", ["7", "9"], "It is 8.")
    assert (met.correct, met.reasoning) == (True, "answered 8 within 0.00%")
    assert (missed.correct, missed.reasoning) == (False, "7 is not what was answered: 8")


@pytest.mark.parametrize(
    ("question", "gold", "answer", "right", "why"),
    [
        ("What is the margin?", "41 million", "It is 41 million.", True, "answered 41 million within 1.00%"),
        ("What is the margin?", "41 million", "It is 43.", False, "41 million is not what was answered: 43"),
        ("What is the margin?", "41", "It is high.", False, "41 is not what was answered: no number"),
        ("Is it seasonal?", "Yes", "No, it is not.", False, "the answer says no, the gold answer yes"),
        ("Is it seasonal?", "Yes", "Boats.", False, "the answer says neither yes nor no, the gold answer yes"),
        ("Did it rise or fall?", "rose", "It fell.", False, "the answer points down, the gold answer up"),
        ("Did it rise or fall?", "fell", "It fell.", True, "the answer points down, the gold answer down"),
        (
            "Did it rise or fall?", "fell", "Boats.", False,
            "the answer points neither up nor down, the gold answer down",
        ),
        ("Is it seasonal?", "Yes", "I do not know.", False, "the answer says that it does not know"),
        (
            "What does it sell?", "Boats and oars", "Boats.", None,
            "cannot tell: the gold answer is neither figures, nor yes or no, nor a direction, but a text",
        ),
    ],
)  # fmt: skip
def test_a_verdict_says_why(question: str, gold: str, answer: str, right: bool | None, why: str) -> None:
    verdict = NumericJudge(0.01).judge(question, [gold], answer)
    assert (verdict.correct, verdict.reasoning) == (right, why)


def test_what_a_judge_cannot_judge_is_told_in_a_sentence() -> None:
    assert JudgeScope(30, 0, "").warning("numeric") == ""
    assert JudgeScope(30, 4, "a text").warning("numeric") == (
        "4 of 30 questions are outside what the judge numeric can judge (a text): their answers are counted, not scored"
    )


def test_what_stands_in_a_text() -> None:
    found = quantities("FY2022: $ 412 million, (1,234.5), 3.2bn and 5%")
    assert [(q.value, q.percent) for q in found] == [
        (412e6, False),
        (-1234.5, False),
        (3.2e9, False),
        (5.0, True),
    ]


def test_a_failure_for_good_is_not_tried_again() -> None:
    class Locked:
        name = "locked"
        asked = 0

        def judge(self, question: str, golds: object, answer: str) -> Verdict:
            self.asked += 1
            failed = JudgeFailed(what="401")
            failed.final, failed.spent = True, Spent(calls=1, tokens=7)
            raise failed

        def cannot_tell(self, question: str, golds: object) -> str:
            return ""

    judge = Locked()
    refused = Verdict(None, "401", Spent(calls=1, tokens=7), failed=True)
    assert judge_with_retries(judge, "?", ["1"], "1", 3) == refused
    assert judge.asked == 1


def test_an_answer_without_a_word_is_wrong_and_no_judge_is_asked() -> None:
    class Asked:
        name = "asked"

        def judge(self, question: str, golds: object, answer: str) -> Verdict:
            raise AssertionError("it was asked")

        def cannot_tell(self, question: str, golds: object) -> str:
            return "texts" if question == "text?" else ""

    for answer in ("", "  \n"):
        found = judge_with_retries(Asked(), "?", ["41"], answer, 3)
        assert isinstance(found, Verdict) and found.correct is False
    with pytest.raises(AssertionError):
        judge_with_retries(Asked(), "text?", ["Boats"], "", 3)


def test_failures_are_retried_then_told() -> None:
    class Flaky:
        """Every call takes a token."""

        name = "flaky"

        def __init__(self, failures: int) -> None:
            self.left = failures

        def cannot_tell(self, question: str, golds: object) -> str:
            return ""

        def judge(self, question: str, golds: object, answer: str) -> Verdict:
            self.left -= 1
            if self.left >= 0:
                failed = JudgeFailed(what="no verdict", where="here", hint="try again")
                failed.spent = once
                raise failed
            return Verdict(True, "fine", once)

    once = Spent(calls=1, tokens=7)
    thrice = Spent(calls=3, tokens=21)
    assert judge_with_retries(Flaky(2), "?", ["1"], "1", 3) == Verdict(True, "fine", thrice)
    failed = judge_with_retries(Flaky(3), "?", ["1"], "1", 3)
    assert (
        failed.failed
        and not failed.cannot_tell
        and "no verdict" in failed.reasoning
        and failed.usage == thrice
    )
