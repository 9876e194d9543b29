"""ESM: what its stages read is what is shared by, and a shared run is the run that was made alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs.client import prepare_run
from engine.run.worker import run_worker
from engine.sweep.grammar import read_axes
from engine.sweep.prepare import point_changes, prepare_sweep
from engine.sweep.results import stage_counts
from engine.sweep.runs import RunMaker
from tests.engine.sweep.conftest import made
from tests.kill_and_resume import DEMO, artefacts

TINY = (
    "run.stages=[mine, select, memory, eval]", "run.name=tiny", "task.train_size=8", "task.eval_size=4",
    "offline_mine.K=4", "offline_mine.verify=true", "eval.methods=[greedy, esm]", "eval.ablations=[]",
    "online.record_null=false",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("verify", "offline"), [("true", (2, 1)), ("false", (1, 2))])
def test_mining_is_shared_by_what_it_reads(tmp_path: Path, verify: str, offline: tuple[int, int]) -> None:
    # With verify, mining tries its vectors out with online.k_scale: so it is another with another one. Without it, and
    # online.L in any case, it never reads them. (A stage's counts: run anew, and shared.)
    specs = ("online.k_scale=1,4", "online.L=1,3")
    common = (*TINY, f"offline_mine.verify={verify}", f"run.outputs={tmp_path}")
    folder = prepare_sweep(DEMO, specs, read_axes(specs), common)
    maker = RunMaker(folder, folder.read())
    for point in maker.record.all_points[:3]:
        assert run_worker(made(maker, point).path) == 0
    runs = maker.made(maker.record.all_points)
    assert stage_counts(run.read() for run in runs) == {
        "mine": offline, "select": offline, "memory": offline, "eval": (3, 0),
    }  # fmt: skip
    assert maker.record.choose_on == "dev"
    alone = prepare_run(DEMO, [*common, *point_changes(maker.record, maker.record.all_points[1])])
    assert run_worker(alone.path) == 0
    assert artefacts(runs[1]) == artefacts(alone)
