"""A process that has the libraries loaded and forks a worker for each run it is told of.

It saves the seconds in which a fresh process imports: a kill then hits work. The forked worker is a process like any
other (own session, own log, own lock); a nursery and its workers share how Python hashes strings, so use two.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from engine.processes.engine_process import engine_environment


class Nursery:
    """The starting side, a context manager."""

    def __init__(self, seed: int, stages: Sequence[str] = ()) -> None:
        """`seed`: of the hashes of strings. `stages`: what is loaded is what these need; without any, all libraries."""
        environment = engine_environment() | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": str(seed)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.nursery", *stages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._line()

    def start(self, run: Path) -> int:
        """Fork a worker for `run`; its pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{run}\n")
        self._process.stdin.flush()
        return int(self._line())

    def wait(self) -> int:
        """Wait for the worker's end; its exit code, negative for a signal."""
        return int(self._line())

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def serve(stages: Sequence[str]) -> None:
    """The forking side."""
    gc.disable()
    from transformers.models.qwen2 import modeling_qwen2

    from engine.config.stages import STAGES
    from engine.run import worker
    from engine.run.registry import resolve_stage

    assert modeling_qwen2 and worker and all(resolve_stage(name) for name in stages or STAGES)
    if not stages:
        import sentence_transformers
        import sklearn.cluster
        import torch_geometric

        assert sentence_transformers and sklearn.cluster and torch_geometric
    gc.freeze()
    gc.enable()
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _work(Path(line.strip()))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _work(run: Path) -> None:
    """Be a worker, as `app.runs.client.start_worker` would start it."""
    from engine.__main__ import main

    code = 1
    try:
        os.setsid()
        with (run / "worker.log").open("ab") as log, open(os.devnull, "rb") as nothing:
            for stream, number in ((nothing, 0), (log, 1), (log, 2)):
                os.dup2(stream.fileno(), number)
        code = main(["run", str(run)])
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1:])
