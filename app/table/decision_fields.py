"""What is known of a decision by name: each field's values, its help and its column in the table, declared once.

The filter, the table, its export and the help page are made from `DECISION_FIELDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.filter import Field, Value

Getter = Callable[[int], Value]
"""The value of a decision, by its number."""


@dataclass(frozen=True)
class Heading:
    """How a field stands in the table; see `screens.widgets.rows.Column`."""

    label: str
    width: int
    justify: Literal["left", "right", "center"] = "left"
    priority: int = 0
    flex: bool = False
    name: bool = False


@dataclass(frozen=True, kw_only=True)
class DecisionField(Field):
    """`getter`: how to get at the values of a state; `heading` None: it has no column."""

    getter: Callable[[ESMState], Getter]
    heading: Heading | None = None


def outcome(state: ESMState) -> Callable[[int], bool | None]:
    """Whether a decision's example came out right."""
    methods, examples = state.decisions.column("method"), state.decisions.column("example")
    correct = state.outcomes.correct
    return lambda row: correct(methods[row], examples[row])


def sign_against_greedy(state: ESMState) -> Callable[[int], int | None]:
    """1 fixed, -1 broken, 0 as greedy, None not known."""
    methods, examples = state.decisions.column("method"), state.decisions.column("example")
    sign = state.outcomes.against_greedy
    return lambda row: sign(methods[row], examples[row])


def _number(column: str) -> Callable[[ESMState], Getter]:
    return lambda state: state.decisions.column(column).__getitem__


def _text(column: str) -> Callable[[ESMState], Getter]:
    def getter(state: ESMState) -> Getter:
        numbers, texts = state.decisions.column(column), state.decisions.names.texts
        return lambda row: texts[numbers[row]]

    return getter


def _chosen(state: ESMState) -> Getter:
    numbers, texts = state.decisions.column("chosen"), state.decisions.names.texts

    def get(row: int) -> Value:
        number = numbers[row]
        return "null" if number == NULL else texts[number]

    return get


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


_FIELDS = (
    DecisionField("method", "text", "greedy, esm or an ablation of it", getter=_text("method"),
                  heading=Heading("method", 10, priority=5, flex=True)),
    DecisionField("example", "text", "the example's id", getter=_text("example"),
                  heading=Heading("example", 9, priority=1, flex=True, name=True)),
    DecisionField("m", "number", "segment decided, from 1", getter=_number("m"), heading=Heading("m", 2, "right", 1)),
    DecisionField("memory", "number", "entries searched", getter=_number("memory_size"),
                  heading=Heading("mem", 4, "right", 13)),
    DecisionField("sim", "number", "similarity of the nearest entry", getter=_number("top_similarity"),
                  heading=Heading("sim", 6, "right", 9)),
    DecisionField("best", "number", "best similarity × quality of an injectable entry", getter=_number("best_ahat"),
                  heading=Heading("best Â", 6, "right", 10)),
    DecisionField("null", "number", "the same of the nearest right entry: it speaks for null",
                  getter=_number("null_ahat"), heading=Heading("null Â", 6, "right", 11)),
    DecisionField("chosen", "text", "entry injected, or null", getter=_chosen,
                  heading=Heading("chosen", 10, priority=2, flex=True, name=True)),
    DecisionField("steered", "flag", "something was injected", getter=_steered),
    DecisionField("layer", "number", "layer injected at", getter=_layer),
    DecisionField("gate", "text", "the rule that settled it", getter=_text("gate"),
                  heading=Heading("gate", 13, priority=6)),
    DecisionField("dlogprob", "number", "probe's mean log-probability minus null's", getter=_number("delta_logprob"),
                  heading=Heading("Δlogp", 6, "right", 8)),
    DecisionField("score", "number", "β Â + ρ Δlogp of the chosen entry", getter=_number("score"),
                  heading=Heading("Score", 6, "right", 4)),
    DecisionField("alpha", "number", "injected scale: k_scale × Score", getter=_number("alpha"),
                  heading=Heading("α", 6, "right", 3)),
    DecisionField("committed", "number", "tokens of the committed segment", getter=_number("committed_tokens"),
                  heading=Heading("tok", 3, "right", 7)),
    DecisionField("probe", "number", "tokens spent on probes", getter=_number("probe_tokens"),
                  heading=Heading("prb", 3, "right", 12)),
    DecisionField("before", "number", "committed tokens before the segment", getter=_number("tokens_before")),
    DecisionField("phase", "text", "segment or tail", getter=_text("phase")),
    DecisionField("ended", "text", "what ended the segment", getter=_text("ended")),
    DecisionField("correct", "flag", "✓ the example came out right, ✗ wrong, · not known yet", late=True,
                  getter=outcome, heading=Heading("✓", 1)),
    DecisionField("differs", "flag", "▲ right where greedy is wrong, ▼ wrong where greedy is right", late=True,
                  getter=_sign(1, -1), heading=Heading("≠", 1)),
    DecisionField("fixed", "flag", "right where greedy is wrong", late=True, getter=_sign(1)),
    DecisionField("broken", "flag", "wrong where greedy is right", late=True, getter=_sign(-1)),
    DecisionField("question", "text", "the example's question", late=True, getter=_question),
    DecisionField("seq", "number", "the event's number in the log", getter=_number("seq")),
)  # fmt: skip

DECISION_FIELDS: Mapping[str, DecisionField] = {field.name: field for field in _FIELDS}
