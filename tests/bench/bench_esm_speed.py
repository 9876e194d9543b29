"""The online controller against its literal reading, and against plain batched greedy, in one run.

    python -m tests.bench.bench_esm_speed [rounds]

The literal reading prefills for every capture, probe and commit, without a cache. Identical decisions are
asserted. Ratios are taken round by round, the median is printed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm import layout
from engine.esm.library.memory import EpisodicMemory
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.esm.online.variants import retrieving
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.lm.transformers.model import TransformersModel
from engine.tasks.loaders import load_task_dataset
from tests.bench.bench_esm_sweep import DEMO
from tests.literal_model import LiteralModel
from tests.run_stage import run_stage

T = TypeVar("T")
FEW, MANY = 4, 64


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Result and seconds."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def esm(model: LanguageModel, memory: EpisodicMemory, config: Config, count: int) -> list[Answer]:
    """Answers of the real controller."""
    examples = load_task_dataset("generated", None, "dev", count)
    prompts = [model.tokenizer.encode_chat(example.question) for example in examples]
    variant = retrieving("esm", memory, config.online)
    return Controller(model, config, variant).run([example.id for example in examples], prompts)


def greedy(model: LanguageModel, config: Config, count: int) -> int:
    """Tokens of plain batched greedy."""
    sampling = Sampling(config.decode.max_new_tokens)
    examples = load_task_dataset("generated", None, "dev", count)
    requests = [Request(model.tokenizer.encode_chat(example.question), sampling) for example in examples]
    return sum(len(completion.tokens) for completion in model.generate(requests))


def main(rounds: int) -> None:
    """Print both ratios."""
    config = load_config(DEMO, ["task.train_size=64", "online.record_null=false"])
    fast = TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=256)
    network = fast.network
    slow = LiteralModel(network.model, list(network.layers), fast.tokenizer, fast.info)
    with tempfile.TemporaryDirectory() as folder:
        for stage in (Mine(), Select(), BuildMemory()):
            run_stage(stage, config, Path(folder), fast)
        run_dir = Path(folder)
        memory = EpisodicMemory.load(layout.memory(run_dir), layout.library(run_dir), fast.info)
    literal, throughput = [], []
    for _ in range(rounds):
        a, fast_seconds = timed(lambda: esm(fast, memory, config, FEW))
        b, slow_seconds = timed(lambda: esm(slow, memory, config, FEW))
        assert [x.tokens for x in a] == [x.tokens for x in b]
        assert [[d.chosen for d in x.decisions] for x in a] == [[d.chosen for d in x.decisions] for x in b]
        literal.append(slow_seconds / fast_seconds)
        tokens, greedy_seconds = timed(lambda: greedy(fast, config, MANY))
        many, esm_seconds = timed(lambda: esm(fast, memory, config, MANY))
        spent = sum(len(x.tokens) + x.probe_tokens for x in many)
        throughput.append((spent / esm_seconds) / (tokens / greedy_seconds))
    print(f"literal / fast wall clock, {FEW} examples: {_spread(literal)}")
    print(f"ESM / greedy tokens per second (committed + probe), {MANY} examples: {_spread(throughput)}")


def _spread(values: list[float]) -> str:
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"median {middle:.2f} (min {low:.2f}, max {high:.2f}, {len(values)} rounds)"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
