"""What one run did with one item (an example, a question, a conversation, a query) under one method."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.run.event_log import LogPlace


@dataclass(frozen=True)
class Item:
    """An item's outcome. `asked`: all that was asked, by which items of two runs are known to be the same; `score`
    between 0 and 1; `right`: fully right by the method's own criterion. Either is None where it was not judged, `right`
    also where several draws were averaged. `places`: the events of its trace, in order."""

    id: str
    question: str
    asked: str
    score: float | None
    right: bool | None
    tokens: int | None = None
    places: tuple[LogPlace, ...] = ()


@dataclass
class Arm:
    """A way in which a run answered its items, such as ESM's `greedy`: outcomes by item id. `right_means`: the
    criterion of `Item.right` in words."""

    system: str
    name: str
    stage: str
    right_means: str
    items: dict[str, Item] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """By which the arms of two runs are matched."""
        return self.system, self.name
