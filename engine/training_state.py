"""The file from which a training goes on: its settings, its weights, its optimiser and where it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module
from torch.optim import Optimizer

from engine.errors import DataError
from engine.torch_file import load_torch, save_torch


@dataclass
class BestWeights:
    """The weights with which `module` did best on validation: `value` is the highest figure so far, `at` the step or
    epoch behind which it was reached. Of equals, the earliest are kept."""

    module: Module
    value: float = -math.inf
    at: int = 0
    weights: dict[str, torch.Tensor] = field(default_factory=dict)

    def offer(self, value: float, at: int) -> bool:
        """Keep the module's weights if `value` is the highest so far, which NaN never is; whether they were kept."""
        if not value > self.value:
            return False
        self.value, self.at = value, at
        self.weights = {name: weight.clone() for name, weight in self.module.state_dict().items()}
        return True

    def use(self) -> None:
        """Load them into the module; without any, its own stay."""
        if self.weights:
            self.module.load_state_dict(self.weights)

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes."""
        return {"value": self.value, "at": self.at, "weights": self.weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Raises KeyError, TypeError or ValueError for weights of another module."""
        weights, current = dict(state["weights"]), self.module.state_dict()
        if weights and {n: w.shape for n, w in weights.items()} != {n: w.shape for n, w in current.items()}:
            raise ValueError("the best weights are those of another network")
        self.value, self.at, self.weights = float(state["value"]), _position("at", state["at"], 0), weights


Part = Module | Optimizer | BestWeights
UNFIT = (ArithmeticError, AttributeError, KeyError, RuntimeError, TypeError, ValueError)
"""What loading weights of another network, or without numbers, raises."""


def check_numbers(part: Part) -> None:
    """Raises ArithmeticError where weights, or an optimiser's moments, hold NaN or infinity, and ValueError for moments
    of another shape than their weights, which torch takes without a word."""
    if isinstance(part, Module):
        numbers = list(part.state_dict().items())
    elif isinstance(part, BestWeights):
        numbers = list(part.weights.items())
    else:
        numbers = []
        for weight, moments in part.state.items():
            for name, value in moments.items():
                if isinstance(value, torch.Tensor) and value.ndim:
                    if value.shape != weight.shape:
                        raise ValueError(f"{name} {list(value.shape)} of weights {list(weight.shape)}")
                    numbers.append((name, value))
    for name, value in numbers:
        if isinstance(value, torch.Tensor) and not bool(value.isfinite().all()):
            raise ArithmeticError(f"{name} holds NaN or infinity")


def _position(name: str, value: Any, start: Any) -> Any:
    """Raises TypeError for a position of another kind, ValueError for a count below zero."""
    if isinstance(start, int) and not isinstance(value, int):
        raise TypeError(f"{name} is a {type(value).__name__}, not a number")
    if type(start) is int and not 0 <= value < 1 << 53:
        raise ValueError(f"{name} is {value}")
    return value


@dataclass(frozen=True)
class TrainingState:
    """`name`: what an error calls it; `shape`: settings and sizes on which the weights depend; `parts`: whatever is
    restored in place, by its name in the file. `hint`: what to do about a file that does not fit."""

    path: Path
    name: str
    shape: Mapping[str, Any]
    parts: Mapping[str, Part]
    hint: str

    def save(self, position: Mapping[str, Any]) -> None:
        """Write the parts, and where the training stands, atomically."""
        states = {name: part.state_dict() for name, part in self.parts.items()}
        save_torch(self.path, {"shape": dict(self.shape), **states, **position})

    def restore(self, start: Mapping[str, Any]) -> Mapping[str, Any]:
        """Restore the parts and return the saved position, which has the names of `start`; without a file, `start`
        itself. Raises DataError for a file of other settings or with other weights."""
        if not self.path.is_file():
            return start
        state = load_torch(self.path, self.hint)
        try:
            self._compare(dict(state["shape"]))
            for name, part in self.parts.items():
                part.load_state_dict(state[name])
                check_numbers(part)
            return {name: _position(name, state[name], start[name]) for name in start}
        except ArithmeticError as error:
            raise self._error(f"cannot be continued: {error}") from error
        except UNFIT as error:
            raise self._error(f"has another shape: {str(error)[:500]}") from error

    def _compare(self, saved: Mapping[str, Any]) -> None:
        differing = sorted(name for name in {*self.shape, *saved} if saved.get(name) != self.shape.get(name))
        if differing:
            raise self._error(f"was made with another {', '.join(differing)}")

    def _error(self, what: str) -> DataError:
        return DataError(what=f"{self.name} {what}", where=str(self.path), hint=self.hint)
