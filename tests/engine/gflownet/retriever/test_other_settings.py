"""Which settings of a retriever that goes on may not have changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config.gflownet import RetrieverSection
from engine.errors import DataError
from engine.gflownet.retriever.training import RetrieverTraining


def training(path: Path, **changes: Any) -> RetrieverTraining:
    return RetrieverTraining(4, RetrieverSection(hidden=8, **changes), 0, path / "retriever.pt", seed=5)


@pytest.mark.parametrize("name", ["epochs", "batch_size"])
def test_what_the_weights_depend_on_may_not_change(tmp_path: Path, name: str) -> None:
    training(tmp_path).save()
    with pytest.raises(DataError, match=f"was made with another {name} "):
        training(tmp_path, **{name: 7}).restore()
