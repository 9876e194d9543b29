"""What it costs to report decisions when they are taken: tokens per second of ESM, against reporting after each batch.

    python -m tests.bench.bench_esm_live [rounds]

Both ways write the same events of the same answers into a log on the disk; only the moment differs. A round decodes a
batch of 32 problems each way, in turn the one and the other first. CPU seconds of this process, so that others at work
on the machine do not count; the ratio is taken round by round. Beside it the share of those seconds that writing the
events takes while the batch is decoded.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm import layout
from engine.esm.evaluation.eval_work import Answering, Batch
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import EpisodicMemory
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.events import Event, Header
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import LanguageModel
from engine.lm.transformers.model import TransformersModel
from engine.run.event_log import EventLog
from engine.scale.work import WorkContext
from engine.tasks.loaders import load_task_dataset
from tests.bench.bench_esm_sweep import DEMO
from tests.run_stage import run_stage

BATCH = 32


def tokens_per_second(
    config: Config, model: LanguageModel, memory: EpisodicMemory, log: EventLog, live: bool
) -> tuple[float, float]:
    """Committed and probe tokens a CPU second; the share of that time that events took while the batch was decoded."""
    held: list[Event] = []
    writing = 0.0

    def emit(event: Event) -> None:
        nonlocal writing
        began = time.process_time()
        if live:
            log.emit(event, "eval")
        else:
            held.append(event)
        writing += time.process_time() - began

    context = WorkContext(lambda s: model, lambda: None, emit)
    answer: Callable = Answering(config, Sources(memory=memory)).open(context)
    examples = load_task_dataset("generated", None, "dev", BATCH)
    began = time.process_time()
    done = answer(Batch("esm", 0, examples))
    for event in held:
        log.emit(event, "eval")
    seconds = time.process_time() - began
    return sum(line.budget_used for line in done.lines) / seconds, writing / seconds


def main(rounds: int) -> None:
    """Print the ratio, live to batch by batch."""
    config = load_config(DEMO, ["task.train_size=24"])
    model = TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=256)
    ratios: list[float] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for stage in (Mine(), Select(), BuildMemory()):
            run_stage(stage, config, Path(folder), model)
        memory = EpisodicMemory.load(layout.memory(Path(folder)), layout.library(Path(folder)), model.info)
        log = EventLog(
            Path(folder) / "events.jsonl", Header(schema_version=1, name="b", run_id="b", seed=0, stages=[])
        )
        tokens_per_second(config, model, memory, log, True)
        for number in range(rounds):
            order = (True, False) if number % 2 else (False, True)
            found = {live: tokens_per_second(config, model, memory, log, live) for live in order}
            (tokens, share), (by_batch, _) = found[True], found[False]
            ratios.append(tokens / by_batch)
            shares.append(share)
            print(
                f"round {number}: {tokens:.0f} live, {by_batch:.0f} by batch, {share:.2%} in events",
                flush=True,
            )
    quarters = statistics.quantiles(ratios, n=4)
    print(
        f"tokens per second, live / by batch: median {statistics.median(ratios):.4f} "
        f"(quartiles {quarters[0]:.4f} to {quarters[2]:.4f}, {min(ratios):.4f} to {max(ratios):.4f}, {rounds} rounds); "
        f"events take {statistics.median(shares):.2%} (up to {max(shares):.2%})"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
