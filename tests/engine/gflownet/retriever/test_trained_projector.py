"""The retriever's projector, which the sampler may share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import DataError
from engine.gflownet import layout
from engine.gflownet.retriever.trained_projector import trained_projector
from engine.gflownet.sampler.projector import EmbeddingProjector
from tests.exactly import exactly

HINT = (
    "run the stage retriever of this version, without retriever.scores; or let the sampler learn a projection "
    "of its own: "
    "gflownet.embedder.use_retriever_projector: false"
)


def saved(run_dir: Path, state: Any) -> None:
    path = layout.retriever_checkpoint(run_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)


def weights(projector: EmbeddingProjector) -> dict[str, torch.Tensor]:
    return {f"projector.{name}": value for name, value in projector.state_dict().items()}


def test_it_has_the_weights_that_were_best_on_validation(tmp_path: Path) -> None:
    best, last = EmbeddingProjector(3, 2), EmbeddingProjector(3, 2)
    saved(
        tmp_path,
        {"best": {"weights": weights(best) | {"head.weight": torch.ones(1)}}, "weights": weights(last)},
    )
    found = trained_projector(tmp_path, 3, 2)
    for name, value in best.state_dict().items():
        assert torch.equal(found.state_dict()[name], value), name


@pytest.mark.parametrize(
    "state",
    [
        {}, {"best": None}, {"best": {"weights": {}}}, {"best": {"weights": weights(EmbeddingProjector(4, 2))}},
        {"best": {"weights": {k: v * torch.nan for k, v in weights(EmbeddingProjector(3, 2)).items()}}},
    ],
)  # fmt: skip
def test_a_checkpoint_without_a_fitting_projector_is_told(tmp_path: Path, state: Any) -> None:
    saved(tmp_path, state)
    words = f"the retriever's projector cannot be used: … (…/retriever.pt): {HINT}"
    with pytest.raises(DataError, match=exactly(words)):
        trained_projector(tmp_path, 3, 2)


def test_without_a_trained_retriever_the_ways_out_are_told(tmp_path: Path) -> None:
    words = f"no retriever was trained here whose projector could be used (…/retriever.pt): {HINT}"
    with pytest.raises(DataError, match=exactly(words)):
        trained_projector(tmp_path, 3, 2)
