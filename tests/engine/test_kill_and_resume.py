"""Of every system a small run in real processes: killed at random moments, or out of room, and resumed, it leaves the
same files as one that was left alone."""

from __future__ import annotations

import csv
import json
import random
import resource
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.runs.client import prepare_resume
from engine.events import SelectorCompared, SelectorStep, StageFinished, decode
from engine.pool import layout as pool_layout
from engine.run.directory import RunDirectory
from engine.slsm import layout as slsm_layout
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.kill_and_resume import SYSTEMS, artefacts, prepared, run_killed, run_whole, seconds_of_work
from tests.nursery import Nursery

SMALL = {name: [*settings] for name, settings in SYSTEMS.items()}
SMALL["esm"] += ["eval.ablations=[no_probing, random_vector]", "task.train_size=6"]
# random_vector draws; with six examples the first kill hits mining, which draws as well.

Whole = Callable[[str], RunDirectory]
Nurseries = tuple[Nursery, Nursery]


@pytest.fixture(scope="module")
def nurseries() -> Iterator[Nurseries]:
    """Two, which hash strings differently."""
    with Nursery(1) as first, Nursery(2) as second:
        yield first, second


@pytest.fixture(scope="module")
def whole(nurseries: Nurseries, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """`whole("esm")`: a run that nothing stopped; made once."""

    @cache
    def make(system: str) -> RunDirectory:
        run = prepared(tmp_path_factory.mktemp(system), "whole", SMALL[system])
        run_whole(run, nurseries[0])
        return run

    return make


@pytest.fixture
def killed(nurseries: Nurseries, whole: Whole, tmp_path: Path) -> Callable[[str], RunDirectory]:
    """`killed("esm")`: a run that was killed and ended with the files of the whole one."""

    def make(system: str) -> RunDirectory:
        expected = whole(system)
        run = prepared(tmp_path, "killed", SMALL[system])
        assert run_killed(nurseries, run, seconds_of_work(expected), random.Random(9)) > 0
        assert artefacts(run) == artefacts(expected)
        return run

    return make


Killed = Callable[[str], RunDirectory]


@pytest.mark.parametrize(
    ("system", "last"),
    [
        ("esm", "esm/tables/main_results_single.csv"),
        ("evolution", "evolution/history.json"),
        ("gflownet", "gflownet/paths.jsonl"),
    ],
)
def test_killed_run_equals_whole_run(killed: Killed, system: str, last: str) -> None:
    assert last in artefacts(killed(system))


def test_killed_pool_asks_no_pair_twice(killed: Killed) -> None:
    run = killed("pool")
    pairs = [(line["query_id"], *line["pair"]) for line in lines(pool_layout.evaluated(run.path))]
    assert len(pairs) == len(set(pairs)), "a pair was asked twice"
    verdict = run.read().stages["pool"].verdict
    with pool_layout.oracle(run.path).open() as file:
        rows = list(csv.DictReader(file))
    before, after = ([float(row[name]) for row in rows] for name in ("oracle_before", "oracle_after"))
    assert verdict is not None and (verdict.n, verdict.graded) == (len(rows), True)
    assert (verdict.value, verdict.baseline_value) == pytest.approx((np.mean(after), np.mean(before)))
    assert verdict.fixed == sum(a > b for a, b in zip(after, before, strict=True)) and not verdict.broken
    assert verdict.low <= verdict.difference <= verdict.high


def test_killed_selector_asks_no_pair_twice(killed: Killed) -> None:
    run = killed("selector")
    assert "selector/comparison.csv" in artefacts(run)
    asked = [(line["query_id"], tuple(line["pair"])) for line in lines(pool_layout.evaluated(run.path))]
    assert len(asked) == len(set(asked))
    events = [decode(line) for line in run.events.read_bytes().splitlines()]
    # Killed between its last event and the run's record, a stage reports twice that it has finished.
    *_, finished = (
        event for event in events if isinstance(event, StageFinished) and event.stage == "selector"
    )
    assert {"selector", "rices", "random", "selector_minus_rices"} <= set(finished.summary)
    assert all((run.path / name).is_file() for name in finished.files)
    verdict = finished.verdict
    assert verdict is not None and run.read().stages["selector"].verdict == verdict
    rows = {event.method: event for event in events if isinstance(event, SelectorCompared)}
    own, rices = rows["selector"], rows["rices"]
    assert (verdict.n, verdict.value, verdict.baseline_value) == (own.n, own.accuracy, rices.accuracy)
    steps = {event.step: event.heldout_accuracy for event in events if isinstance(event, SelectorStep)}
    assert verdict.curve == pytest.approx([score for score in steps.values() if score is not None], abs=1e-3)
    assert (verdict.difference, verdict.low, verdict.high) == (
        own.difference, own.difference_low, own.difference_high,
    )  # fmt: skip


def test_killed_slsm_analyses_no_turn_twice(killed: Killed) -> None:
    run = killed("slsm")
    for name in ("states", "answers", "detections", "verdicts", "results"):
        found = getattr(slsm_layout, name)(run.path).read_text().splitlines()
        assert len(found) == len(set(found)) > 0
    keys = [
        (line["conversation_id"], line["memory_mode"], line["turn"])
        for line in lines(slsm_layout.states(run.path))
    ]
    turns = sum(len(dialogue.turns) + 1 for dialogue in generate_dialogues(6, 0))
    assert len(keys) == len(set(keys)) == 2 * turns, "a turn was analysed twice, or skipped"


def test_no_room_is_told_and_resuming_ends_as_if_nothing_had_been(
    nurseries: Nurseries, whole: Whole, tmp_path: Path
) -> None:
    """A worker that may write no file longer than half of the whole run's log stops in the middle; with room it goes
    on."""
    expected = whole("esm")
    run = prepared(tmp_path, "cramped", SMALL["esm"])
    most = expected.events.stat().st_size // 2
    resource.prlimit(nurseries[1].start(run.path.absolute()), resource.RLIMIT_FSIZE, (most, most))
    assert nurseries[1].wait() == 1
    failure = run.read().failure
    assert "cannot write" in failure and "free some space" in failure
    prepare_resume(run, None)
    run_whole(run, nurseries[0])
    assert artefacts(run) == artefacts(expected)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
