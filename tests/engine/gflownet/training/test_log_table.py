"""The table of a training's figures."""

from __future__ import annotations

from engine.gflownet.training.log_table import log_table


def test_each_figure_has_its_split_and_each_row_its_step() -> None:
    training = [
        {"step": step, "loss": loss, "residual_quantiles": [1.0, 2.0], "trajectories_per_second": 9.0}
        for step, loss in ((1, 0.5), (3, 0.25))
    ]
    rows, columns = log_table(
        training, [{"step": 2, "steps": 3, "success": 0.1}], {"step": 3, "success": 0.4}
    )
    assert rows == [
        {"step": 1, "train/loss": 0.5}, {"step": 2, "val/success": 0.1}, {"step": 3, "train/loss": 0.25},
        {"step": 3, "test/success": 0.4},
    ]  # fmt: skip
    assert columns == ["step", "train/loss", "val/success", "test/success"]
