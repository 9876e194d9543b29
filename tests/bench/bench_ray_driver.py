"""How far the worker's own process goes when replicas do the work: results and events a second, and what stops it.

python -m tests.bench.bench_ray_driver [profile]

The replicas are *simulated*: threads of four processes that sleep for a fixed time and then give back a result that was
mined, or answered, for real. Up to 256 of them are driven by the real frame over a real Ray cluster, by what stages
`mine` and `eval` do with results: files, events, figures. `profile` says where the main thread is meanwhile.
"""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from engine import events as ev
from engine.config.file import load_config
from engine.config.scale import ScaleSection
from engine.esm.evaluation.eval_stage import _Job as EvaluateJob
from engine.esm.evaluation.eval_work import Answered, Answering
from engine.esm.mining.mine_stage import _Job as MineJob
from engine.esm.mining.mine_work import MinedExample, Mining
from engine.files import csv_text, write_atomic
from engine.lm.loading.load import load_model
from engine.run.event_log import EventLog
from engine.run.stage import StageContext
from engine.scale.replica import Opened
from engine.scale.replicas import Replicas
from engine.scale.spread import RaySpread
from engine.scale.work import WorkContext, in_process
from engine.tasks.example import TaskExample
from tests.kill_and_resume import DEMO

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class StandIn:
    """Sleeps for `latency` seconds an item, then gives back what `sample` says of other examples."""

    latency: float
    sample: Any

    def open(self, context: WorkContext) -> Callable[[Any], Any]:
        def wait(item: Any) -> Any:
            time.sleep(self.latency)
            return relabelled(self.sample, item)

        return wait


def relabelled(sample: Any, item: Any) -> Any:
    """The sample under the names of the item's examples."""
    if isinstance(sample, Answered):
        names = [example.id for example in item.examples]
        lines = [
            msgspec.structs.replace(line, index=item.first + place, example_id=name)
            for place, (line, name) in enumerate(zip(sample.lines, names, strict=False))
        ]
        return Answered(item.method, lines, sample.seconds)
    return [_renamed(one, example.id) for one, example in zip(sample, item, strict=False)]


def _renamed(one: MinedExample, name: str) -> MinedExample:
    pairs = []
    for pair in one.pairs:
        record = {**pair.record, "example_id": name}
        record["pair_id"] = f"{name}_m{record['control_point_m']}_l{record['layer']}"
        pairs.append(replace(pair, record=record))
    return replace(one, line={**one.line, "example_id": name}, pairs=pairs)


class Simulated:
    """Many replicas in one process: each call is a thread, and each replica does one item at a time."""

    def __init__(self) -> None:
        self.one_at_a_time: dict[int, threading.Lock] = defaultdict(threading.Lock)

    def start(self, number: int, work: Any, folder: str) -> Opened:
        here = WorkContext(None, None, None)  # type: ignore[arg-type]
        self.do_one = work.open(here)
        return Opened("simulated", os.getpid(), [], {}, [], 0.0)

    def do(self, number: int, item: Any) -> Any:
        with self.one_at_a_time[number]:
            return self.do_one(item)


class Handle:
    """A simulated replica as the frame calls one: `start.remote(…)`, `do.remote(…)`."""

    def __init__(self, process: Any, number: int) -> None:
        self.start = Method(process.start, number)
        self.do = Method(process.do, number)


class Method:
    def __init__(self, method: Any, number: int) -> None:
        self.method, self.number = method, number

    def remote(self, *arguments: Any) -> Any:
        return self.method.remote(self.number, *arguments)


class SimulatedReplicas(Replicas):
    """`section.replicas` threads of four processes."""

    processes: list[Any] = []

    def new_process(self, number: int) -> Any:
        import ray

        if not self.processes:
            kind: Any = ray.remote(Simulated)
            kind = kind.options(num_cpus=0, max_concurrency=160)
            self.processes.extend(kind.remote() for _ in range(4))
        return Handle(self.processes[number % 4], number)

    def check(self, opened: Opened, context: WorkContext) -> None:
        """They have no model, and no versions of their own."""


def take_in_nothing(folder: Path, emit: Any, count: int) -> tuple[Any, Callable[[Any], None]]:
    """The frame alone: items out, results in order."""
    return [[TaskExample(f"e{n}-{k}", "", "") for k in range(4)] for n in range(count)], lambda found: None


def take_in_mined(folder: Path, emit: Any, count: int) -> tuple[Any, Callable[[Any], None]]:
    """What stage mine does with results: vectors, lines."""
    config = load_config(DEMO, [])
    context = StageContext("mine", config, folder, emit, lambda: None, load_model)
    job = MineJob(context)
    items = [[TaskExample(f"e{n}-{k}", "", "") for k in range(4)] for n in range(count)]
    return items, job.record


def take_in_answered(folder: Path, emit: Any, count: int) -> tuple[Any, Callable[[Any], None]]:
    """What stage eval does with results: lines, running figures against greedy."""
    from engine.esm.evaluation.eval_work import Batch

    config = load_config(DEMO, ["eval.methods=[greedy]", "eval.ablations=[]"])
    context = StageContext("eval", config, folder, emit, lambda: None, load_model)
    examples = [TaskExample(f"e{n}", "", "") for n in range(4 * count)]
    job = EvaluateJob(context)
    job.names, job.examples = ["greedy", "esm"], examples
    job.lines = {"greedy": [], "esm": []}
    items = [Batch("esm", 4 * n, examples[4 * n : 4 * n + 4]) for n in range(count)]
    greedy = samples()["eval"]
    job.lines["greedy"] = [line for item in items for line in relabelled(greedy, item).lines]
    return items, job.record_batch


DRIVERS = {"frame": take_in_nothing, "mine": take_in_mined, "eval": take_in_answered}
_SAMPLES: dict[str, Any] = {}


def samples() -> dict[str, Any]:
    """A batch of four examples that was mined, and one that was answered, for real."""
    if not _SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            names = ["task.train_size=8", "task.eval_size=4", "offline_select.B=20"]
            config, caught = load_config(DEMO, names), {}
            loaded = load_model(config.model)

            def spread(work: Any, context: WorkContext) -> Any:
                made = in_process(work, context)

                def keeping(items: Any) -> Any:
                    for found in made(items):
                        caught[type(work)] = found
                        yield found

                return keeping

            from engine.run.registry import resolve_stage

            for name in ("mine", "select", "memory", "eval"):
                stage = resolve_stage(name)
                stage.run(
                    StageContext(
                        name,
                        config,
                        Path(folder),
                        lambda event: None,
                        lambda: None,
                        lambda section: loaded,
                        spread=spread,
                    )
                )
        # Those with most pairs: what a driver has to bear.
        mined = sorted(caught[Mining], key=lambda one: -len(one.pairs))[:4]
        _SAMPLES.update(frame=mined, mine=mined, eval=caught[Answering])
    return _SAMPLES


def measure(spread: RaySpread, name: str, replicas: int, latency: float, seconds: float) -> dict[str, Any]:
    """One row: a driver against so many simulated replicas for about `seconds`."""
    assert spread._cluster is not None
    spread._replicas = SimulatedReplicas(ScaleSection(engine="ray", replicas=replicas))
    count = max(8, min(int(seconds / latency * replicas), 4000))
    with tempfile.TemporaryDirectory() as folder:
        header = ev.Header(schema_version=1, name="bench", run_id="bench", seed=0, stages=[name])
        log, events = EventLog(Path(folder) / "events.jsonl", header), [0]

        def emit(event: ev.Event) -> None:
            events[0] += 1
            log.emit(event, name)

        items, take_in = DRIVERS[name](Path(folder), emit, count)
        here = WorkContext(None, lambda: None, emit)  # type: ignore[arg-type]
        results = spread(StandIn(latency, samples()[name]), here)(items)
        # From when the first item was begun: replicas are ready then.
        first = next(results)
        began, cpu, own = time.monotonic() - latency, time.process_time(), time.thread_time()
        take_in(first)
        done = 1
        for found in results:
            take_in(found)
            done += 1
            if time.monotonic() - began > 3 * seconds:
                break
        wall = time.monotonic() - began
        row = {
            "driver": name,
            "replicas": replicas,
            "latency_s": latency,
            "batches": done,
            "examples_a_second": round(4 * done / wall, 1),
            "ideal": round(4 * replicas / latency, 1),
            "share_of_ideal": round(done * latency / replicas / wall, 3),
            "events_a_second": round(events[0] / wall, 1),
            "main_thread_cpu": round((time.thread_time() - own) / wall, 3),
            "process_cpu": round((time.process_time() - cpu) / wall, 3),
        }
        results.close()  # type: ignore[attr-defined]
        log.close()
    return row


def opened() -> RaySpread:
    """A cluster without replicas of its own."""
    spread = RaySpread(ScaleSection(engine="ray", replicas=1), Path(tempfile.mkdtemp()))
    from engine.scale.cluster import Cluster

    spread._cluster = Cluster.join(spread._section, spread._folder, lambda: None)
    return spread


def driver(latency: float = 0.5, seconds: float = 6.0) -> None:
    """All drivers against 1 to 256."""
    samples()
    spread, rows = opened(), list[dict[str, Any]]()
    try:
        for name in DRIVERS:
            for replicas in (1, 4, 16, 64, 128, 256):
                rows.append(measure(spread, name, replicas, latency, seconds))
                print(rows[-1], flush=True)
    finally:
        spread._replicas = None
        spread.close()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    write_atomic(RESULTS / "ray_driver.csv", csv_text(rows))


def profile(replicas: int = 64, latency: float = 0.5) -> None:
    """Where the driver's main thread is, for mine and eval."""
    samples()
    spread = opened()
    text = io.StringIO()
    try:
        for name in ("frame", "mine", "eval"):
            watch = cProfile.Profile()
            watch.enable()
            row = measure(spread, name, replicas, latency, 6.0)
            watch.disable()
            text.write(f"\n{row}\n")
            pstats.Stats(watch, stream=text).strip_dirs().sort_stats("tottime").print_stats(14)
    finally:
        spread._replicas = None
        spread.close()
    print(text.getvalue())
    write_atomic(RESULTS / "ray_driver_profile.txt", text.getvalue())


if __name__ == "__main__":
    profile() if "profile" in sys.argv else driver()
