"""What a turn changes in a state: added, changed, resolved. A state only ever moves by one of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.slsm.note import flat_statements
from engine.slsm.state import KINDS, LETTERS, FlatState, Item, Plan, SemanticState

Operation = Literal["added", "changed", "resolved"]


class DiffRefused(ValueError):
    """The diff does not fit the state it is for."""


@dataclass(frozen=True)
class Change:
    """One item. `kind`: the list it is in; `item`: as it is now (resolved: as it was); `why`: of a resolution."""

    operation: Operation
    kind: str
    item: Item
    before: Item | None = None
    why: str = ""


@dataclass(frozen=True)
class StateDiff:
    """Changes in order, the plan after them, and what was left out because its quote does not occur."""

    changes: tuple[Change, ...] = ()
    plan: Plan = field(default_factory=Plan)
    gated: tuple[Item, ...] = ()


def apply_diff(state: SemanticState, diff: StateDiff) -> SemanticState:
    """The state after `diff`. Raises DiffRefused: an added id that is taken, one changed or resolved that is not
    there, or an id named twice."""
    lists: dict[str, list[Item]] = {kind: list(state.items(kind)) for kind in KINDS}
    touched: set[str] = set()
    for change in diff.changes:
        item = change.item
        if item.id in touched:
            raise DiffRefused(f"{item.id} is named twice")
        touched.add(item.id)
        own = lists[change.kind]
        place = next((number for number, old in enumerate(own) if old.id == item.id), None)
        if change.operation == "added":
            if state.find(item.id) is not None:
                raise DiffRefused(f"{item.id} is added, but there is one already")
            own.append(item)
        elif place is None:
            raise DiffRefused(f"{item.id} is {change.operation}, but {change.kind} has none such")
        elif change.operation == "changed":
            own[place] = item
        else:
            del own[place]
    return SemanticState(**{kind: tuple(items) for kind, items in lists.items()}, plan=diff.plan)  # type: ignore[arg-type]


def diff_between(old: SemanticState, new: SemanticState) -> StateDiff:
    """The diff that leads from `old` to `new`, as long as items that stay keep their order."""
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
    """Sentences of the memory that are new, and those that are gone."""
    before, after = flat_statements(old.memory_text), flat_statements(new.memory_text)
    return [line for line in after if line not in before], [line for line in before if line not in after]


def gate_facts_by_evidence(diff: StateDiff, turn: str) -> StateDiff:
    """`diff` without what it adds or changes on the strength of a quote that does not occur in `turn` (spec SLSM,
    configuration). Case and white space do not count. A change of status alone needs no quote: without one, that of
    the item stays."""
    said = normalized(turn)
    kept: list[Change] = []
    gated: list[Item] = []
    for change in diff.changes:
        before = change.before
        if change.operation == "resolved" or _occurs(change.item.evidence, said):
            kept.append(change)
        elif before is not None and before.text == change.item.text:
            item = change.item.model_copy(update={"evidence": before.evidence})
            kept += [replace(change, item=item)] if item != before else []
        else:
            gated.append(change.item)
    return replace(diff, changes=tuple(kept), gated=(*diff.gated, *gated))


def _occurs(quote: str, said: str) -> bool:
    wanted = normalized(quote)
    return bool(wanted) and wanted in said


def normalized(text: str) -> str:
    """In one case, with single spaces and plain quotation marks."""
    return " ".join(text.translate(_PLAIN).casefold().split())


_PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})


def next_id(kind: str, taken: Iterable[str]) -> str:
    """The first free id of a list: F1, F2, ..."""
    letter, used = LETTERS[kind], set(taken)
    number = 1
    while f"{letter}{number}" in used:
        number += 1
    return f"{letter}{number}"
