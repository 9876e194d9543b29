"""`python -m engine join RUN`: a process of a training of several (rank and address in the environment).

On one machine the run's worker starts these itself. On several:

    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint HOST:PORT -m engine join RUN

on each of them, with the run folder on a file system that all see. Rank 0 becomes the run's worker and goes through
its stages; the others wait for the training, take part in it, and end with it.
"""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from pathlib import Path

from engine.config.file import load_config
from engine.errors import RunError, SteerError
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.training.rank_meeting import answer, dismiss, is_called
from engine.gflownet.training.rank_start import meeting_place, on_device, under_torchrun
from engine.gflownet.training.ranks import Together
from engine.gflownet.training.step_worker import StepWorker
from engine.run.directory import RunDirectory
from engine.torch_file import torch_threads

_log = logging.getLogger(__name__)


def lead(run_dir: Path) -> int:
    """Rank 0 under torchrun: the run's worker. A run that was stopped is no failure: torchrun is not to restart it."""
    from engine.run.worker import STOPPED, run_worker

    code = run_worker(run_dir)
    if code in (0, STOPPED):
        with suppress(SteerError, RuntimeError):
            dismiss(meeting_place())
    return 0 if code == STOPPED else code


def follow(run_dir: Path) -> None:
    """Any other rank: computes its parts of every step until the leader has no more. Raises RanksFailed when the
    leader is gone."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = meeting_place()
    if not is_called(store):
        return
    config = load_config(RunDirectory(run_dir).config)
    with on_device(config.gflownet.device) as device, torch_threads(1):
        tables = EmbeddingTables.load(run_dir)
        module = GFlowNetModule(tables.width, config.gflownet)
        questions = load_questions(run_dir, "train", tables, module)
        met = answer(store, rank)
        if met is None:
            return
        ranks = Together(met, rank, size, device)
        _log.info("rank %d of %d, on %s", rank, size, device)
        work = StepWorker(
            module.to(device), questions, config.run.seed, ranks, config.gflownet.parts or ranks.size
        )
        while work.follow():
            pass
        ranks.close()


def join(run_dir: Path) -> int:
    """The exit code: 0 the training is over or was stopped; rank 0's is else the worker's. Raises RanksFailed when the
    training cannot go on, RunError outside of a training."""
    if "RANK" not in os.environ:
        raise RunError(what="no RANK in the environment", where=str(run_dir), mend="torchrun starts this")
    if os.environ["RANK"] == "0":
        return lead(run_dir)
    if under_torchrun():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # it asks everybody; the leader stops in order and says so
    follow(run_dir)
    return 0
