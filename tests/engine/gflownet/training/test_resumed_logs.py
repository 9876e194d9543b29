"""The logs of a training that goes on: what was written behind the last checkpoint is taken back."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from engine.events import Event, StageStarted
from tests.engine.gflownet.training.test_gflownet_stage import sampler_job


def test_lines_behind_the_checkpoint_are_taken_back_and_the_last_evaluation_before_it_is_shown(
    tmp_path: Path,
):
    """After step 25, reported at every tenth: two reports; of three evaluations the second is the last."""
    events: list[Event] = []
    job = sampler_job(tmp_path, events, log_every=10)
    job.training = SimpleNamespace(step=25, finished=True)
    job.log.write_text("".join(json.dumps({"step": step}) + "\n" for step in (10, 20, 30)))
    evaluated = [
        {"step": step, "success@2": step / 100, "path_hit_f1@3": step / 50, "reward": 1.0}
        for step in (15, 25, 35)
    ]
    job.validated.write_text("".join(json.dumps(line) + "\n" for line in evaluated))
    job._train()
    assert [json.loads(line)["step"] for line in job.log.read_text().splitlines()] == [10, 20]
    assert [json.loads(line) for line in job.validated.read_text().splitlines()] == evaluated[:2]
    assert job.note == ", val/success@2 0.25, val/path_hit_f1@3 0.50"
    (started,) = events
    assert isinstance(started, StageStarted) and (started.done, started.total, started.unit) == (
        25,
        40,
        "steps",
    )
