"""The file from which a training goes on: its settings, its weights, its optimiser and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.nn import Module
from torch.optim import Optimizer

from engine.errors import DataError
from engine.torch_file import load_torch, save_torch


@dataclass(frozen=True)
class TrainingState:
    """`name`: what an error calls it; `shape`: settings and sizes on which the weights depend; `parts`: whatever is
    restored in place, by its name in the file. `mend`: what to do about a file that does not fit."""

    path: Path
    name: str
    shape: Mapping[str, Any]
    parts: Mapping[str, Module | Optimizer]
    mend: str

    def save(self, position: Mapping[str, Any]) -> None:
        """Write the parts, and where the training stands, atomically."""
        states = {name: part.state_dict() for name, part in self.parts.items()}
        save_torch(self.path, {"shape": dict(self.shape), **states, **position})

    def restore(self, start: Mapping[str, Any]) -> Mapping[str, Any]:
        """Restore the parts and return the saved position, which has the names of `start`; without a file, `start`
        itself. Raises DataError for a file of other settings or with other weights."""
        if not self.path.is_file():
            return start
        state = load_torch(self.path, self.mend)
        try:
            self._compare(dict(state["shape"]))
            for name, part in self.parts.items():
                part.load_state_dict(state[name])
            return {name: state[name] for name in start}
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise self._error(f"has another shape: {error}") from error

    def _compare(self, saved: Mapping[str, Any]) -> None:
        differing = sorted(name for name in {*self.shape, *saved} if saved.get(name) != self.shape.get(name))
        if differing:
            raise self._error(f"was made with another {', '.join(differing)}")

    def _error(self, what: str) -> DataError:
        return DataError(what=f"{self.name} {what}", where=str(self.path), mend=self.mend)
