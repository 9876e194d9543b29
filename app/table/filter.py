"""Filters over rows: what an expression means. `app.table.filter_parser` reads it from text.

An expression is a tree of comparisons and words, made into a predicate for a kind of rows by
`predicate`. A value that is not there (an example not evaluated yet, a score of an entry that was not probed)
matches neither a comparison nor its negation; ``field:none`` asks for it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Literal, TypeAlias

Value: TypeAlias = str | float | bool | None
Kind = Literal["number", "text", "flag"]
Predicate: TypeAlias = Callable[[int], bool | None]
"""For a row: True where it matches, False where not, None where a value is missing."""


@dataclass(frozen=True)
class Field:
    """A name that expressions may use. `late`: its values change after the row has come."""

    name: str
    kind: Kind
    help: str
    late: bool = False


@dataclass(frozen=True)
class Word:
    """A row that mentions the text."""

    text: str


@dataclass(frozen=True)
class Compare:
    """A row whose field stands in a relation to a value: ``= != < <= > >=``, ``~`` for contains."""

    field: Field
    relation: str
    value: str | float | bool


@dataclass(frozen=True)
class Missing:
    """A row that has no value in the field: ``score:none``."""

    field: Field


@dataclass(frozen=True)
class Not:
    """The opposite."""

    inner: Expression


@dataclass(frozen=True)
class And:
    """Both."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Or:
    """Either."""

    left: Expression
    right: Expression


Expression: TypeAlias = Word | Compare | Missing | Not | And | Or


class Rows:
    """What a filter needs to know about a kind of rows; subclasses answer from their state."""

    def getter(self, field: str) -> Callable[[int], Value]:
        """How to get at a field of a row, by number."""
        raise NotImplementedError

    def mentions(self, word: str) -> Callable[[int], bool]:
        """Whether a row mentions `word` (already lower case)."""
        raise NotImplementedError


def predicate(expression: Expression, rows: Rows) -> Predicate:
    """The expression as one function of a row's number."""
    match expression:
        case Word(text):
            return rows.mentions(text.lower())
        case Compare(field, relation, value):
            return _compare(rows.getter(field.name), relation, value)
        case Missing(field):
            get = rows.getter(field.name)
            return lambda row: _absent(get(row))
        case Not(inner):
            return _not(predicate(inner, rows))
        case And(left, right):
            return _and(predicate(left, rows), predicate(right, rows))
        case Or(left, right):
            return _or(predicate(left, rows), predicate(right, rows))


def words(expression: Expression | None) -> list[str]:
    """The plain words that a match mentions, to be highlighted."""
    match expression:
        case Word(text):
            return [text]
        case And(left, right) | Or(left, right):
            return words(left) + words(right)
        case _:
            return []


def parts(expression: Expression | None) -> Iterator[Word | Compare | Missing]:
    """Comparisons and words of an expression, also those that are denied."""
    match expression:
        case Not(inner):
            yield from parts(inner)
        case And(left, right) | Or(left, right):
            yield from (*parts(left), *parts(right))
        case Word() | Compare() | Missing():
            yield expression


def fields(expression: Expression | None) -> Mapping[str, Field]:
    """The fields in use, by name."""
    return {part.field.name: part.field for part in parts(expression) if not isinstance(part, Word)}


_RELATIONS: Mapping[str, Callable[..., bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _absent(value: Value) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _compare(get: Callable[[int], Value], relation: str, target: str | float | bool) -> Predicate:
    holds = _RELATIONS[relation] if not isinstance(target, str) else _text_relation(relation, target)

    def test(row: int) -> bool | None:
        value = get(row)
        return None if _absent(value) else holds(value, target)

    return test


def _text_relation(relation: str, target: str) -> Callable[..., bool]:
    """Names are compared without case, as they are shown: with blanks for ``_``. ``*`` stands for anything."""
    low = target.lower().replace("_", " ")
    if relation == "~":
        return lambda value, _: low in str(value).lower().replace("_", " ")
    pattern, equal = re.compile(".*".join(map(re.escape, low.split("*"))), re.DOTALL), relation == "="
    return lambda value, _: (pattern.fullmatch(str(value).lower().replace("_", " ")) is not None) is equal


def _not(inner: Predicate) -> Predicate:
    def test(row: int) -> bool | None:
        value = inner(row)
        return None if value is None else not value

    return test


def _and(left: Predicate, right: Predicate) -> Predicate:
    def test(row: int) -> bool | None:
        a = left(row)
        if a is False:
            return False
        b = right(row)
        return a if b else b

    return test


def _or(left: Predicate, right: Predicate) -> Predicate:
    return _not(_and(_not(left), _not(right)))


def quoted(text: str) -> str:
    """As it is typed in a filter, whatever is in it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
