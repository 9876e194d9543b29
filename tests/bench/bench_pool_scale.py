"""The stage pool over a large table of embeddings: time and peak memory, and how they grow with rows and queries.

`python -m tests.bench.bench_pool_scale` writes a table of 1,000,000 x 512 floats to a temporary folder (2 GB, removed
at the end), runs the stage on parts of it in processes of their own, and writes results/pool_scale.csv. The model is a
rule that costs nothing: what is measured is everything else, the writing of every reply included.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config.config import Config
from engine.events import Event, StageProgress
from engine.files import csv_text, write_atomic
from engine.pool import layout
from engine.pool.data.dataset import Image
from engine.pool.data.records import RLData, RLQueryData, TrajectoryData
from engine.pool.pool_stage import PoolJob
from engine.pool.vqa.vqa import OnAnswer, VQAAsk, VQAReply
from engine.run.stage import StageContext
from engine.servers.spent import Spent

RESULTS = Path(__file__).parent / "results" / "pool_scale.csv"
ROWS, WIDTH, QUERIES = 1_000_000, 512, 1_000
SIZES = [
    (125_000, 1_000),
    (250_000, 1_000),
    (500_000, 1_000),
    (1_000_000, 1_000),
    (1_000_000, 500),
    (1_000_000, 250),
]
_AT_ONCE = 50_000


class LargeTable:
    """`rows` random embeddings; query q is near row 7 q. A demonstration's answer is its row modulo ten."""

    def __init__(self, path: Path, rows: int, queries: int) -> None:
        self.embeddings: NDArray[np.float32] = np.memmap(path, np.float32, "r", shape=(rows, WIDTH))
        self.query_ids: Sequence[str] = [str(number) for number in range(queries)]
        self.splits: Mapping[str, Sequence[str]] = {"train": self.query_ids, "heldout": []}

    def query_embedding(self, query_id: str) -> NDArray[np.float32]:
        return self.embeddings[7 * int(query_id)] + np.float32(0.1)

    def question(self, query_id: str) -> str:
        return "Which one?"

    def annotations(self, query_id: str) -> list[str]:
        return [str(int(query_id) % 10)] * 8 + ["none of them"] * 2

    def query_image(self, query_id: str) -> Image:
        return None

    def excluded(self, query_id: str) -> Sequence[int]:
        return [7 * int(query_id)]

    def demonstration(self, row: int) -> tuple[str, str]:
        return "Which one?", str(row % 10)

    def image(self, row: int) -> Image:
        return None


class LastAnswer:
    """Repeats the last demonstration's answer."""

    name = "last answer"

    def answer(self, asks: Sequence[VQAAsk], checkpoint: Callable[[], None], answered: OnAnswer) -> None:
        for number, ask in enumerate(asks):
            answered(number, VQAReply(answer=str(ask.demonstrations[1] % 10), spent=Spent(1)))


def rl_data(rows: int, queries: int) -> RLData:
    """Pools of 8 to 200 random rows, twelve trajectories each."""
    found: dict[str, RLQueryData] = {}
    for number in range(queries):
        draws = np.random.default_rng(number)
        pool = draws.choice(rows, int(draws.integers(8, 200)), replace=False).tolist()
        places = [draws.choice(len(pool), 2, replace=False).tolist() for _ in range(12)]
        trajectories = [
            TrajectoryData(pointer=two, vqa_correct=0, vqa_acc_score=0.0, gen_method="random")
            for two in places
        ]
        found[str(number)] = RLQueryData(
            query_id=str(number), candidate_pool_indices=pool, pointer_candidates=trajectories
        )
    return RLData(found)


def measure(path: Path, rows: int, queries: int) -> dict[str, float]:
    """One run of the stage in this process."""
    data = rl_data(rows, queries)
    began, cpu, first = time.perf_counter(), time.process_time(), [0.0]

    def emit(event: Event) -> None:
        if isinstance(event, StageProgress) and not first[0]:
            first[0] = time.perf_counter()

    before, most, done = _memory("RssAnon"), [0], threading.Event()
    watch = threading.Thread(target=_watch, args=(most, done))
    watch.start()
    with tempfile.TemporaryDirectory() as folder:
        context = StageContext("pool", Config(), Path(folder), emit, lambda: None, None)  # type: ignore[arg-type]
        PoolJob(context, LargeTable(path, rows, queries), LastAnswer(), data).run()
        ended, cpu_ended = time.perf_counter(), time.process_time()
        report = json.loads(layout.report(Path(folder)).read_text())
        size = sum(file.stat().st_size for file in layout.folder(Path(folder)).iterdir())
    done.set()
    watch.join()
    return {
        "rows": rows,
        "queries": queries,
        "search_s": round(first[0] - began, 2),
        "rest_ms_a_query": round(1000 * (ended - first[0]) / queries, 2),
        "total_s": round(ended - began, 2),
        "cpu_s": round(cpu_ended - cpu, 2),
        "own_memory_before_mb": before // 1024,
        "peak_own_memory_mb": most[0] // 1024,
        "peak_resident_mb": _memory("VmHWM") // 1024,
        "files_mb": round(size / 2**20, 1),
        "asked": report["asked"],
        "positive_after": report["after"]["positive"],
    }


def _memory(name: str) -> int:
    """In kB, of this process."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(name)).split()[1])


def _watch(most: list[int], done: threading.Event) -> None:
    while not done.wait(0.02):
        most[0] = max(most[0], _memory("RssAnon"))


def write_table(path: Path) -> None:
    """[ROWS, WIDTH] float32."""
    draws = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(0, ROWS, _AT_ONCE):
            file.write(draws.standard_normal((_AT_ONCE, WIDTH), dtype=np.float32).tobytes())


def main() -> None:
    """All sizes, the large ones last."""
    folder = Path(tempfile.mkdtemp(prefix="pool_scale."))
    try:
        path = folder / "table.bin"
        write_table(path)
        lines: list[dict[str, float]] = []
        for rows, queries in SIZES:
            command = [
                sys.executable,
                "-m",
                "tests.bench.bench_pool_scale",
                str(path),
                str(rows),
                str(queries),
            ]
            lines.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
            print(lines[-1], flush=True)
        write_atomic(RESULTS, csv_text(lines))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
