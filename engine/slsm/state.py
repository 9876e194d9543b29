"""The memory of a conversation: a structured or a flat state (spec SLSM, memory modes)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PlanMode = Literal["proceed", "verify", "clarify"]
Status = Literal["active", "satisfied", "violated"]
MemoryMode = Literal["structured", "flat"]
LONGEST_TEXT, LONGEST_MEMORY = 2000, 20_000
"""Most characters of an item, and of a flat memory."""
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Plan(_Model):
    """How safe it is to just answer: `proceed`, `verify` against the state, or `clarify` with the user."""

    mode: PlanMode = "proceed"
    reasons: tuple[str, ...] = ()


class _PlainItem(_Model):
    id: Text
    text: Text
    evidence: str = ""


class Fact(_PlainItem):
    """A known fact. `evidence`: a quote of the turn it comes from."""


class Constraint(_Model):
    """A standing instruction. `status`: whether the assistant's last answer kept it; active: not answered yet, or not
    checkable."""

    id: Text
    text: Text
    status: Status = "active"
    evidence: str = ""


class Assumption(_Model):
    """Something supposed until somebody contradicts it."""

    id: Text
    text: Text
    status: Literal["valid", "invalid"] = "valid"
    evidence: str = ""


class MissingFact(_PlainItem):
    """Something that a good answer needs and the conversation does not give."""


class Edit(_PlainItem):
    """The latest version of something that has been edited."""


Item = Fact | Constraint | Assumption | MissingFact | Edit
KINDS: dict[str, type[Item]] = {
    "facts": Fact, "constraints": Constraint, "assumptions": Assumption, "unknowns": MissingFact, "edits": Edit,
}  # fmt: skip
"""The item class of each list of the state."""


class SemanticState(_Model):
    """The structured state. Ids are unique over all lists."""

    facts: tuple[Fact, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    unknowns: tuple[MissingFact, ...] = ()
    edits: tuple[Edit, ...] = ()
    plan: Plan = Plan()

    def items(self, kind: str) -> tuple[Item, ...]:
        """The list called `kind`."""
        return getattr(self, kind)

    def find(self, item_id: str) -> Item | None:
        """The item with this id, or None."""
        return next((item for kind in KINDS for item in self.items(kind) if item.id == item_id), None)


class FlatState(_Model):
    """The flat state. `mismatch`: the assistant's last answer contradicts the memory."""

    memory_text: str = Field(default="", max_length=LONGEST_MEMORY)
    plan: Plan = Plan()
    mismatch: bool = False


State = SemanticState | FlatState


def empty_state(mode: str) -> State:
    """The state before the first turn, in a memory mode."""
    return SemanticState() if mode == "structured" else FlatState()
