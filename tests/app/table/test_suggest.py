"""Why a filter finds nothing, in sentences."""

from __future__ import annotations

import pytest

from app.state.esm import ESMState
from app.table.filter import Field
from app.table.filter_parser import parse
from app.table.suggest import reasons, values_of

FIELDS = {name: Field(name, "text", "") for name in ("method", "gate")}


@pytest.mark.parametrize(
    ("text", "known", "sentences"),
    [
        ("method:emm", ["esm", "greedy"], ["No decision has method emm. Is it esm?"]),
        ("method:reed", ["esm", "Greedy"], ["No decision has method reed. Is it Greedy?"]),
        ("method:xyz", ["esm", "greedy"], ["No decision has method xyz. There is esm or greedy."]),
        ("method:xyz", ["esm"], ["No decision has method xyz. There is esm."]),
        ("method:xyz", [f"m{n}" for n in range(8)],
         ["No decision has method xyz. There is m0, m1, m2, m3, m4, m5, m6 or m7."]),
        ("method:xyz", [f"m{n}" for n in range(1200)],
         ["No decision has method xyz. There are 1,200 others, such as m0."]),
        ("method:xy", ["a-xy-long-name", "b-xy-long-name", "c-xy-long-name", "d-xy-long-name"],
         ["No decision has method xy. Is it a-xy-long-name, b-xy-long-name or c-xy-long-name?"]),
        ("method:ESM", ["esm"], []),
        ("method:xyz", [], []),
        ("method:x* or not method:xyz or method!=xyz or method~xyz or xyz", ["esm"], []),
        ("method:one (gate:two or m)", ["a"],
         ["No decision has method one. There is a.", "No decision has gate two. There is a."]),
    ],
)  # fmt: skip
def test_what_was_probably_meant(text: str, known: list[str], sentences: list[str]) -> None:
    assert reasons(parse(text, FIELDS), lambda field: known) == sentences


def test_another_noun_and_fields_without_names() -> None:
    assert reasons(parse("method:b", FIELDS), lambda field: ["a"], "run") == [
        "No run has method b. There is a."
    ]
    assert reasons(None, lambda field: ["a"]) == [] and values_of(ESMState(), "alpha") == []
