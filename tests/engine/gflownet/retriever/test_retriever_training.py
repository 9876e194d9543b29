"""The retriever's training: its steps by hand, and settings that may not change on the way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config.gflownet import RetrieverSection
from engine.errors import DataError
from engine.gflownet.retriever.training import RetrieverTraining
from tests.engine.gflownet.retriever.test_retriever import OneGraph


def training(path: Path, **changes: Any) -> RetrieverTraining:
    return RetrieverTraining(4, RetrieverSection(hidden=8, **changes), 0, path / "retriever.pt", seed=5)


@pytest.mark.parametrize("name", ["epochs", "batch_size"])
def test_what_the_weights_depend_on_may_not_change(tmp_path: Path, name: str) -> None:
    training(tmp_path).save()
    with pytest.raises(DataError, match=f"was made with another {name} "):
        training(tmp_path, **{name: 7}).restore()


class TwoGraphs(OneGraph):
    """The same graph twice."""

    def __len__(self) -> int:
        return 2


def test_each_batch_has_a_gradient_of_its_own_and_the_loss_is_the_mean_over_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logit for each of two edges, one of them positive. Adam's first step is as long as the rate, so that the second
    batch finds 0.1 and -0.1: each is wrong by 1 / (1 + e^0.1), and the loss of both is log(1 + e^-0.1)."""
    begun = training(tmp_path, batch_size=1)
    logits = torch.nn.Parameter(torch.zeros(2))
    begun.optimizer = torch.optim.Adam([logits], lr=0.1)
    monkeypatch.setattr(begun, "model", lambda batch, tables: logits)
    data: Any = TwoGraphs(2)
    nothing: Any = None
    loss = begun.run_epoch(data, nothing, lambda: None)
    assert loss == pytest.approx((math.log(2) + math.log(1 + math.exp(-0.1))) / 2)
    wrong = 1 / (1 + math.exp(0.1))
    assert logits.grad is not None and logits.grad.tolist() == pytest.approx([-wrong / 2, wrong / 2])
