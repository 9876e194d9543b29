"""The file of a training: what comes back from it, and which files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import DataError
from engine.torch_file import load_torch, save_torch
from engine.training_state import TrainingState


def training(path: Path, seed: int, **shape: Any) -> tuple[TrainingState, torch.nn.Linear, torch.optim.Adam]:
    torch.manual_seed(seed)
    network = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters())
    parts = {"network": network, "optimizer": optimizer}
    return (
        TrainingState(path, "the checkpoint", {"hidden": 2, **shape}, parts, "begin anew"),
        network,
        optimizer,
    )


def test_a_restored_training_takes_the_same_next_step(tmp_path: Path) -> None:
    """Weights and the optimiser's moments come back, and where the training stood."""

    def step(network: torch.nn.Linear, optimizer: torch.optim.Adam) -> None:
        optimizer.zero_grad()
        network(torch.arange(3.0)).square().sum().backward()
        optimizer.step()

    state, network, optimizer = training(tmp_path / "s.pt", 0)
    assert state.restore({"step": 0}) == {"step": 0}
    step(network, optimizer)
    state.save({"step": 1})
    step(network, optimizer)
    resumed, other, its_optimizer = training(tmp_path / "s.pt", 1)
    assert resumed.restore({"step": 0}) == {"step": 1}
    step(other, its_optimizer)
    assert torch.equal(network.weight, other.weight)


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ({"hidden": 3}, "another hidden"),
        ({"rate": 1}, "another rate"),
        ({"hidden": 3, **dict.fromkeys("rsdtfge", 1)}, "d, e, f, g, hidden, r, s, t"),
    ],
)
def test_settings_that_differ_are_named(tmp_path: Path, shape: dict[str, Any], named: str) -> None:
    """Those the file has not, and those it alone has."""
    training(tmp_path / "s.pt", 0)[0].save({})
    with pytest.raises(DataError, match=f"the checkpoint was made with .*{named}"):
        training(tmp_path / "s.pt", 0, **shape)[0].restore({})
    training(tmp_path / "s.pt", 0, **shape)[0].save({})
    with pytest.raises(DataError, match=named):
        training(tmp_path / "s.pt", 0)[0].restore({})


@pytest.mark.parametrize(
    ("name", "value"), [("shape", None), ("network", {}), ("network", 5), ("optimizer", {}), ("step", ...)]
)
def test_a_file_with_other_contents_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / "s.pt"
    state, *_ = training(path, 0)
    state.save({"step": 1})
    contents = load_torch(path, "")
    contents.pop(name)
    save_torch(path, contents if value is ... else contents | {name: value})
    with pytest.raises(DataError, match="the checkpoint has another shape"):
        state.restore({"step": 0})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda c: c["network"]["weight"].fill_(float("nan")), "weight holds NaN"),
        (lambda c: c["network"]["bias"].fill_(float("inf")), "bias holds NaN or infinity"),
        (lambda c: c["optimizer"]["state"][0]["exp_avg"].fill_(float("nan")), "exp_avg holds NaN"),
        (lambda c: c["optimizer"]["state"][0].update(exp_avg=torch.ones(7)), r"exp_avg \[7\]"),
        (lambda c: c.update(step="1"), "step is a str"),
        (lambda c: c.update(step=-1), "step is -1"),
        (lambda c: c.update(step=10**30), "step is 1000"),
    ],
)
def test_numbers_that_no_training_wrote_are_told(tmp_path: Path, spoil: Any, words: str) -> None:
    path = tmp_path / "s.pt"
    state, network, optimizer = training(path, 0)
    network(torch.arange(3.0)).square().sum().backward()
    optimizer.step()
    state.save({"step": 1})
    assert training(path, 1)[0].restore({"step": 0}) == {"step": 1}
    contents = load_torch(path, "")
    spoil(contents)
    save_torch(path, contents)
    with pytest.raises(DataError, match=words) as caught:
        training(path, 1)[0].restore({"step": 0})
    assert caught.value.where == str(path) and caught.value.hint == "begin anew"


def test_a_position_that_is_no_count_may_be_any_number(tmp_path: Path) -> None:
    """A figure may be below zero, and a mark true; a count has up to 53 bits."""
    start = {"step": 0, "best": 0.0, "over": False}
    state, *_ = training(tmp_path / "s.pt", 0)
    for position in ({"step": (1 << 53) - 1, "best": -2.5, "over": True}, start | {"best": 1e300}):
        state.save(position)
        assert training(tmp_path / "s.pt", 1)[0].restore(start) == position
    state.save(start | {"step": 1 << 53})
    with pytest.raises(DataError, match="step is 9007199254740992"):
        state.restore(start)
