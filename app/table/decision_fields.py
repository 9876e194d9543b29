"""The fields of a decision: each with its values, its help and its column in the table.

The filter, the table, its export and the help page are made from `DECISION_FIELDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.column import Column
from app.table.filter import Field, Kind, Value

Getter = Callable[[int], Value]
"""The value of a decision, by its number."""


@dataclass(frozen=True, kw_only=True)
class DecisionField(Field):
    """`getter`: how to read the field in a state; `column`: in the table, None for a field without a column."""

    getter: Callable[[ESMState], Getter]
    column: Column | None = None


def outcome(state: ESMState) -> Callable[[int], bool | None]:
    """Whether the answer to a decision's example is right."""
    methods, examples = state.decisions.column("method"), state.decisions.column("example")
    correct = state.outcomes.correct
    return lambda row: correct(methods[row], examples[row])


def sign_against_greedy(state: ESMState) -> Callable[[int], int | None]:
    """1 fixed, -1 broken, 0 as greedy, None not known."""
    methods, examples = state.decisions.column("method"), state.decisions.column("example")
    sign = state.outcomes.against_greedy
    return lambda row: sign(methods[row], examples[row])


def sign_where_it_turned(state: ESMState) -> Callable[[int], int]:
    """The same, but 0 except in the segment in which the answer left greedy's way (the first, where that is not
    known): there it was decided."""
    against_greedy, left = sign_against_greedy(state), _left(state)

    def sign(row: int) -> int:
        difference = against_greedy(row)
        return difference if difference and left(row) else 0

    return sign


def _left(state: ESMState) -> Getter:
    decisions, outcomes = state.decisions, state.outcomes
    methods, examples, segments = (decisions.column(name) for name in ("method", "example", "m"))

    def left(row: int) -> bool:
        answer = methods[row], examples[row]
        return segments[row] == (outcomes.left(*answer) or bool(outcomes.against_greedy(*answer)))

    return left


def _number(column: str) -> Callable[[ESMState], Getter]:
    return lambda state: state.decisions.column(column).__getitem__


def _text(column: str) -> Callable[[ESMState], Getter]:
    def getter(state: ESMState) -> Getter:
        numbers, texts = state.decisions.column(column), state.decisions.names.texts
        return lambda row: "null" if numbers[row] == NULL else texts[numbers[row]]

    return getter


def _chosen(state: ESMState) -> Getter:
    numbers, texts, name = state.decisions.column("chosen"), state.decisions.names.texts, state.entry_name
    return lambda row: "null" if numbers[row] == NULL else name(texts[numbers[row]])


def _steered(state: ESMState) -> Getter:
    numbers = state.decisions.column("chosen")
    return lambda row: numbers[row] != NULL


def _layer(state: ESMState) -> Getter:
    layers = state.decisions.column("layer")
    return lambda row: None if layers[row] == NULL else layers[row]


def _sign(*signs: int) -> Callable[[ESMState], Getter]:
    """Whether the example compares to greedy in one of these ways."""

    def getter(state: ESMState) -> Getter:
        sign_of = sign_against_greedy(state)

        def get(row: int) -> Value:
            sign = sign_of(row)
            return None if sign is None else sign in signs

        return get

    return getter


def _question(state: ESMState) -> Getter:
    example, question = _text("example")(state), state.question
    return lambda row: question(str(example(row))) or None


def _field(
    name: str,
    kind: Kind,
    help: str,
    /,
    *,
    getter: Callable[[ESMState], Getter],
    late: bool = False,
    label: str = "",
    width: int = 0,
    **layout: Any,
) -> DecisionField:
    """A field; with a `label` it is a column of the table."""
    column = Column(name, label, width, help=help, **layout) if label else None
    return DecisionField(name, kind, help, late, getter=getter, column=column)


_FIELDS = (
    _field("method", "text", "greedy, esm or an ablation of it", getter=_text("method"),
           label="method", width=10, priority=5, flex=True),
    _field("example", "text", "the example's id", getter=_text("example"),
           label="example", width=9, priority=1, flex=True, name=True),
    _field("m", "number", "the segment that was decided, from 1", getter=_number("m"),
           label="m", width=2, justify="right", priority=1),
    _field("memory", "number", "entries of the memory that were searched", getter=_number("memory_size"),
           label="mem", width=4, justify="right", priority=13),
    _field("sim", "number", "similarity of the nearest entry", getter=_number("top_similarity"),
           label="sim", width=6, justify="right", priority=9),
    _field("best", "number", "highest similarity × quality of an entry that can be injected",
           getter=_number("best_ahat"), label="best Â", width=6, justify="right", priority=10),
    _field("null", "number", "the largest similarity × quality of a right entry, which speaks for null",
           getter=_number("null_ahat"), label="null Â", width=6, justify="right", priority=11),
    _field("chosen", "text", "entry injected, or null", getter=_chosen,
           label="chosen", width=10, priority=2, flex=True),
    _field("entry", "text", "its id", getter=_text("chosen")),
    _field("steered", "flag", "something was injected", getter=_steered),
    _field("layer", "number", "layer injected at", getter=_layer),
    _field("gate", "text", "the rule that decided", getter=_text("gate"),
           label="rule", width=13, priority=6),
    _field("logprob", "number", "mean log-probability of the chosen entry's probe", getter=_number("logprob")),
    _field("nulllogprob", "number", "mean log-probability of null's probe", getter=_number("null_logprob")),
    _field("dlogprob", "number", "probe's mean log-probability minus null's", getter=_number("delta_logprob"),
           label="Δlogp", width=6, justify="right", priority=8),
    _field("score", "number", "β Â + ρ Δlogp of the chosen entry", getter=_number("score"),
           label="Score", width=6, justify="right", priority=4),
    _field("alpha", "number", "injected scale: k_scale × Score", getter=_number("alpha"),
           label="α", width=6, justify="right", priority=3),
    _field("committed", "number", "tokens of the committed segment", getter=_number("committed_tokens"),
           label="tok", width=3, justify="right", priority=7),
    _field("probe", "number", "tokens spent on probes", getter=_number("probe_tokens"),
           label="prb", width=3, justify="right", priority=12),
    _field("before", "number", "committed tokens before the segment", getter=_number("tokens_before")),
    _field("phase", "text", "segment or tail", getter=_text("phase")),
    _field("ended", "text", "what ended the segment", getter=_text("ended")),
    _field("correct", "flag", "✓ the answer is right, ✗ wrong, · not known yet", late=True,
           getter=outcome, label="✓", width=1),
    _field("differs", "flag", "right under only one of this method and greedy; ▲ fixed or ▼ broken stands where the "
           "answer left greedy's way", late=True, getter=_sign(1, -1), label="≠", width=1),
    _field("left", "flag", "the segment in which the answer left greedy's way", late=True, getter=_left),
    _field("fixed", "flag", "right where greedy is wrong", late=True, getter=_sign(1)),
    _field("broken", "flag", "wrong where greedy is right", late=True, getter=_sign(-1)),
    _field("question", "text", "the example's question", late=True, getter=_question),
    _field("seq", "number", "the event's number in the log", getter=_number("seq")),
)  # fmt: skip

DECISION_FIELDS: Mapping[str, DecisionField] = {field.name: field for field in _FIELDS}
