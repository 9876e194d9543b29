"""Parquet files without the package that reads them, which not every user has."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.check.data import check_data
from engine.config.file import load_config
from engine.errors import DataError
from engine.gflownet.graphs.sources import make_source
from engine.tasks.records import read_records

HINT = r"pip install 'steer-tui\[parquet\]'"


@pytest.fixture(autouse=True)
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.parquet.find_spec", lambda name: None)


def test_a_data_set_says_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    path.touch()
    with pytest.raises(DataError, match=HINT) as caught:
        next(iter(read_records(path)))
    assert str(path) in str(caught.value)


def test_a_check_says_it_of_graphs(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}-0.parquet").touch()
    settings = ["run.stages=[graphs]", "graphs.dataset=rog", f"graphs.path={tmp_path}"]
    (tmp_path / "run.yaml").touch()
    config = load_config(tmp_path / "run.yaml", settings)
    with pytest.raises(DataError, match=HINT):
        make_source(config.graphs, 0)
    hints = [finding.hint for finding in check_data(config)]
    assert "pip install 'steer-tui[parquet]'" in hints
