"""The weights that did best on validation: which are kept, what is written, and what of it is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from engine.errors import DataError
from engine.training_state import BestWeights, TrainingState


def network(weight: float, width: int = 1) -> nn.Linear:
    made = nn.Linear(width, 1, bias=False)
    nn.init.constant_(made.weight, weight)
    return made


def test_the_highest_figure_wins_the_earliest_of_equals_and_never_nan():
    module = network(0)
    best = BestWeights(module)
    best.use()
    assert float(module.weight) == 0, "nothing is kept yet"
    kept = []
    for at, value in enumerate((math.nan, -0.5, 0.2, 0.2, 0.1, 0.7, math.nan), 1):
        nn.init.constant_(module.weight, at)
        kept.append(best.offer(value, at))
    assert kept == [False, True, True, False, False, True, False]
    assert (best.value, best.at) == (0.7, 6)
    best.use()
    assert float(module.weight) == 6


def state(path: Path, best: BestWeights) -> TrainingState:
    return TrainingState(path, "the checkpoint", {}, {"best": best}, "start again")


def test_they_come_back_from_the_file(tmp_path: Path):
    first, second = BestWeights(network(3)), BestWeights(network(0))
    first.offer(0.25, 40)
    state(tmp_path / "x.pt", first).save({})
    state(tmp_path / "x.pt", second).restore({})
    second.use()
    assert (second.value, second.at, float(second.module.weight)) == (0.25, 40, 3)  # type: ignore[arg-type]


def test_before_the_first_validation_there_are_none_to_come_back(tmp_path: Path) -> None:
    state(tmp_path / "x.pt", BestWeights(network(3))).save({})
    again = BestWeights(network(0))
    state(tmp_path / "x.pt", again).restore({})
    assert (again.value, again.at, again.weights) == (-math.inf, 0, {})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"weights": {"weight": torch.zeros(1, 2)}}, "another network"),
        ({"weights": {"other": torch.zeros(1, 1)}}, "another network"),
        ({"weights": {"weight": torch.full((1, 1), math.nan)}}, "NaN or infinity"),
        ({"weights": {"weight": 3}}, "another shape"),
        ({"weights": 3}, "another shape"),
        ({"at": -1}, "at is -1"),
        ({"at": "x"}, "not a number"),
    ],
)
def test_those_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], named: str):
    best = BestWeights(network(3))
    best.offer(0.25, 40)
    torch.save({"shape": {}, "best": best.state_dict() | change}, tmp_path / "x.pt")
    with pytest.raises(DataError, match=named):
        state(tmp_path / "x.pt", BestWeights(network(0))).restore({})
