"""Filter expressions: what they mean, and that nothing typed can do worse than a message with a place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.table.filter import (
    And,
    Compare,
    Expression,
    Field,
    Missing,
    Not,
    Or,
    Rows,
    Value,
    Word,
    _and,
    _not,
    _or,
    fields,
    predicate,
    quoted,
    words,
)
from app.table.filter_parser import FilterError, complete, parse

FIELDS = {
    f.name: f
    for f in (
        Field("alpha", "number", ""),
        Field("m", "number", ""),
        Field("method", "text", ""),
        Field("chosen", "text", ""),
        Field("correct", "flag", "", late=True),
    )
}
ROWS: list[dict[str, Value]] = [
    {"alpha": 0.8, "m": 2, "method": "esm", "chosen": "wrong-0012", "correct": True},
    {"alpha": 0.0, "m": 3, "method": "esm", "chosen": "null", "correct": False},
    {"alpha": float("nan"), "m": 3, "method": "greedy", "chosen": "null", "correct": None},
]
TEXTS = ["Ana has 7 apples", "Ben counts marbles", "and not a word"]


class ListRows(Rows):
    """Rows from a list of dictionaries."""

    def getter(self, field: str) -> Callable[[int], Value]:
        return lambda row: ROWS[row][field]

    def mentions(self, word: str) -> Callable[[int], bool]:
        return lambda row: word in TEXTS[row].lower()


def matching(text: str) -> list[int]:
    expression = parse(text, FIELDS)
    assert expression is not None
    test = predicate(expression, ListRows())
    return [row for row in range(len(ROWS)) if test(row)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("correct and alpha>0.5", [0]),
        ("chosen:null", [1, 2]),
        ("chosen:wrong-*", [0]),
        ("chosen!=wrong-*", [1, 2]),
        ("chosen:*ull", [1, 2]),
        ("chosen:*ul", []),
        ("chosen!=*ul", [0, 1, 2]),
        ("chosen~0012", [0]),
        ("method:ESM m>=3", [1]),
        ("m:2..2 or method:greedy", [0, 2]),
        ("m:3 and (alpha<1 or correct)", [1]),
        ("apples", [0]),
        ('"has 7"', [0]),
        ('"and"', [2]),
        ("!apples", [1, 2]),
        ("-apples marbles", [1]),
        ("not correct", [1]),
        ("correct:no", [1]),
        ("correct!=no", [0]),
        ("correct:unknown", [2]),
        ("alpha:none", [2]),
        ("alpha!=none", [0, 1]),
        ("alpha>-1", [0, 1]),
        ("alpha == 0.8", [0]),
        ("NOT m=3 OR alpha : none", [0, 2]),
    ],
)
def test_meaning(text: str, rows: list[int]) -> None:
    """The examples of the help mean what they say."""
    assert matching(text) == rows


@pytest.mark.parametrize("text", ["alpha>0.5", "alpha<=0.5", "alpha!=3", "alpha:0..1"])
def test_a_missing_value_matches_neither_a_comparison_nor_its_negation(text: str) -> None:
    """Row 2 has no alpha: it is not among those with a small one, nor among those without a large one."""
    assert 2 not in matching(text)
    assert 2 not in matching(f"not ({text})")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("alpha>", 6, "a value is missing"),
        ("m>=3 alpha>high", 11, "`high` is not a number"),
        ("m:2..x", 5, "`x` is not a number"),
        ('alpha:"none"', 6, "`none` is not a number"),
        ("alhpa>1", 0, "is it `alpha`?"),
        ("zzz:1", 0, "no field `zzz`"),
        ("method>3", 6, "is text"),
        ("correct:maybe", 8, "neither yes, no nor none"),
        ("(m:3", 0, "not closed"),
        ("m:3)", 3, "closes nothing"),
        ("m:3 and", 7, "missing at the end"),
        ("or m:3", 0, "missing before `or`"),
        ('m:3 "open', 4, "not closed"),
        ("alpha", 0, 'needs a comparison such as alpha>0.5; the word is "alpha"'),
        ("method", 0, 'needs a comparison such as method:…; the word is "method"'),
        ("alpha>!3", 6, "a value is missing"),
        ("correct>yes", 7, "`correct` is yes or no: it takes `:` and `!=`"),
        ("alpha~1", 5, "is a number"),
        ("alpha>inf", 6, "not a number that can be compared"),
        ("(" * 100 + "m:3", 61, "too many levels"),
        ("a " * 5000, 400, "too long"),
    ],
)
def test_errors_say_where(text: str, position: int, message: str) -> None:
    """A wrong expression is refused with the character at which it goes wrong."""
    with pytest.raises(FilterError) as error:
        parse(text, FIELDS)
    assert error.value.position == position
    assert message in error.value.message
    assert str(error.value) == f"{error.value.message} (at character {position + 1})"


def test_nothing_is_no_filter() -> None:
    """An empty line takes the filter away."""
    assert parse("  ", FIELDS) is None


def test_completion_words_and_fields() -> None:
    """What the filter line completes, the table highlights, and the view has to watch."""
    assert complete("m:3 and al", FIELDS) == ["alpha"]
    assert complete("m", FIELDS) == ["method"]
    assert complete("", FIELDS) == []
    expression = parse("apples (correct or not ben)", FIELDS)
    assert words(expression) == ["apples"]
    assert fields(expression)["correct"].late


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever is typed, the parser returns or raises FilterError with a place inside the text."""
    try:
        parse(text, FIELDS)
    except FilterError as error:
        assert 0 <= error.position <= len(text)


@given(st.text(alphabet='am()":<>=!~-.. 0159corretndph*\\', max_size=30))
def test_any_near_expression_is_read_or_refused(text: str) -> None:
    """The same with an alphabet that comes close."""
    try:
        expression = parse(text, FIELDS)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert expression is None or parse(typed(expression), FIELDS) == expression


def typed(expression: Expression) -> str:
    """How the expression could be typed."""
    match expression:
        case Word(text):
            return quoted(text)
        case Compare(field, relation, value):
            return f"{field.name}{relation}{typed_value(value)}"
        case Missing(field):
            return f"{field.name}:none"
        case Not(inner):
            return f"not ({typed(inner)})"
        case And(left, right):
            return f"({typed(left)} and {typed(right)})"
        case Or(left, right):
            return f"({typed(left)} or {typed(right)})"


def typed_value(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return quoted(value) if isinstance(value, str) else repr(float(value))


_numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
_leaves = st.one_of(
    st.builds(Word, st.text(max_size=8)),
    st.builds(Missing, st.sampled_from(list(FIELDS.values()))),
    st.builds(
        Compare, st.just(FIELDS["alpha"]), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _numbers
    ),
    st.builds(Compare, st.just(FIELDS["method"]), st.sampled_from(["=", "!=", "~"]), st.text(max_size=5)),
    st.builds(Compare, st.just(FIELDS["correct"]), st.sampled_from(["=", "!="]), st.booleans()),
)
_expressions = st.recursive(
    _leaves,
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(And, inner, inner), st.builds(Or, inner, inner)),
    max_leaves=12,
)


@given(_expressions)
def test_written_and_read_again(expression: Expression) -> None:
    assert parse(typed(expression), FIELDS) == expression


@given(_expressions, st.integers(0, 2))
def test_logic_with_unknown(expression: Expression, row: int) -> None:
    """`not`, `and`, `or` follow three-valued logic whatever they hold."""

    def value(e: Expression) -> bool | None:
        return predicate(e, ListRows())(row)

    v = value(expression)
    assert value(Not(expression)) == (None if v is None else not v)
    for other in (Word("apples"), Compare(FIELDS["correct"], "=", True)):
        w = value(other)
        both, either = value(And(expression, other)), value(Or(expression, other))
        assert both == (False if False in (v, w) else None if None in (v, w) else True)
        assert either == (True if True in (v, w) else None if None in (v, w) else False)


@pytest.mark.parametrize(
    ("a", "b", "both", "either"),
    [
        (True, True, True, True), (True, False, False, True), (True, None, None, True),
        (False, True, False, True), (False, False, False, False), (False, None, False, None),
        (None, True, None, True), (None, False, False, None), (None, None, None, None),
    ],
)  # fmt: skip
def test_what_is_not_known_yet_stays_unknown(
    a: bool | None, b: bool | None, both: bool | None, either: bool | None
) -> None:
    """Kleene's three values: so neither `x` nor `not x` lists a row of which x is not known."""
    assert _and(lambda row: a, lambda row: b)(0) is both
    assert _or(lambda row: a, lambda row: b)(0) is either
    assert _not(_or(lambda row: a, lambda row: b))(0) is (None if either is None else not either)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha>", "a value is missing after `alpha>`"),
        ("alpha>!3", "a value is missing"),
        ("zzz:1", "no field `zzz`; ? lists them"),
        ("alhpa>1", "no field `alhpa`; is it `alpha`?"),
        ("method>3", "`method` is text: it takes `:`, `!=` and `~`"),
        ("alpha~1", "`alpha` is a number: it takes `:` `!=` `<` `<=` `>` `>=`"),
        ("correct:maybe", "`maybe` is neither yes, no nor none"),
        ("(m:3", "this `(` is not closed"),
        ("m:3)", "this `)` closes nothing"),
        ("m:3 and", "something is missing at the end"),
        ("or m:3", "a field or a word is missing before `or`"),
        ('m:3 "open', "the quotation mark is not closed"),
        ("m:3 \\ )", "this `)` closes nothing"),
        ("> 3", "a field or a word is missing before `>`"),
        ("alpha>inf", "`inf` is not a number that can be compared"),
        ("m:2..x", "`x` is not a number"),
    ],
)
def test_errors_word_for_word(text: str, message: str) -> None:
    with pytest.raises(FilterError) as error:
        parse(text, FIELDS)
    assert error.value.message == message


@pytest.mark.parametrize(("depth", "refused"), [(60, False), (61, True)])
def test_sixty_levels_and_two_hundred_pieces_are_read(depth: int, refused: bool) -> None:
    for text in ("(" * depth + "m:3" + ")" * depth, "a " * (depth + 140)):
        if refused:
            with pytest.raises(FilterError, match=r"too many levels|too long"):
                parse(text, FIELDS)
        else:
            assert parse(text, FIELDS) is not None


@pytest.mark.parametrize("text", ["AND m:3", "m:3 (Or m:4)", "NOT", "m:3 and OR"])
def test_connecting_words_are_no_words_to_look_for_however_they_are_written(text: str) -> None:
    with pytest.raises(FilterError):
        parse(text, FIELDS)


def test_a_star_stands_for_line_breaks_too() -> None:
    class Texts(Rows):
        def getter(self, field: str) -> Callable[[int], Value]:
            return ("first\nlast", "first", "last").__getitem__

    expression = parse('chosen:"f*t"', FIELDS)
    assert expression is not None
    test = predicate(expression, Texts())
    assert [test(row) for row in range(3)] == [True, True, False]


def test_both_ends_of_a_range_belong_to_it_and_words_of_both_sides_are_marked() -> None:
    assert matching("m:2..3") == [0, 1, 2] and matching("m:3..9") == [1, 2] and matching("m:0..1") == []
    assert words(parse("a or b not c", FIELDS)) == ["a", "b"] and words(None) == []
    assert [*fields(parse("alpha>1 or not (m:3 method:none) or x", FIELDS))] == ["alpha", "m", "method"]
    assert complete("M", FIELDS) == ["method"] and complete("method", FIELDS) == []
    assert quoted('a "b" \\') == '"a \\"b\\" \\\\"'
