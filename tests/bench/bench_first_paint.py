"""From the start of the process to the first paint: what somebody waits for after typing `steer-tui`.

`python tests/bench/bench_first_paint.py [times]` starts the real console in a pseudo-terminal and watches for
the list's header; then it says which imports took longest.
"""

from __future__ import annotations

import os
import pty
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 0.5
_SIGN = b"status"  # a column of the list of runs
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")


def first_paint(folder: Path, sign: bytes = _SIGN, arguments: tuple[str, ...] = ()) -> float:
    """Seconds until `sign` is on the screen."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        os.execv(sys.executable, [sys.executable, "-m", "app.cli", *arguments])
    seen = b""
    while sign not in seen:
        ready, _, _ = select.select([terminal], [], [], 20)
        if not ready:
            raise TimeoutError(seen[-500:])
        seen += os.read(terminal, 65536)
    took = time.perf_counter() - began
    os.kill(pid, 15)
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return took


def slowest_imports(count: int = 12) -> list[str]:
    """The imports that take longest with all they bring along, from `-X importtime`."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import app.cli, app.shell"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [_IMPORT.match(line) for line in done.stderr.splitlines()]
    rows = [(int(m[2]), int(m[1]), m[4]) for m in found if m and len(m[3]) <= 5]
    return [f"{total / 1000:8.1f} ms  {name}" for total, _, name in sorted(rows, reverse=True)[:count]]


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory() as folder:
        first_paint(Path(folder))  # byte code is compiled, files are in the cache
        took = sorted(first_paint(Path(folder)) for _ in range(times))
    print(f"first paint: median {statistics.median(took) * 1000:.0f} ms, best {took[0] * 1000:.0f} ms, "
          f"worst {took[-1] * 1000:.0f} ms of {times} (goal {GOAL * 1000:.0f} ms)")  # fmt: skip
    print("imports, with all they bring along:", *slowest_imports(), sep="\n")


if __name__ == "__main__":
    main()
