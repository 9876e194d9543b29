"""A worker killed while a batch is decoded: its decisions are told again, and stand once wherever they are read."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from app.ctl.decisions import decisions
from app.runs.client import prepare_resume
from app.state.run import RunState
from engine.comparison.run_items import read_items
from engine.events import DecisionTaken, ExampleEvaluated, PairMined, RolloutEnded, decode
from engine.files import read_jsonl
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from tests.kill_and_resume import SYSTEMS, artefacts, prepared, run_whole
from tests.nursery import Nursery

SMALL = (
    *SYSTEMS["esm"], "task.eval_size=6", "online.batch_size_examples=6", "offline_mine.batch_size_examples=2",
    "eval.batch_size_greedy=6", "decode.max_new_tokens=160", "control_points.M=4",
)  # fmt: skip


def killed_after(run: RunDirectory, sign: bytes, nursery: Nursery) -> None:
    """Kill the run's worker as soon as its log holds `sign`."""
    worker = nursery.start(run.path.absolute())
    until = time.monotonic() + 240
    while not (run.events.exists() and sign in run.events.read_bytes()):
        assert time.monotonic() < until, run.worker_log.read_text()[-2000:]
        time.sleep(0.002)
    os.kill(worker, signal.SIGKILL)
    assert nursery.wait() == -signal.SIGKILL
    prepare_resume(run, None)


def test_what_is_told_twice_stands_once_and_the_files_are_those_of_a_run_never_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, "killed", SMALL)
    with Nursery(1, ("mine", "select", "memory", "eval")) as nursery:
        run_whole(whole, nursery)
        killed_after(run, b'{"type":"RolloutEnded"', nursery)
        killed_after(run, b'{"type":"PairMined"', nursery)
        assert not (run.path / "esm/mine/pairs.jsonl").exists(), "the batch was through"
        killed_after(run, b'"method":"esm","example"', nursery)
        lines = run.path / "esm/eval/esm/per_example.jsonl"
        assert not lines.exists() or not lines.read_bytes(), "the batch was through"
        run_whole(run, nursery)
    assert artefacts(run) == artefacts(whole)
    told = Counter(_key(decode(line)) for line in run.events.read_bytes().splitlines())
    again = {key[0] for key, times in told.items() if key and times > 1}
    assert {DecisionTaken, RolloutEnded, PairMined} <= again, "the kills hit no batch"
    states = [_folded(run), _folded(whole)]
    answers = {
        method: read_jsonl(run.path / f"esm/eval/{method}/per_example.jsonl")
        for method in ("esm", "no_probing")
    }
    steps = sum(len(line["steps"]) for method in answers.values() for line in method)
    for state in states:
        assert len(state.esm.decisions) == steps
        assert len(state.esm.rollouts) == 8, "2 examples, 4 draws"
        assert len(state.esm.pairs) == len(read_jsonl(run.path / "esm/mine/pairs.jsonl")) > 0
    assert states[0].esm.ledger == states[1].esm.ledger
    assert _table(states[0]) == _table(states[1])
    items = [{key: len(arm.items) for key, arm in read_items(one.path).arms.items()} for one in (run, whole)]
    assert items[0] == items[1] and items[0]["ESM", "esm"] == 6
    capsys.readouterr()
    assert decisions([run], "", as_json=True) == 0
    assert len(capsys.readouterr().out.splitlines()) == steps


def _key(event: object) -> tuple[object, ...]:
    if isinstance(event, DecisionTaken):
        return DecisionTaken, event.method, event.example, event.phase, event.m
    if isinstance(event, RolloutEnded):
        return RolloutEnded, event.example, event.draw
    if isinstance(event, PairMined):
        return PairMined, event.pair, event.steered_correct
    if isinstance(event, ExampleEvaluated):
        return ExampleEvaluated, event.method, event.example
    return ()


def _folded(run: RunDirectory) -> RunState:
    state = RunState()
    tail = LogReader(run.events)
    while entries := tail.poll():
        for entry in entries:
            state.apply(*entry)
    return state


def _table(state: RunState) -> list[tuple[object, ...]]:
    """The rows of the table without their places, by key."""
    table = state.esm.decisions
    names = [name for name in table.TYPES if name not in ("seq", "length", "offset")]
    texts = {"method", "example", "phase", "gate", "chosen", "ended"}
    return sorted(
        tuple(table.text(n, row) if n in texts else repr(table.column(n)[row]) for n in names)
        for row in range(len(table))
    )
