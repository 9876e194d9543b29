"""The ready configurations for PathQuestion, run on small files in its format."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from engine.check.data import check_data
from engine.config.file import load_config
from engine.gflownet import layout
from tests.conftest import ROOT
from tests.engine.gflownet.pathquestion_files import write_files
from tests.engine.gflownet.small_run import run_stages

READY = sorted((ROOT / "configs" / "real").glob("gflownet_pathquestion_*.yaml"))


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_its_files_are_named_where_they_are_not_here(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    found = list(check_data(load_config(path)))
    assert [(one.kind, one.where) for one in found] == [
        ("absent", "graphs.path"),
        ("absent", "graphs.knowledge_base"),
    ]


def test_from_two_text_files_to_figures(tmp_path: Path):
    questions, base = write_files(tmp_path)
    changes = [
        f"graphs.path={questions}",
        f"graphs.knowledge_base={base}",
        "graphs.embedder=hashed",
        "graphs.train_size=96",
        "graphs.validation_size=12",
        "graphs.test_size=12",
        "retriever.epochs=2",
        "gflownet.steps=40",
        "gflownet.policy.hidden=16",
    ]
    assert len(READY) == 4
    config = load_config(READY[0], changes)
    run_stages(tmp_path / "run", ("graphs", "retriever", "agent-graphs", "gflownet"), config)
    with layout.metrics(tmp_path / "run").open(newline="") as file:
        table = {row.pop("method"): row for row in csv.DictReader(file)}
    assert {row["n"] for row in table.values()} == {"12"} and table["greedy"]["missed"] == "0"
    figures = {
        method: {name: float(value or 0) for name, value in row.items()} for method, row in table.items()
    }
    # One of nine walks of two steps is the gold path.
    assert figures["greedy"]["hits@1"] > 0.5 and figures["distinct"]["hits@1"] > 0.5
    assert figures["distinct"]["path_f1_union@1"] > 0.5
    # Every walk is listed, so recall says nothing of a setting. Without a bonus a path of one edge is worth most.
    assert figures["beam"]["edge_bonus"] > 0 and figures["beam"]["hits@1"] > 0
