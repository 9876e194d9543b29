"""`python -m engine.services.join RUN_DIR`: a process of a training of several (rank and address in the environment).

On one machine the run's worker starts these itself. On several:

    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint HOST:PORT -m engine.services.join RUN_DIR

on each of them, with the run folder on a file system that all see. Rank 0 becomes the run's worker and goes through
its stages; the others wait for the training, take part in it, and end with it.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from engine.config.file import load_config
from engine.errors import SteerError
from engine.gflownet.evaluation.questions import load_questions
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.training.rank_meeting import answer, dismiss, is_called
from engine.gflownet.training.rank_start import meeting_place, on_device, under_torchrun
from engine.gflownet.training.ranks import Together
from engine.gflownet.training.step_parts import StepParts
from engine.run.directory import RunDirectory
from engine.torch_file import torch_threads

BAD_INPUT = 2
_log = logging.getLogger("engine.services.join")


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
        work = StepParts(
            module.to(device), questions, config.run.seed, ranks, config.gflownet.parts or ranks.size
        )
        while work.follow():
            pass
        ranks.close()


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 the training is over or was stopped, 2 it cannot go on; rank 0's is else the worker's."""
    parser = argparse.ArgumentParser(prog="engine.services.join", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run_dir", type=Path)
    run_dir: Path = parser.parse_args(arguments).run_dir
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    if "RANK" not in os.environ:
        parser.error("no RANK in the environment: torchrun starts this")
    if under_torchrun() and os.environ["RANK"] != "0":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(
                number, signal.SIG_IGN
            )  # torchrun asks everybody; the leader stops in order and says so
    try:
        if os.environ["RANK"] == "0":
            return lead(run_dir)
        follow(run_dir)
    except SteerError as error:
        _log.error("%s", error)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
