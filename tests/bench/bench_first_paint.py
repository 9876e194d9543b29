"""From the start of the process to the first paint: what somebody waits for after typing `steer-tui`.

`python tests/bench/bench_first_paint.py [times [OTHER]]` starts the real console in a pseudo-terminal and watches for
the list's header; then it says which imports took longest. OTHER is another checkout: both are started in turns, with
the same Python, and the ratio of each pair is printed.
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

GOAL = 0.3
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


def in_turns(times: int, checkouts: list[str]) -> list[list[float]]:
    """Of each checkout, the seconds of each start; the starts of one round are a pair."""
    seconds: list[list[float]] = [[] for _ in checkouts]
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(-2, times):  # the first two compile the byte code and fill the file cache
            for place in range(len(checkouts)) if round_ % 2 else reversed(range(len(checkouts))):
                os.environ["PYTHONPATH"] = checkouts[place]
                took = first_paint(Path(folder))
                if round_ >= 0:
                    seconds[place].append(took)
    return seconds


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # whoever starts it a second time has the byte code
    checkouts = [
        str(Path(__file__).resolve().parents[2]),
        *(str(Path(other).resolve()) for other in sys.argv[2:3]),
    ]
    seconds = in_turns(times, checkouts)
    for checkout, took in zip(checkouts, seconds, strict=True):
        print(f"{checkout}: median {statistics.median(took) * 1000:.0f} ms, best {min(took) * 1000:.0f} ms, "
              f"worst {max(took) * 1000:.0f} ms of {times} (goal {GOAL * 1000:.0f} ms)")  # fmt: skip
    if len(seconds) == 2:
        ratios = [mine / theirs for mine, theirs in zip(*seconds, strict=True)]
        low, middle, high = statistics.quantiles(ratios)
        print(f"of the other's: {middle:.2f} [quartiles {low:.2f}, {high:.2f}]")
    print("imports, with all they bring along:", *slowest_imports(), sep="\n")


if __name__ == "__main__":
    main()
