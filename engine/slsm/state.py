"""What a conversation has established: a structured or a flat state (spec SLSM, memory modes)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PlanMode = Literal["proceed", "verify", "clarify"]
Status = Literal["active", "satisfied", "violated"]
MemoryMode = Literal["structured", "flat"]
LONGEST_TEXT, LONGEST_MEMORY = 2000, 20_000
"""Letters of an item, and of a flat memory."""
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Plan(_Model):
    """How safe it is to just answer: `proceed`, `verify` against the state, or `clarify` with the user."""

    mode: PlanMode = "proceed"
    reasons: tuple[str, ...] = ()


class Fact(_Model):
    """Something known. `evidence`: a quote of the turn it came from."""

    id: Text
    text: Text
    evidence: str = ""


class Constraint(_Model):
    """A standing instruction. `status`: whether the assistant's last answer kept it; active: none came yet, or it
    cannot be checked."""

    id: Text
    text: Text
    status: Status = "active"
    evidence: str = ""


class Assumption(_Model):
    """Something supposed until it is said otherwise."""

    id: Text
    text: Text
    status: Literal["valid", "invalid"] = "valid"
    evidence: str = ""


class Unknown(_Model):
    """Something that would have to be known."""

    id: Text
    text: Text
    evidence: str = ""


class Edit(_Model):
    """What has been edited, as it stands after the last edit."""

    id: Text
    text: Text
    evidence: str = ""


Item = Fact | Constraint | Assumption | Unknown | Edit
KINDS: dict[str, type[Item]] = {
    "facts": Fact, "constraints": Constraint, "assumptions": Assumption, "unknowns": Unknown, "edits": Edit,
}  # fmt: skip
"""The state's lists, by name."""
LETTERS = {"facts": "F", "constraints": "C", "assumptions": "A", "unknowns": "U", "edits": "E"}
"""With which their ids begin."""


class SemanticState(_Model):
    """The structured state. Ids are unique over all lists."""

    facts: tuple[Fact, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    edits: tuple[Edit, ...] = ()
    plan: Plan = Plan()

    def items(self, kind: str) -> tuple[Item, ...]:
        """The list called `kind`."""
        return getattr(self, kind)

    def find(self, item_id: str) -> Item | None:
        """The item of this id."""
        return next((item for kind in KINDS for item in self.items(kind) if item.id == item_id), None)


class FlatState(_Model):
    """The flat state. `mismatch`: the last answer went against the memory."""

    memory_text: str = Field(default="", max_length=LONGEST_MEMORY)
    plan: Plan = Plan()
    mismatch: bool = False


State = SemanticState | FlatState


def empty_state(mode: MemoryMode) -> State:
    """What is known before the first turn."""
    return SemanticState() if mode == "structured" else FlatState()
