"""Reads the outcomes of one method, and what led up to them, out of a log.

A method says which events hold an outcome and which lead up to one, and how each is written as steps; the rest is here.
A later event about the same thing takes the earlier one's place, because a resumed run may repeat it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.comparison.items import Arm, Item
from engine.comparison.trace import Step
from engine.events import Event
from engine.run.event_log import LogPlace

ReadEvent = Callable[[LogPlace], Event]


class Criterion(NamedTuple):
    """The stage in which items are judged, and what makes one right, in words."""

    stage: str
    right_means: str


@dataclass(frozen=True)
class Outcome:
    """What an event says of one item under one arm. `part`: which of an item's attempts it is; `round`: which of
    several times that all items were answered; `trace`: whose earlier events led up to it."""

    arm: str
    id: str
    question: str
    asked: str
    score: float | None
    right: bool | None
    tokens: int | None = None
    part: int = 0
    round: int = 0
    trace: str = ""


class MethodReader:
    """Takes the events of a log in order. `kinds`: their types; `criteria`: by arm, by what its items are judged; "":
    all other arms."""

    system: ClassVar[str]
    kinds: ClassVar[tuple[type[Event], ...]]
    criteria: ClassVar[Mapping[str, Criterion]]

    def __init__(self) -> None:
        self._items: dict[str, dict[int, dict[str, dict[int, tuple[Outcome, LogPlace]]]]] = {}
        self._rounds: dict[str, int] = {}
        self._earlier: dict[tuple[str, str], dict[tuple[int, str], LogPlace]] = defaultdict(dict)

    # ------------------------------------------------------------ what a method says

    def outcomes(self, event: Any) -> Iterable[Outcome]:
        """What an event says of items."""
        return ()

    def leads_to(self, event: Any) -> tuple[str, str, tuple[int, str]] | None:
        """For an event that comes before the outcome of items: their `trace`, the item ("" for all items), and where it
        stands in the order."""
        return None

    def steps_of(self, event: Any, arm: str) -> Iterable[Step]:
        """An event of an item's trace as steps."""
        raise NotImplementedError

    def round_of(self, arm: str) -> int | None:
        """The round that counts: the last one."""
        return self._rounds.get(arm)

    # ------------------------------------------------------------ what is the same for all

    def take(self, event: Event, place: LogPlace) -> None:
        """Take in an event of one of `kinds`."""
        for outcome in self.outcomes(event):
            self._rounds[outcome.arm] = outcome.round
            rounds = self._items.setdefault(outcome.arm, {})
            rounds.setdefault(outcome.round, {}).setdefault(outcome.id, {})[outcome.part] = (outcome, place)
        if (lead := self.leads_to(event)) is not None:
            trace, item, order = lead
            self._earlier[trace, item][order] = place

    def counting(self, arm: str) -> Mapping[str, Mapping[int, tuple[Outcome, LogPlace]]]:
        """The outcomes of the round that counts, by item and attempt."""
        chosen = self.round_of(arm)
        return {} if chosen is None else self._items[arm].get(chosen, {})

    def arms(self) -> list[Arm]:
        """The ways in which items were answered so far."""
        return [arm for arm in map(self._arm, self._items) if arm.items]

    def _arm(self, name: str) -> Arm:
        criterion = self.criteria.get(name) or self.criteria[""]
        items = {id: _item(parts) for id, parts in self.counting(name).items()}
        return Arm(self.system, name, *criterion, items)

    def steps(self, arm: str, item: Item, read: ReadEvent) -> Sequence[Step]:
        """The item's trace; `read` reads an event again, whole."""
        trace = next(iter(self.counting(arm)[item.id].values()))[0].trace
        earlier = {**self._earlier.get((trace, ""), {}), **self._earlier.get((trace, item.id), {})}
        places = [earlier[key] for key in sorted(earlier)]
        return [step for place in (*places, *item.places) for step in self.steps_of(read(place), arm)]


def _item(parts: Mapping[int, tuple[Outcome, LogPlace]]) -> Item:
    """Of several attempts the best one counts; it costs what all of them did."""
    outcomes = [parts[number][0] for number in sorted(parts)]
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    rights = [outcome.right for outcome in outcomes if outcome.right is not None]
    tokens = [outcome.tokens for outcome in outcomes if outcome.tokens is not None]
    first = outcomes[0]
    return Item(
        first.id,
        first.question,
        first.asked,
        max(scores, default=None),
        any(rights) if rights else None,
        sum(tokens) if tokens else None,
        tuple(parts[number][1] for number in sorted(parts)),
    )


def as_score(right: bool | None) -> float | None:
    """1 where it is right, 0 where it is wrong."""
    return None if right is None else float(right)


def verdict(right: bool | None) -> str:
    """Right or wrong, in a word."""
    return "not judged" if right is None else "right" if right else "wrong"
