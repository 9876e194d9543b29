"""Items over replicas, results in order: who gets what when. Neither changes a result."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.events import ClusterJoined
from engine.scale.cluster import Cluster
from engine.scale.replica import Done
from engine.scale.replicas import Lost, Replicas, Team
from engine.scale.work import FoundT, ItemT, Over, Place, Spread, Work, in_process

_LOOK_EVERY = 0.1
"""Seconds between two looks at whether to go on."""
_HELD = 2
"""Items a replica has at once: it does one, and the next is there when it is done."""
_AHEAD = 4
"""Items a replica that may be under way or wait for their turn: one slow item does not stop the others at once."""
_LOSSES = 5
"""Replicas that an item may take along before it is the item's fault."""


class RaySpread:
    """Joins the cluster when the first stage has work for it."""

    def __init__(self, section: ScaleSection, folder: Path) -> None:
        """`folder`: where the log of a cluster of one's own is kept."""
        self._section = section
        self._folder = folder
        self._cluster: Cluster | None = None
        self._replicas: Replicas | None = None

    def __call__(self, work: Work[ItemT, FoundT], here: Place) -> Over[ItemT, FoundT]:
        """Begin to make `work` ready on all replicas. Raises RunError where there is no cluster."""
        team = self._joined(here).team(work, here)
        assert self._cluster is not None
        watched = replace(here, checkpoint=_both(here.checkpoint, self._cluster.look))
        return lambda items: spread(team, items, watched)

    def close(self) -> None:
        """End replicas, leave the cluster."""
        if self._cluster is not None:
            if self._replicas is not None and self._cluster.is_there:
                self._replicas.dismiss()
            self._cluster.leave()
        self._replicas = self._cluster = None

    def hire(self) -> Replicas:
        """Replicas on the joined cluster."""
        return Replicas(self._section)

    def _joined(self, here: Place) -> Replicas:
        if self._replicas is None:
            section = self._section
            self._cluster = Cluster.join(section, self._folder, here.checkpoint)
            here.emit(
                ClusterJoined(
                    engine=section.engine,
                    address=self._cluster.address,
                    own=self._cluster.own is not None,
                    replicas=section.replicas,
                    gpus_per_replica=section.gpus_per_replica,
                    dashboard=self._cluster.dashboard,
                )
            )
            self._replicas = self.hire()
        return self._replicas


@contextmanager
def spreading(section: ScaleSection, folder: Path) -> Iterator[Spread]:
    """How the configuration wants work spread. `folder`: as `RaySpread`."""
    if section.engine == "local":
        yield in_process
        return
    found = RaySpread(section, folder)
    try:
        yield found
    finally:
        found.close()


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call


def spread(team: Team, items: Iterable[Any], here: Place) -> Iterator[Any]:
    """What was found about each item, in order. Items are drawn as they are needed."""
    return _Spreading(team, items, here).run()


class _Spreading:
    """`left`: items drawn and not given yet, by number. `done`: what waits for its turn."""

    def __init__(self, team: Team, items: Iterable[Any], here: Place) -> None:
        self.team = team
        self.here = here
        self.source = enumerate(items)
        self.left: deque[tuple[int, Any]] = deque()
        self.drawn = 0
        self.done: dict[int, Done] = {}
        self.turn = 0
        self.losses: Counter[int] = Counter()

    def run(self) -> Iterator[Any]:
        try:
            while self._give() or self.turn in self.done:
                self.here.checkpoint()
                done, lost = self.team.arrived(0 if self.turn in self.done else _LOOK_EVERY)
                self.done.update(done)
                self._take_back(lost)
                self.team.tell()
                if self.turn in self.done:
                    yield self._next()
        finally:
            self.team.tell(last=True)

    def _give(self) -> bool:
        """Give what can be given; False if nothing is under way any more."""
        members = self.team.members
        self._draw(len(members))
        # With little left, a second item would wait at one replica while another has nothing to do.
        most = _HELD if len(self.left) > len(members) else 1
        for held in range(most):
            for member in members:
                if self.left and member.ready and len(member.held) == held:
                    self.team.give(member, *self.left.popleft())
        return bool(self.left) or any(member.held for member in members)

    def _draw(self, members: int) -> None:
        while len(self.left) <= _HELD * members and self.drawn < self.turn + _AHEAD * members:
            for number, item in itertools.islice(self.source, 1):
                self.left.append((number, item))
                self.drawn = number + 1
                break
            else:
                return

    def _take_back(self, lost: list[Lost]) -> None:
        """Items of a replica that died, to be given first. Raises RunError for one that takes every replica along."""
        for one in sorted(lost, key=lambda one: -one.index):
            self.losses[one.index] += one.begun
            if self.losses[one.index] >= _LOSSES:
                raise RunError(
                    what=f"{_LOSSES} replicas died, one after the other, on the same item (number {one.index})",
                    where="scale",
                    mend="it may need more memory than a replica has: lower the batch size; scale/ray.log, or the "
                    "logs of the cluster that was joined, say more",
                )
            self.left.appendleft((one.index, one.item))

    def _next(self) -> Any:
        """Whose turn it is, after what came up on its way."""
        one = self.done.pop(self.turn)
        self.turn += 1
        for request in one.told.requests:
            self.here.servers.usage.take(request)
        for found in one.told.kept:
            self.here.keep(found)
        for event in one.told.events:
            self.here.emit(event)
        return one.found
