"""The tables of cases: which columns stand in a terminal of 80 columns and in a wide one, and how wide they are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.methods.cases import Cases
from app.methods.page import MethodPage
from app.methods.pages import pages
from app.state.run import RunState
from screens.widgets.tables.column_layout import place

NARROW = {
    "pairs": "pair:20 example:11 m:2 layer:5 Q:6 right:5 wrong:5 |Δ|:6 effect:8",
    "entries": "#:4 entry:13 kind:5 used:5 ▲:3 ▼:3 net:4 Δlogp:6 m:2 Q:6 gain:7 max sim:7",
    "iterations": "#:3 ★:1 composite:9 correct:7 tokens:7 validated:9 v.correct:9 v.tokens:8 state:10",
    "Evolution answers": "#:3 ✓:1 ±:1 tokens:6 ± tok:6 split:10 question:25 gold:17",
    "questions": "rank:4 reader:6 ±:1 triples:7 question:32 meeting:7 answers:7 paths:5",
    "SLSM answers": "✓:1 ±:1 mode:12 memory:10 note:4 answer:24 axis:18",
    "picks": "query:12 selector:8 ±:1 RICES:8 random:6 question:36",
    "queries": "query:12 oracle@64:13 right:7 injected:8 committed:9 pool:4 !:1",
    "requests": "request:12 outcome:8 steered:7 tokens:6 probes:6 first s:7 seconds:7 question:16",
}
KINDS = [(page, cases) for page in pages().values() for cases in page.cases if cases.columns]


def named(page: MethodPage, cases: Cases) -> str:
    return cases.name if cases.name in NARROW else f"{page.title} {cases.name}"


@pytest.mark.parametrize(("page", "cases"), KINDS, ids=lambda one: getattr(one, "name", ""))
def test_which_columns_there_is_room_for(page: MethodPage, cases: Cases) -> None:
    """Less room means fewer of them, never others; figures and signs are aligned on the right or one cell wide."""
    assert list(cases.rows(RunState())) == []
    placed = place(cases.columns, 78)
    assert " ".join(f"{one.column.label}:{one.width}" for one in placed) == NARROW[named(page, cases)]
    shown = [{one.index for one in place(cases.columns, width)} for width in range(20, 240, 20)]
    assert all(narrow <= wide for narrow, wide in pairwise(shown)) and len(shown[-1]) == len(cases.columns)
    ids = [
        column
        for column in cases.columns
        if column.key in ("example", "id", "sample_id", "query_id", "request")
    ]
    assert all(column.name for column in ids)
    assert all(
        column.justify == "right" for column in cases.columns if column.key in ("m", "tokens", "iteration")
    )
