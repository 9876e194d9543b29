"""How the cost of a thing grows with its number, in processor seconds of one thread: where does the line bend?

    python -m tests.bench.bench_growth retrieval | sweep | events
    python -m tests.bench.bench_growth decoding MODEL     (a folder or a GGUF file; the embedded model by default)

retrieval: one decision's nearest entries, of memories of 10² to 10⁶ keys (896 numbers each, six control points).
decoding: tokens/s of 1 to 64 texts at once, 64 tokens each. sweep: reading and ranking a sweep of 10 to 100 runs.
events: opening a run of 10⁴ to 10⁶ events for the first time, its events folded.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.state.run import RunState
from engine import events as ev
from engine.config.esm import OnlineSection
from engine.config.models.model import ModelSection
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.decide import retrieve
from engine.lm.loading.load import load_model
from engine.lm.protocol import Request, Sampling
from engine.sweep.results import SweepReader
from tests.bench.bench_long_log import write_run
from tests.engine.sweep.test_results import make_sweep

HIDDEN, POINTS = 896, 6


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The median of its processor time."""
    times: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def table(title: str, rows: list[tuple[int, float]], unit: str, scale: float) -> None:
    """A row a size: the figure, and its growth beside that of the size, from the row before."""
    print(f"| {title} | {unit} | growth of cost over growth of number |\n|---:|---:|---:|")
    before: tuple[int, float] | None = None
    for size, figure in rows:
        slope = f"{figure / before[1] / (size / before[0]):.2f}" if before else ""
        print(f"| {size:,} | {figure * scale:,.2f} | {slope} |", flush=True)
        before = size, figure


def retrieval() -> None:
    generator = np.random.default_rng(0)
    vector, rows = np.ones(HIDDEN, dtype=np.float32), list[tuple[int, float]]()
    for size in (100, 1_000, 10_000, 100_000, 1_000_000):
        entries = [Entry(str(row), 0, row % POINTS, 1.0, vector, "x") for row in range(size)]
        memory = EpisodicMemory.of(entries, generator.standard_normal((size, HIDDEN), dtype=np.float32))
        state = generator.standard_normal((1, HIDDEN), dtype=np.float32)

        def decide(memory: EpisodicMemory = memory, state: np.ndarray = state) -> None:
            for m in range(1, POINTS + 1):
                retrieve(memory, m, state, OnlineSection())

        rows.append((size, seconds(decide, 7) / POINTS))
    table("entries", rows, "ms a decision", 1e3)


def decoding(path: str = "arithmetic") -> None:
    model = load_model(
        ModelSection(backend="transformers" if os.path.exists(path) else "embedded", path=path)
    )
    prompt = model.tokenizer.encode_chat(
        "Omar has 42 toys. Then Omar makes 1. How many toys does Omar have now?"
    )
    rows: list[tuple[int, float]] = []
    for size in (1, 4, 16, 64):
        requests = [Request(prompt, Sampling(64, 1.0), seed=row) for row in range(size)]
        tokens = sum(len(one.tokens) for one in model.generate(requests))
        cost = seconds(lambda requests=requests: model.generate(requests), 3)
        rows.append((size, cost / tokens * size))
    table("texts at once", rows, "ms for a token of each", 1e3)
    print("tokens/s: " + ", ".join(f"{size / cost:,.0f}" for size, cost in rows))


def sweep() -> None:
    rows: list[tuple[int, float]] = []
    for settings in (5, 15, 50):
        with tempfile.TemporaryDirectory() as folder:
            made = make_sweep(Path(folder), [10 + number % 25 for number in range(settings)])
            rows.append((2 * settings, seconds(lambda made=made: SweepReader(made).read(), 3)))
    table("runs", rows, "ms", 1e3)


def events() -> None:
    rows: list[tuple[int, float]] = []
    for size in (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            write_run(Path(folder), size)
            lines = next(Path(folder).glob("long/*/events.jsonl")).read_bytes().splitlines()

        def fold(lines: list[bytes] = lines) -> None:
            state = RunState()
            for line in lines:
                state.apply(ev.decode(line))

        rows.append((len(lines), seconds(fold, 1)))
    table("events", rows, "s", 1.0)


if __name__ == "__main__":
    {"retrieval": retrieval, "decoding": decoding, "sweep": sweep, "events": events}[sys.argv[1]](
        *sys.argv[2:]
    )
