"""The stages pool and selector together: files, events, stops, kills, bad input."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml

from engine.config.config import Config
from engine.config.run import RunSection
from engine.config.stages import STAGES
from engine.errors import DataError
from engine.events import (
    Event,
    Notice,
    SelectorCompared,
    SelectorPicked,
    SelectorStep,
    StageStarted,
    decode,
    encode,
)
from engine.pool import layout
from engine.pool.data.digits import DigitsDataset
from engine.pool.pool_stage import BuildPools
from engine.pool.selector import layout as selector_layout
from engine.pool.selector.selector_stage import TrainSelector, _SelectorRun
from engine.pool.vqa.digits_vqa import DigitsVQA
from engine.run.gate import StopRequested
from engine.run.registry import resolve_stage
from engine.run.stage import StageContext, StageResult
from tests.exactly import exactly
from tests.kill_and_resume import SMALL_SELECTOR
from tests.run_stage import run_stage

SMALL = {name: yaml.safe_load(value) for name, value in (line.split("=", 1) for line in SMALL_SELECTOR[1:])}
STEPS = 48


def small_config(**changes: Any) -> Config:
    return Config.model_validate(SMALL | {"selector": SMALL["selector"] | changes})


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    run_stage(BuildPools(), small_config(), folder)
    return folder


@pytest.fixture(scope="module")
def whole(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    shutil.copytree(pools, folder)
    return folder, run_stage(TrainSelector(), small_config(), folder)


@pytest.fixture
def folder(pools: Path, tmp_path: Path) -> Path:
    """A run directory of its own with the same pools."""
    shutil.copytree(pools, tmp_path / "run")
    return tmp_path / "run"


def of_type(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_stage_is_known_by_its_name() -> None:
    assert isinstance(resolve_stage("selector"), TrainSelector) and STAGES["selector"].needs == ("pool",)


def test_the_curve_is_logged_and_kept(whole: tuple[Path, list[Event]]) -> None:
    folder, events = whole
    steps: list[SelectorStep] = of_type(events, SelectorStep)
    log = lines(selector_layout.training_log(folder))
    assert [step.step for step in steps] == [line["step"] for line in log] == [10, 20, 30, 40, 48]
    assert [step.loss for step in steps] == [line["loss"] for line in log]
    looked = [step.step for step in steps if step.heldout_accuracy is not None]
    assert looked == [40, 48]
    # 24 steps with 32 queries and 3 rollouts; of 8 held-out queries 4 random pairs, RICES' and those of two looks.
    asks = f"with up to {24 * 32 * 3 + 8 * (4 + 1 + 2)} pairs"
    assert [notice.text for notice in of_type(events, Notice)] == [
        f"the selector may ask {DigitsVQA.name} {asks}"
    ]
    assert of_type(events, StageStarted)[0] == StageStarted(total=STEPS, done=0, unit="steps")


def test_figures_are_those_of_the_picks(whole: tuple[Path, list[Event]]) -> None:
    """Table, events and picks tell the same, and the last look at the held-out queries is the selector's row."""
    folder, events = whole
    rows = {row.method: row for row in of_type(events, SelectorCompared)}
    assert list(rows) == ["random", "rices", "selector"]
    table = {
        row["method"]: row
        for row in csv.DictReader(io.StringIO(selector_layout.comparison(folder).read_text()))
    }
    picked: list[SelectorPicked] = of_type(events, SelectorPicked)
    assert len(picked) == 8 == len(lines(selector_layout.picks(folder)))
    for method, row in rows.items():
        assert float(table[method]["accuracy"]) == row.accuracy and int(table[method]["n"]) == row.n == 8
        by_query = [[pick.score for pick in event.picks if pick.method == method] for event in picked]
        assert {len(scores) for scores in by_query} == {4 if method == "random" else 1}
        means = [sum(score or 0 for score in scores) / len(scores) for scores in by_query]
        assert row.accuracy == pytest.approx(sum(means) / 8)
        assert row.low <= row.accuracy <= row.high <= 1
    assert rows["rices"].difference is None and rows["selector"].difference is not None
    assert of_type(events, SelectorStep)[-1].heldout_accuracy == pytest.approx(rows["selector"].accuracy)


def test_the_verdict_s_curve_keeps_a_look_at_which_nothing_was_right(
    whole: tuple[Path, list[Event]], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(whole[0], tmp_path / "run"))
    log = selector_layout.training_log(folder)
    steps = lines(log)
    assert [step["step"] for step in steps][3:] == [40, 48]
    steps[3]["heldout_accuracy"] = 0.0
    log.write_text("".join(json.dumps(step) + "\n" for step in steps))
    results: list[StageResult] = []
    run_stage(TrainSelector(), small_config(), folder, results=results)
    assert results[0].verdict is not None
    assert results[0].verdict.curve == [0.0, steps[4]["heldout_accuracy"]]


def test_picks_point_into_their_pools(whole: tuple[Path, list[Event]]) -> None:
    _, events = whole
    dataset = DigitsDataset(0, train=1, heldout=8)
    for event in of_type(events, SelectorPicked):
        assert len(event.pool) == 64 and sum(event.answers.values()) == 10 and len(event.picture) == 64
        assert event.question == dataset.question(event.query_id)
        for pick in event.picks:
            assert [event.pool[place] for place in pick.pointer] == pick.pair
            assert (pick.probability is not None) == (pick.method == "selector")
        assert decode(encode(event)) == event


def test_baselines_are_known_before_training(whole: tuple[Path, list[Event]]) -> None:
    kinds = [type(event) for event in whole[1]]
    assert kinds.index(SelectorCompared) < kinds.index(SelectorStep)
    first = of_type(whole[1], SelectorCompared)[:2]
    assert [row.method for row in first] == ["random", "rices"]


def test_it_learns(folder: Path) -> None:
    """On the queries it was taught, the share of probability on fully right trajectories grows."""
    events = run_stage(TrainSelector(), small_config(supervised_steps=80, policy_steps=80), folder)
    steps: list[SelectorStep] = of_type(events, SelectorStep)
    taught = [step.expected_score for step in steps if step.phase == "supervised"]
    assert sum(taught[-4:]) / 4 > taught[0] + 0.1


def test_stopped_anywhere_it_ends_the_same(whole: tuple[Path, list[Event]], folder: Path) -> None:
    stops, draws = 0, random.Random(1)
    for _ in range(60):
        left = [draws.randrange(1, 25)]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        context = StageContext("selector", small_config(), folder, lambda event: None, checkpoint, None)  # type: ignore[arg-type]
        try:
            TrainSelector().run(context)
        except StopRequested:
            stops += 1
        else:
            break
    assert 3 <= stops < 59
    for path in (
        selector_layout.training_log,
        selector_layout.picks,
        selector_layout.comparison,
        layout.evaluated,
    ):
        assert path(folder).read_bytes() == path(whole[0]).read_bytes()
    first, other = (
        torch.load(selector_layout.checkpoint(run), weights_only=True) for run in (folder, whole[0])
    )
    assert first["step"] == other["step"] == STEPS
    assert all(torch.equal(first["selector"][name], other["selector"][name]) for name in first["selector"])


def test_the_first_weights_belong_to_the_runs_seed(folder: Path) -> None:
    """Whatever was drawn in this process before."""

    def weights(seed: int) -> dict[str, torch.Tensor]:
        torch.rand(3)
        config = small_config().model_copy(update={"run": RunSection(seed=seed)})
        context = StageContext("selector", config, folder, lambda event: None, lambda: None, None)  # type: ignore[arg-type]
        run = _SelectorRun(context)
        assert run.training.steps == STEPS
        return run.selector.state_dict()

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


class Steps:
    """A training of 23 steps that only counts."""

    steps = 23

    def __init__(self, step: int = 0) -> None:
        self.step, self.saved = step, list[int]()

    def update(self) -> int:
        self.step += 1
        return self.step

    def save(self) -> None:
        self.saved.append(self.step)


def test_checkpoints_are_written_every_ten_steps_at_the_end_and_at_a_stop(tmp_path: Path) -> None:
    """Reports come every seventh step, when the held-out queries are looked at, and at the end; those that a log holds
    from behind the checkpoint are written again."""
    stopped, reported = Steps(), list[int]()

    def checkpoint() -> None:
        if stopped.step == 14:
            raise StopRequested

    run: Any = object.__new__(_SelectorRun)
    run.section = SimpleNamespace(log_every=7, eval_every=4)
    run.context, run.log = SimpleNamespace(checkpoint=checkpoint), tmp_path / "training.jsonl"
    run._report, run.training = reported.append, stopped
    run.log.write_text("".join(f'{{"step": {step}}}\n' for step in (4, 7, 8)))
    with pytest.raises(StopRequested):
        run._train()
    assert (stopped.saved, reported) == ([10, 14], [4, 7, 8, 12, 14]) and run.log.read_text() == ""
    run.training = resumed = Steps(14)
    stopped.step = 0
    run.log.write_text("".join(f'{{"step": {step}}}\n' for step in (4, 7, 8, 12, 14, 16)))
    run._train()
    assert (resumed.saved, reported[5:]) == ([20, 23], [16, 20, 21, 23])
    assert [line["step"] for line in lines(run.log)] == [4, 7, 8, 12, 14]


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("path", [layout.rl_data, layout.heldout])
def test_without_pools_there_is_one_clear_error(folder: Path, path: Any) -> None:
    path(folder).unlink()
    with pytest.raises(DataError, match="run the stage `pool` of this run first"):
        run_stage(TrainSelector(), small_config(), folder)


def test_pools_of_another_size_are_named(folder: Path) -> None:
    data = json.loads(layout.rl_data(folder).read_text())
    data["train-0003"]["candidate_pool_indices"].append(1)
    layout.rl_data(folder).write_text(json.dumps(data))
    with pytest.raises(
        DataError,
        match=exactly(
            "its pool has 65 candidates, not 64 (query train-0003): run the stage pool again: it makes every pool"
            " the same size and its pointers fit"
        ),
    ):
        run_stage(TrainSelector(), small_config(), folder)


def test_no_heldout_query_is_named(folder: Path) -> None:
    layout.heldout(folder).write_text("{}")
    with pytest.raises(
        DataError,
        match=exactly(
            "there is no query (…/run/pool/heldout.json): give held-out queries and training queries, then run "
            "pool"
        ),
    ):
        run_stage(TrainSelector(), small_config(), folder)


def test_settings_that_train_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing is trained"):
        small_config(supervised_steps=0, policy_steps=0)
