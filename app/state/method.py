"""The state of one method: folded from its events; each type of event has a function that changes it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar

from app.state.columns import AppendOnlyList
from engine.events import Event
from engine.run.event_log import LogPlace

Fold = Callable[[Any, Any, LogPlace], None]
"""Changes a state (first argument) by an event of one type, which stands at a place."""

FoldT = TypeVar("FoldT", bound=Fold)
Row = TypeVar("Row", bound=tuple[Any, ...])


def row_of(kind: type[Row], event: Event, place: LogPlace, /, **others: object) -> Row:
    """A named tuple of the event's fields and its place; `others`: what is called otherwise, or not in the event."""
    known = {"place": place, **others}
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(*(known[name] if name in known else getattr(event, name) for name in names))  # type: ignore[call-arg]


class MethodState:
    """Everything the screens of a method know. Read it; only its folds change it.

    A subclass declares its fields in `__init__`; `@TheState.on(SomeEvent)` before a function makes that its fold.
    `title`: the method's name on the screen; `stages_shown`: whose work it shows; `also_shows`: stages of others in
    which it is at work, too; `page`: `module:name` of what it shows (a `MethodPage`); `screen`: `module:Class` of its
    screen, where that does more than show the page. Both are imported when they are opened. A state without a title
    (the run's) is no method. `fields_of_stage`: by stage, the fields that hold what it reported ("":
    what all did); a stage of `stages_shown` that is not named holds the others.
    """

    title: ClassVar[str] = ""
    stages_shown: ClassVar[tuple[str, ...]] = ()
    also_shows: ClassVar[tuple[str, ...]] = ()
    page: ClassVar[str] = ""
    screen: ClassVar[str] = "screens.method_screen:MethodScreen"
    fields_of_stage: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    folds: ClassVar[dict[type, Fold]] = {}

    def __init_subclass__(cls) -> None:
        cls.folds = {}

    @classmethod
    def on(cls, event: type) -> Callable[[FoldT], FoldT]:
        """Register the decorated function as the fold of this type of event."""

        def register(fold: FoldT) -> FoldT:
            cls.folds[event] = fold
            return fold

        return register

    @classmethod
    def keeps(cls, event: type, field: str, *keys: str) -> None:
        """The field holds the newest event of this type; with `keys`, one for each value of these attributes."""
        key_of = attrgetter(*keys) if keys else None

        def fold(state: Any, event: Event, place: LogPlace) -> None:
            if key_of is None:
                setattr(state, field, event)
            elif isinstance(kept := getattr(state, field), AppendOnlyList):
                kept.append(event, key=key_of(event))
            else:
                kept[key_of(event)] = event

        cls.folds[event] = fold

    def forget(self, stage: str) -> None:
        """A stage is begun again: what it reported so far belongs to an earlier attempt."""
        new = vars(type(self)())
        named = {name for names in self.fields_of_stage.values() for name in names}
        others = tuple(new.keys() - named) if stage in self.stages_shown else ()
        for name in self.fields_of_stage.get(stage, others):
            setattr(self, name, new[name])

    def share(self) -> Self:
        """The state as of now, which can be folded on by itself. Lists are shared by their length."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            setattr(other, name, shared(value))
        return other


def shared(value: Any) -> Any:
    """A copy that goes its own way: dicts are copied, what has `share` shares, all else never changes."""
    share = getattr(value, "share", None)  # an event may have a field of that name
    if callable(share):
        return share()
    if not isinstance(value, dict):
        return value
    kind = type(next(iter(value.values()), None))
    plain = not (issubclass(kind, dict) or callable(getattr(kind, "share", None)))
    return dict(value) if plain else {key: shared(below) for key, below in value.items()}
