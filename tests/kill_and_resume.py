"""Run a system whole, run it again with SIGKILLs at random moments, compare every artefact byte by byte."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from app.runs.client import prepare_resume, prepare_run, start_worker
from engine.run.directory import RunDirectory
from tests.nursery import Nursery

SMALL = (
    "run.stages=[mine, select, memory, eval]",
    "task.train_size=24",
    "task.eval_size=16",
    "offline_mine.batch_size_examples=4",
    "online.batch_size_examples=4",
    "eval.batch_size_greedy=4",
    "eval.methods=[greedy, majority_vote, esm]",
    "eval.ablations=[no_probing, random_vector]",
)
SMALL_EVOLUTION = (
    "run.stages=[clusters, evolve]",
    "clusters.embedder=hashed",
    "clusters.frequency_texts=16",
    "evolution.iterations=3",
    "evolution.minibatch_size=8",
    "evolution.validation_size=16",
    "evolution.test_size=12",
    "evolution.pool_size=60",
    "evolution.batch_size=4",
)
SMALL_GFLOWNET = (
    "run.stages=[graphs, retriever, agent-graphs, gflownet, answer]",
    "graphs={nodes: 400, edges: 80, train_size: 40, validation_size: 10, test_size: 12, embedder: hashed, max_hops: 2}",
    "retriever={epochs: 3, hidden: 32}",
    "agent_graphs={anchor_top_k: 30, through_anchors: true}",
    "gflownet={steps: 40, batch_size: 8, num_eval_rollouts: 10, success_k: [1, 10], eval_every: 20, "
    "checkpoint_every: 10, policy: {hidden: 16}, num_train_rollouts: 4, gt_replay: reward, gt_loss_weight: 16.0, "
    "distinct_paths: true, estimator: {log_pb_mode: exact}}",
    "answer={reader: paths, token_budget: 40}",
)
SMALL_POOL = ("run.stages=[pool]", "pool={train_queries: 30, heldout_queries: 8, batch_size: 20}")
SMALL_SELECTOR = (
    "run.stages=[pool, selector]",
    "pool={train_queries: 30, heldout_queries: 8, max_eval_pairs: 20}",
    "selector={supervised_steps: 24, policy_steps: 24, rollouts: 3}",
)
SMALL_SLSM = (
    "run.stages=[slsm]",
    # One request at a time: lines are written as replies come.
    "slsm={controller: {kind: rules}, compare: [baseline, never, on_risk, always, on_detection], "
    "compare_memory: [structured, flat], data: {conversations: 16}, max_new_tokens: 16, batch_size: 8, concurrency: 1}",
)
SYSTEMS: dict[str, Sequence[str]] = {
    "esm": (*SMALL, "task.train_size=2", "task.eval_size=2", "offline_mine.K=4", "offline_mine.K_pos=2",
            "offline_mine.K_neg=2", "offline_mine.max_new_tokens=80", "offline_mine.batch_size_examples=1",
            "control_points.M=3", "online.batch_size_examples=1", "online.L=2", "online.probe_tokens=4",
            "decode.max_new_tokens=60", "eval.batch_size_greedy=1", "eval.ablations=[no_probing]"),
    "evolution": (*SMALL_EVOLUTION, "evolution.iterations=2", "evolution.minibatch_size=2", "evolution.pool_size=20",
                  "evolution.validation_size=2", "evolution.test_size=2", "evolution.batch_size=1"),
    "gflownet": SMALL_GFLOWNET,
    "pool": SMALL_POOL,
    "selector": (*SMALL_SELECTOR, "pool.train_queries=10", "pool.heldout_queries=4", "pool.max_eval_pairs=10",
                 "selector.supervised_steps=12", "selector.policy_steps=12"),
    "slsm": (*SMALL_SLSM, "slsm.data.conversations=6"),
}  # fmt: skip
"""A run of each system that takes seconds."""
MOST_KILLS = 3
_EARLY = 0.6
"""Of the seconds that the whole run worked: another attempt may be faster; each goes on where the last was killed."""
DEMO = Path(__file__).resolve().parent.parent / "configs" / "demo.yaml"


def prepared(outputs: Path, name: str, small: Sequence[str] = SMALL) -> RunDirectory:
    """A small run of the demo that has not begun; one process works, if nothing else is said."""
    overrides = ["scale.replicas=1", *small, f"run.outputs={outputs}", f"run.name={name}"]
    return prepare_run(DEMO, overrides, None)


def run_whole(run: RunDirectory, nursery: Nursery | None = None) -> float:
    """Run to the end, in a fresh process or one that a nursery forks; returns the seconds it took."""
    began = time.monotonic()
    if nursery is None:
        code = start_worker(run).wait(timeout=300)
    else:
        nursery.start(run.path.absolute())
        code = nursery.wait()
    assert code == 0, f"exit code {code}: {run.worker_log.read_text()[-2000:]}"
    return time.monotonic() - began


def run_killed(nurseries: Sequence[Nursery], run: RunDirectory, within: float, rng: random.Random) -> int:
    """Kill up to `MOST_KILLS` times, each at a moment drawn from 0 to `within` seconds of an attempt's work, then let
    it end; the kills that hit. Attempts take turns with the nurseries."""
    for attempt in range(MOST_KILLS):
        nursery = nurseries[attempt % len(nurseries)]
        told, ended = len(_log(run)), threading.Event()
        pid = nursery.start(run.path.absolute())
        killer = threading.Thread(
            target=_kill_at_work, args=(pid, run, told, rng.uniform(0, _EARLY * within), ended)
        )
        killer.start()
        code = nursery.wait()
        ended.set()
        killer.join()
        if code == 0:
            return attempt
        assert code == -signal.SIGKILL, f"exit code {code}: {run.worker_log.read_text()[-2000:]}"
        prepare_resume(run, None)
    run_whole(run, nurseries[MOST_KILLS % len(nurseries)])
    return MOST_KILLS


def _kill_at_work(pid: int, run: RunDirectory, told: int, seconds: float, ended: threading.Event) -> None:
    """Kill a worker some seconds after its log, beyond the first `told` bytes, says that a stage has begun."""
    while _BEGUN not in _log(run)[told:]:
        if ended.wait(0.005):
            return
    if not ended.wait(seconds):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def seconds_of_work(run: RunDirectory) -> float:
    """From the begin of a run's first stage to its end: what comes before is imports."""
    lines = _log(run).splitlines()
    begun = next(line for line in lines if line.startswith(_BEGUN))
    return json.loads(lines[-1])["time"] - json.loads(begun)["time"]


_BEGUN = b'{"type":"StageStarted"'


def _log(run: RunDirectory) -> bytes:
    return run.events.read_bytes() if run.events.exists() else b""


def artefacts(run: RunDirectory) -> dict[str, str]:
    """Digest of every file of the systems, by path. Left out: vector pictures, which hold ids drawn at random, LMDB's
    own files and their checksum, whose free pages tell of every commit, and the sampler's log, which has its speed."""
    roots = [path for name in SYSTEMS if (path := run.path / name).is_dir()]
    files = sorted(
        path
        for root in roots
        for path in root.rglob("*")
        if path.is_file() and path.suffix not in (".svg", ".mdb", ".crc32") and path.name != "training.jsonl"
    )
    return {path.relative_to(run.path).as_posix(): _digest(path) for path in files}


def _digest(path: Path) -> str:
    """Of a training state its content: the bytes tell which of its equal strings were one object."""
    if path.suffix != ".pt":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    digest = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            digest.update(f"{value.dtype}{tuple(value.shape)}".encode() + value.numpy().tobytes())
        elif isinstance(value, dict):
            for key, inner in value.items():
                digest.update(repr(key).encode())
                add(inner)
        elif isinstance(value, (list, tuple)):
            digest.update(f"{len(value)} items".encode())
            for inner in value:
                add(inner)
        else:
            digest.update(repr(value).encode())

    add(torch.load(path, weights_only=True))
    return digest.hexdigest()
