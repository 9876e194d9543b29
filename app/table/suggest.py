"""Why a filter finds nothing: values that no row has, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.filter import And, Between, Compare, Expression, Flag, Missing, Not, Or, Word
from app.wording.text import listed

_COLUMNS = ("method", "example", "chosen", "entry", "gate", "phase", "ended")
_MOST_NAMED = 8


def reasons(
    expression: Expression | None, values: Callable[[str], list[str]], noun: str = "decision"
) -> list[str]:
    """A sentence for each value in `expression` that no row has. `values`: what the rows have in a field of names;
    `noun`: what a row is."""
    sentences = []
    for compare in _texts(expression):
        known = values(compare.field.name)
        target = str(compare.value)
        if known and target.lower() not in {value.lower() for value in known}:
            sentences.append(f"No {noun} has {compare.field.name} {target}. {_instead(target, known)}")
    return sentences


def values_of(state: ESMState, field: str) -> list[str]:
    """What the decisions have in a field of names; nothing for other fields."""
    if field not in _COLUMNS:
        return []
    decisions = state.decisions
    numbers = set(decisions.column("chosen" if field == "entry" else field)[: len(decisions)])
    name = state.entry_name if field == "chosen" else str
    return ["null" if number == NULL else name(decisions.names.texts[number]) for number in sorted(numbers)]


def _instead(target: str, known: list[str]) -> str:
    lower = {value.lower(): value for value in known}
    near = difflib.get_close_matches(target.lower(), lower, n=3, cutoff=0.5)
    near += [value for value in lower if value not in near and target.lower() in value][: 3 - len(near)]
    if near:
        return f"Is it {listed([lower[value] for value in near], 'or')}?"
    if len(known) <= _MOST_NAMED:
        return f"There is {listed(known, 'or')}."
    return f"There are {len(known):,} others, such as {known[0]}."


def _texts(expression: Expression | None) -> Iterator[Compare]:
    """The comparisons that a name has to equal."""
    match expression:
        case Compare(_, "=", str(value)) if "*" not in value:
            yield expression
        case And(left, right) | Or(left, right):
            yield from _texts(left)
            yield from _texts(right)
        case None | Word() | Flag() | Compare() | Between() | Missing() | Not():
            return
