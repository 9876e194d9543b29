"""Each field of a decision is what its help says it is: figures of one decision, all of them different."""

from __future__ import annotations

from msgspec import structs

from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS, sign_where_it_turned
from app.table.decision_rows import DecisionRows
from engine import events as ev
from screens.widgets.tables.column_layout import place

DECISION = ev.DecisionTaken(
    seq=31, method="esm", example="test-1", m=2, gate="chosen", memory_size=7, top_similarity=0.11, best_ahat=0.12,
    null_ahat=0.13, null_logprob=-0.14, null_score=0.15, chosen="e1", layer=5, logprob=-0.16, delta_logprob=-0.02,
    score=0.17, alpha=0.18, tokens_before=21, committed_tokens=22, probe_tokens=23, ended="delimiter", segment="a b",
)  # fmt: skip


def test_a_turned_answer_is_marked_once() -> None:
    """In the segment in which it left greedy's way; in the first, where an older log has no text to compare with."""
    for text, signs in (("a x", [0, 1]), ("", [1, 0])):
        state = RunState()
        for m, segment in ((1, "a "), (2, "b")):
            state.apply(structs.replace(DECISION, m=m, segment=segment))
        for method, right, written in (("greedy", False, text), ("esm", True, "a b")):
            state.apply(
                ev.ExampleEvaluated(
                    method=method, index=0, example="test-1", question="", gold="3", pred="3", correct=right,
                    tokens_used=1, text=written,
                )
            )  # fmt: skip
        assert [sign_where_it_turned(state.esm)(row) for row in range(2)] == signs
        assert [DECISION_FIELDS["left"].getter(state.esm)(row) for row in range(2)] == list(map(bool, signs))


def told(*correct: tuple[str, bool]) -> RunState:
    state = RunState()
    state.apply(DECISION)
    for method, right in correct:
        state.apply(
            ev.ExampleEvaluated(
                method=method, index=0, example="test-1", question="How many?", gold="3", pred="3", correct=right,
                tokens_used=1, text="greedy wrote this" if method == "greedy" else "",
            )
        )  # fmt: skip
    return state


def values(state: RunState) -> dict[str, object]:
    return {name: field.getter(state.esm)(0) for name, field in DECISION_FIELDS.items()}


KNOWN_AT_ONCE = {
    "method": "esm", "example": "test-1", "m": 2, "memory": 7, "sim": 0.11, "best": 0.12, "null": 0.13, "chosen": "e1",
    "entry": "e1", "steered": True, "layer": 5, "gate": "chosen", "logprob": -0.16, "nulllogprob": -0.14,
    "dlogprob": -0.02, "score": 0.17, "alpha": 0.18, "committed": 22, "probe": 23, "before": 21, "phase": "segment",
    "ended": "delimiter", "seq": 31,
}  # fmt: skip


def test_every_field_is_that_of_the_event() -> None:
    late = dict.fromkeys(("correct", "differs", "fixed", "broken", "question")) | {"left": False}
    assert values(told()) == KNOWN_AT_ONCE | late


def test_null_has_no_layer_and_no_figures() -> None:
    state = RunState()
    nothing = dict.fromkeys(
        ("chosen", "layer", "logprob", "delta_logprob", "score", "null_ahat", "null_logprob")
    )
    state.apply(structs.replace(DECISION, gate="tau_null", **nothing))
    shown = values(state)
    assert [shown[name] for name in ("chosen", "entry", "steered", "layer")] == ["null", "null", False, None]
    figures = [shown[name] for name in ("logprob", "dlogprob", "score", "null", "nulllogprob")]
    assert all(figure != figure for figure in figures), "what is not there is no number"


def test_a_word_is_looked_for_in_every_name_and_in_the_question() -> None:
    rows = DecisionRows(told(("greedy", True)).esm)
    words = ("test-1", "esm", "chosen", "e1", "many", "delimiter")
    assert [rows.mentions(word)(0) for word in words] == [True, True, True, True, True, False]


def test_what_comes_with_the_answers() -> None:
    """Right under esm and wrong under greedy, and the other way round."""
    later = ("correct", "differs", "fixed", "broken", "question")
    fixed, broken = (values(told(("greedy", not right), ("esm", right))) for right in (True, False))
    assert [fixed[name] for name in later] == [True, True, True, False, "How many?"]
    assert [broken[name] for name in later] == [False, True, False, True, "How many?"]
    same = values(told(("greedy", True), ("esm", True)))
    assert [same[name] for name in later] == [True, False, False, False, "How many?"]


def test_which_columns_stand_where_and_how_wide() -> None:
    """Ids are the first to be cut, and lose their heads."""
    assert [name for name, value in values(told()).items() if value == "test-1"] == ["example"]
    columns = [field.column for field in DECISION_FIELDS.values() if field.column is not None]

    def shown(width: int) -> str:
        return " ".join(f"{one.column.label}:{one.width}" for one in place(columns, width))

    assert shown(60) == "method:12 example:11 m:2 chosen:12 Score:6 α:6 ✓:1 ≠:1"
    assert shown(78) == "method:12 example:11 m:2 chosen:12 rule:13 Score:6 α:6 tok:3 ✓:1 ≠:1"
    assert shown(140) == (
        "method:20 example:19 m:2 mem:4 sim:6 best Â:6 null Â:6 chosen:21 rule:13 Δlogp:6 Score:6 α:6 tok:3 prb:3 "
        "✓:1 ≠:1"
    )
    assert [column.key for column in columns if column.name] == ["example"]
    texts = [column.key for column in columns if column.justify == "left"]
    assert texts == ["method", "example", "chosen", "gate", "correct", "differs"]
    assert all(field.help for field in DECISION_FIELDS.values())
    assert [name for name, field in DECISION_FIELDS.items() if field.late] == [
        "correct", "differs", "left", "fixed", "broken", "question",
    ]  # fmt: skip
