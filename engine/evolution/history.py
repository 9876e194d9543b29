"""`history.json`: every finished iteration of the evolution, and all that follows from them (spec Evolution 7)."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.evolution.deltas import Deltas
from engine.evolution.scoring.score import Score
from engine.files import decoded, write_atomic
from engine.servers.spent import Spent


class Iteration(msgspec.Struct, frozen=True, kw_only=True):
    """One finished iteration.

    `deltas` were used for its minibatch `examples`. `validation`: score on the fixed validation set, where that decides
    and the iteration looked better than the best so far; `best`: it was better. `new_deltas` and `summary` are the
    reflector's; `aborted` says why there are none.
    """

    iteration: int
    deltas: Deltas
    examples: list[str]
    score: Score
    validation: Score | None = None
    best: bool = False
    new_deltas: Deltas | None = None
    summary: str = ""
    reflector: str = ""
    attempts: int = 0
    aborted: str = ""
    usage: Spent = Spent()

    @property
    def decided_by(self) -> Score:
        """The score that says whether it is the best."""
        return self.score if self.validation is None else self.validation

    @property
    def decided_on(self) -> str:
        """What that score was measured on, in words."""
        return "its minibatch" if self.validation is None else "the validation set"


class History(msgspec.Struct, kw_only=True):
    """The finished iterations, in order. A file names them even where there is none: one without has lost them."""

    iterations: list[Iteration]

    @property
    def best(self) -> Iteration | None:
        """The last iteration that was better than all before it."""
        return next((item for item in reversed(self.iterations) if item.best), None)

    @property
    def reached(self) -> float | None:
        """Composite of the best: on the validation set where that confirmed it, else on its minibatch."""
        best = self.best
        return None if best is None else best.decided_by.composite

    def is_best(self, score: Score) -> bool:
        """Whether a further iteration with this deciding score would be a new best: higher, not as high."""
        return self.reached is None or score.composite > self.reached

    @property
    def since_best(self) -> int:
        """Iterations since the best."""
        best = self.best
        return len(self.iterations) if best is None else len(self.iterations) - 1 - best.iteration

    @property
    def summary(self) -> str:
        """The evolving summary: what the reflector said it learnt, iteration by iteration."""
        return "\n".join(f"Iteration {i.iteration}: {i.summary}" for i in self.iterations if i.summary)

    @property
    def usage(self) -> Spent:
        """Cost of all iterations."""
        return sum((item.usage for item in self.iterations), Spent())

    def next_deltas(self, initial: Deltas) -> Deltas:
        """Deltas of the iteration to come: the reflector's last, or those used before if it gave none."""
        if not self.iterations:
            return initial
        last = self.iterations[-1]
        return dict(last.deltas if last.new_deltas is None else last.new_deltas)

    def aborted_in_a_row(self) -> int:
        """Iterations at the end without a reflector's reply."""
        return sum(1 for _ in takewhile(lambda item: item.aborted, reversed(self.iterations)))


def read_history(path: Path) -> History:
    """What `write_history` wrote; an empty history where there is none. Raises DataError."""
    if not path.is_file():
        return History(iterations=[])
    hint = "restore the file, or start a new run"
    history = decoded(path, History, "the history cannot be read", hint)
    if [item.iteration for item in history.iterations] != list(range(len(history.iterations))):
        raise DataError(
            what="the history's iterations are not 0, 1, 2, ...",
            where=str(path),
            hint="restore the file, or start a new run",
        )
    return history


def write_history(path: Path, history: History) -> None:
    """Write atomically, indented: people read it."""
    write_atomic(path, msgspec.json.format(msgspec.json.encode(history), indent=2) + b"\n")
