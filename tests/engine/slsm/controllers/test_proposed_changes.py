"""What becomes of the changes that a model proposes: which fields an item keeps, and which it is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.slsm.controllers.openai_controller import _read_diff
from engine.slsm.state import Assumption, Constraint, Edit, Fact, Item, MissingFact, SemanticState
from tests.engine.slsm.controllers.test_openai_controller import PLAN, change

STATE = SemanticState(
    facts=(Fact(id="F1", text="The dog is Rex", evidence="my dog is Rex"),),
    constraints=(Constraint(id="C1", text="Be brief", status="violated", evidence="be brief"),),
    assumptions=(Assumption(id="A1", text="Rex is old", evidence="a grey dog"),),
)


def becomes(kind: str, **proposed: Any) -> list[Item]:
    """The list `kind` after one proposed change of it."""
    reply = {"changes": [change(kind=kind, **proposed)], "plan": PLAN}
    state = _read_diff(STATE, json.dumps(reply)).state
    assert isinstance(state, SemanticState)
    return list(state.items(kind))


@pytest.mark.parametrize(
    ("kind", "proposed", "item"),
    [
        (
            "assumptions", {"item": "A1", "text": "Rex is old", "status": "invalid"},
            Assumption(id="A1", text="Rex is old", status="invalid", evidence="a grey dog"),
        ),
        (
            "constraints", {"item": "C1", "text": "Be brief"},
            Constraint(id="C1", text="Be brief", status="violated", evidence="be brief"),
        ),
        (
            "constraints", {"item": "C1", "text": "Be brief", "evidence": "short!"},
            Constraint(id="C1", text="Be brief", status="violated", evidence="short!"),
        ),
        ("constraints", {"item": "C1", "text": "Be very brief"}, Constraint(id="C1", text="Be very brief")),
        (
            "facts", {"item": "F1", "text": "The dog is Max", "status": "valid", "evidence": "no, Max"},
            Fact(id="F1", text="The dog is Max", evidence="no, Max"),
        ),
    ],
)  # fmt: skip
def test_where_the_text_stays_empty_fields_keep_their_values(
    kind: str, proposed: dict[str, Any], item: Item
) -> None:
    assert becomes(kind, operation="change", **proposed) == [item]


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        ("unknowns", MissingFact(id="U1", text="Be brief", evidence="x")),
        ("edits", Edit(id="E1", text="Be brief", evidence="x")),
        ("constraints", Constraint(id="C2", text="Be brief", status="active", evidence="x")),
    ],
)
def test_what_is_added_begins_anew(kind: str, item: Item) -> None:
    """Also under the id of an item that is there; a status is for constraints and assumptions alone."""
    assert (
        becomes(kind, operation="add", item="C1", text="Be brief", status="active", evidence="x")[-1] == item
    )
