"""Deals items to replicas and yields the results in order; which replica does an item changes no result."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.scale.local_processes import LocalBackend, load_libraries
from engine.scale.ray_processes import RayBackend
from engine.scale.replicas import Backend, LostItem, Replicas, Team
from engine.scale.work import ItemT, ReadyWork, ResultT, Spread, Work, WorkContext, in_process

_CHECK_EVERY = 0.1
"""Seconds between two checks for a pause, a stop or a lost cluster."""
_HELD = 2
"""Items that a replica holds at once: the next waits while it does the first."""
_AHEAD = 4
"""Items for each replica that may be in work or wait for their turn: one slow item does not stop the others at once."""
_LOSSES = 5
"""Deaths of replicas while working on an item from which on the item counts as the cause."""


class ReplicaSpread:
    """`Spread` over replicas, which it starts when the first stage has work."""

    def __init__(self, section: ScaleSection) -> None:
        self._section = section
        self._backend: Backend | None = None
        self._replicas: Replicas | None = None

    def __call__(self, work: Work[ItemT, ResultT], context: WorkContext) -> ReadyWork[ItemT, ResultT]:
        """Begin to open `work` on all replicas. Raises RunError where they cannot be had."""
        replicas = self._replicas or self._begin(context)
        team = Team(replicas, work, context)
        return lambda items: _Spreading(team, items, context).run()

    def close(self) -> None:
        """End replicas, leave the cluster."""
        if self._backend is not None:
            members = self._replicas.members if self._replicas else []
            self._backend.close([member.process for member in members])
        self._replicas = self._backend = None

    def _begin(self, context: WorkContext) -> Replicas:
        section, address = self._section, self._section.address
        self._backend = RayBackend(section, address, context.checkpoint) if address else LocalBackend(section)
        context.emit(self._backend.joined)
        self._replicas = Replicas(section.replicas, self._backend)
        return self._replicas


@contextmanager
def spreading(section: ScaleSection) -> Iterator[Spread]:
    """The `Spread` that the configuration asks for."""
    if section.replicas == 1 and section.address is None:
        yield in_process
        return
    if section.address is None:
        load_libraries(section.replicas)
    spread = ReplicaSpread(section)
    try:
        yield spread
    finally:
        spread.close()


class _Spreading:
    """Yields the result of each item, in order; items are drawn as they are needed.

    `waiting`: items drawn and not given yet, with their numbers. `done`: results that wait for their turn."""

    def __init__(self, team: Team, items: Iterable[Any], context: WorkContext) -> None:
        self.team = team
        self.context = context
        self.source = enumerate(items)
        self.waiting: deque[tuple[int, Any]] = deque()
        self.drawn = 0
        self.done: dict[int, Any] = {}
        self.turn = 0
        self.losses: Counter[int] = Counter()

    def run(self) -> Iterator[Any]:
        while self._give() or self.turn in self.done:
            self._checkpoint()
            done, lost = self.team.arrivals(0 if self.turn in self.done else _CHECK_EVERY)
            self.done.update(done)
            self._take_back(lost)
            if self.turn in self.done:
                self.turn += 1
                yield self.done.pop(self.turn - 1)

    def _checkpoint(self) -> None:
        """Where a stop is asked for: say what it costs."""
        self.team.backend.check()
        try:
            self.context.checkpoint()
        except BaseException:
            again = len(self.done) + sum(len(member.held) for member in self.team.members)
            self.context.notice(f"batches to do again after a resume: {again} (replicas had them)")
            raise

    def _give(self) -> bool:
        """Give items to replicas that can take them; False when none is left or in work."""
        members = self.team.members
        self._draw(len(members))
        # With few items left, a second one would wait at one replica while another replica is idle.
        most = _HELD if len(self.waiting) > len(members) else 1
        for held in range(most):
            for member in members:
                if self.waiting and member.ready and len(member.held) == held:
                    self.team.give(member, *self.waiting.popleft())
        return bool(self.waiting) or any(member.held for member in members)

    def _draw(self, members: int) -> None:
        while len(self.waiting) <= _HELD * members and self.drawn < self.turn + _AHEAD * members:
            entry = next(self.source, None)
            if entry is None:
                return
            self.waiting.append(entry)
            self.drawn += 1

    def _take_back(self, lost: list[LostItem]) -> None:
        """Put back the items of a dead replica, to be given first. Raises RunError for an item that kills replicas."""
        for loss in sorted(lost, key=lambda loss: -loss.index):
            self.losses[loss.index] += loss.started
            if self.losses[loss.index] >= _LOSSES:
                raise RunError(
                    what=f"{_LOSSES} replicas died, one after the other, on the same item (number {loss.index})",
                    where="scale",
                    hint="it may need more memory than a replica has: lower the batch size; details are in "
                    f"{self.team.backend.log}",
                )
            self.waiting.appendleft((loss.index, loss.item))
