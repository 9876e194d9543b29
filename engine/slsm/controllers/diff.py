"""Changes of a state by a turn: items added, changed or resolved. Every change of a state is a diff."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.slsm.note import flat_statements
from engine.slsm.state import KINDS, FlatState, Item, Plan, SemanticState

Operation = Literal["added", "changed", "resolved"]


class DiffRefused(ValueError):
    """The diff does not fit the state it is for."""


@dataclass(frozen=True)
class Change:
    """A change of an item. `kind`: its list; `item`: the new item (resolved: the old one); `why`: of a resolution."""

    operation: Operation
    kind: str
    item: Item
    before: Item | None = None
    why: str = ""


@dataclass(frozen=True)
class StateDiff:
    """Changes in order, and the plan after them. `gated`: items left out because the turn does not hold their quote."""

    changes: tuple[Change, ...] = ()
    plan: Plan = field(default_factory=Plan)
    gated: tuple[Item, ...] = ()


def apply_diff(state: SemanticState, diff: StateDiff) -> SemanticState:
    """The state after `diff`. Raises DiffRefused if it adds an id that exists, changes or resolves an id that does not,
    or names an id twice."""
    lists: dict[str, list[Item]] = {kind: list(state.items(kind)) for kind in KINDS}
    touched: set[str] = set()
    for change in diff.changes:
        item = change.item
        if item.id in touched:
            raise DiffRefused(f"{item.id} is named twice")
        touched.add(item.id)
        items = lists[change.kind]
        place = next((number for number, old in enumerate(items) if old.id == item.id), None)
        if change.operation == "added":
            if state.find(item.id) is not None:
                raise DiffRefused(f"{item.id} is added, but there is one already")
            items.append(item)
        elif place is None:
            raise DiffRefused(f"{item.id} is {change.operation}, but {change.kind} has none such")
        elif change.operation == "changed":
            items[place] = item
        else:
            del items[place]
    return SemanticState(**{kind: tuple(items) for kind, items in lists.items()}, plan=diff.plan)  # type: ignore[arg-type]


def diff_between(old: SemanticState, new: SemanticState) -> StateDiff:
    """The diff from `old` to `new`; items of both must have the same order."""
    changes: list[Change] = []
    for kind in KINDS:
        before = {item.id: item for item in old.items(kind)}
        after = {item.id: item for item in new.items(kind)}
        changes += [Change("resolved", kind, item) for key, item in before.items() if key not in after]
        for key, item in after.items():
            if key not in before:
                changes.append(Change("added", kind, item))
            elif item != before[key]:
                changes.append(Change("changed", kind, item, before[key]))
    return StateDiff(tuple(changes), new.plan)


def flat_changes(old: FlatState, new: FlatState) -> tuple[list[str], list[str]]:
    """The memory's new sentences, and its removed ones."""
    before, after = flat_statements(old.memory_text), flat_statements(new.memory_text)
    return [line for line in after if line not in before], [line for line in before if line not in after]


def gate_facts_by_evidence(diff: StateDiff, turn: str, kinds: Collection[str] = ("facts",)) -> StateDiff:
    """`diff` without items of `kinds` whose quote does not occur in `turn` (spec SLSM, configuration), whatever its
    case and white space. A mere change of status needs no quote: the item keeps its old one."""
    turn_text = normalized(turn)
    kept: list[Change] = []
    gated: list[Item] = []
    for change in diff.changes:
        before = change.before
        free = change.operation == "resolved" or change.kind not in kinds
        if free or _occurs(change.item.evidence, turn_text):
            kept.append(change)
        elif before is not None and before.text == change.item.text:
            item = change.item.model_copy(update={"evidence": before.evidence})
            kept += [replace(change, item=item)] if item != before else []
        else:
            gated.append(change.item)
    return replace(diff, changes=tuple(kept), gated=(*diff.gated, *gated))


def _occurs(quote: str, turn_text: str) -> bool:
    target = normalized(quote)
    return bool(target) and target in turn_text


def normalized(text: str) -> str:
    """A text in one case, with single spaces and straight quotation marks."""
    return " ".join(text.translate(_STRAIGHT_QUOTES).casefold().split())


_STRAIGHT_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


def next_id(kind: str, taken: Iterable[str]) -> str:
    """The first free id of the list `kind`: F1, F2, ..."""
    letter, used = kind[0].upper(), set(taken)
    number = 1
    while f"{letter}{number}" in used:
        number += 1
    return f"{letter}{number}"
