"""Decisions as rows that can be filtered, sorted and searched: the fields and how to get at them."""

from __future__ import annotations

from collections.abc import Callable

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.filter import Field, Rows, Value

DECISION_FIELDS = {
    field.name: field
    for field in (
        Field("method", "text", "greedy, esm or an ablation"),
        Field("example", "text", "the example's id"),
        Field("m", "number", "number of the segment decided, from 1"),
        Field("gate", "text", "the rule that settled the decision"),
        Field("chosen", "text", "the entry injected, or null"),
        Field("steered", "flag", "something was injected"),
        Field("alpha", "number", "injected scale"),
        Field("score", "number", "Score of the chosen entry"),
        Field("dlogprob", "number", "its probe's mean token log-probability minus null's"),
        Field("sim", "number", "top similarity"),
        Field("best", "number", "best Â of an entry that can be injected"),
        Field("null", "number", "Â of the null action"),
        Field("memory", "number", "entries searched"),
        Field("layer", "number", "layer injected at"),
        Field("committed", "number", "tokens of the segment"),
        Field("probe", "number", "tokens spent on probes"),
        Field("before", "number", "committed tokens before the segment"),
        Field("phase", "text", "segment or tail"),
        Field("ended", "text", "what ended the segment"),
        Field("correct", "flag", "the example came out right", late=True),
        Field("differs", "flag", "right where greedy is wrong, or wrong where greedy is right", late=True),
        Field("fixed", "flag", "right where greedy is wrong", late=True),
        Field("broken", "flag", "wrong where greedy is right", late=True),
        Field("question", "text", "the example's question", late=True),
        Field("seq", "number", "the event's number in the log"),
    )
}

_NUMBERS = {
    "m": "m",
    "alpha": "alpha",
    "score": "score",
    "dlogprob": "delta_logprob",
    "sim": "top_similarity",
    "best": "best_ahat",
    "null": "null_ahat",
    "memory": "memory_size",
    "committed": "committed_tokens",
    "probe": "probe_tokens",
    "before": "tokens_before",
    "seq": "seq",
}
_NAMES = ("method", "example", "gate", "phase", "ended")


class DecisionRows(Rows):
    """The decisions of a state, by number in the order of the log."""

    def __init__(self, state: ESMState) -> None:
        self.state = state
        self._decisions = state.decisions

    def getter(self, field: str) -> Callable[[int], Value]:
        """Values of a field of `DECISION_FIELDS`."""
        if field in _NUMBERS:
            return self._decisions.column(_NUMBERS[field]).__getitem__
        if field in _NAMES:
            return self._named(field)
        return getattr(self, f"_{field}")()

    def mentions(self, word: str) -> Callable[[int], bool]:
        """Names on the row (example, method, gate, entry) and the example's question are searched."""
        columns = [self._decisions.column(name) for name in ("example", "method", "gate", "chosen")]
        examples, texts = columns[0], self._decisions.names.texts
        question = self.state.question
        named: dict[int, bool] = {NULL: word in "null"}
        asked: dict[str, bool] = {}

        def test(row: int) -> bool:
            for column in columns:
                number = column[row]
                found = named.get(number)
                if found is None:
                    found = named[number] = word in texts[number].lower()
                if found:
                    return True
            text = question(texts[examples[row]])
            found = asked.get(text)
            if found is None:
                found = asked[text] = word in text.lower()
            return found

        return test

    def outcome(self, row: int) -> bool | None:
        """Whether the row's example came out right."""
        return self.state.outcomes.correct(*self._key(row))

    def against_greedy(self, row: int) -> int | None:
        """1 fixed, -1 broken, 0 as greedy, None not known."""
        return self.state.outcomes.against_greedy(*self._key(row))

    def _key(self, row: int) -> tuple[int, int]:
        return self._decisions.column("method")[row], self._decisions.column("example")[row]

    def _named(self, field: str) -> Callable[[int], Value]:
        numbers, texts = self._decisions.column(field), self._decisions.names.texts
        return lambda row: texts[numbers[row]]

    def _chosen(self) -> Callable[[int], Value]:
        numbers, texts = self._decisions.column("chosen"), self._decisions.names.texts

        def get(row: int) -> Value:
            number = numbers[row]
            return "null" if number == NULL else texts[number]

        return get

    def _steered(self) -> Callable[[int], Value]:
        numbers = self._decisions.column("chosen")
        return lambda row: numbers[row] != NULL

    def _layer(self) -> Callable[[int], Value]:
        layers = self._decisions.column("layer")
        return lambda row: None if layers[row] == NULL else layers[row]

    def _correct(self) -> Callable[[int], Value]:
        return self.outcome

    def _differs(self) -> Callable[[int], Value]:
        return self._mark(lambda sign: sign != 0)

    def _fixed(self) -> Callable[[int], Value]:
        return self._mark(lambda sign: sign > 0)

    def _broken(self) -> Callable[[int], Value]:
        return self._mark(lambda sign: sign < 0)

    def _mark(self, test: Callable[[int], bool]) -> Callable[[int], Value]:
        def get(row: int) -> Value:
            sign = self.against_greedy(row)
            return None if sign is None else test(sign)

        return get

    def _question(self) -> Callable[[int], Value]:
        name, question = self._named("example"), self.state.question
        return lambda row: question(str(name(row))) or None
