"""What the console sends to the terminal, which an ssh line has to carry.

`python -m tests.bench.bench_terminal_bytes [RUN] [seconds]` opens a run (without RUN: a synthetic one) in
pseudo-terminals of three sizes and counts the bytes of a second: while nothing happens, and while the log is
played at 16 times its speed.
"""

from __future__ import annotations

import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

from tests.made_run import create_run

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.synthetic_run import SyntheticRun, write_log

SIZES = ((80, 24), (120, 40), (200, 60))


class Terminal:
    """The console in a pseudo-terminal; what it sends is read at once and counted."""

    def __init__(self, arguments: list[str], size: tuple[int, int]) -> None:
        columns, lines = size
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "OMP_NUM_THREADS": "1"}
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(sys.executable, [sys.executable, "-m", "app.cli", *arguments])

    def count(self, seconds: float) -> int:
        """Bytes sent in `seconds`."""
        total, end = 0, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._descriptor], [], [], left)[0]:
                total += len(os.read(self._descriptor, 1 << 16))
        return total

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())

    def close(self) -> None:
        """End the console."""
        os.kill(self.pid, 15)
        try:
            while os.read(self._descriptor, 1 << 16):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self._descriptor)


def measure(run: str, size: tuple[int, int], seconds: float) -> tuple[float, float]:
    """Bytes a second: idle, and playing."""
    terminal = Terminal([run], size)
    try:
        terminal.count(8.0)
        idle = terminal.count(seconds)
        terminal.type("0")
        terminal.count(1.0)
        terminal.type("..,")
        terminal.count(1.0)
        return idle / seconds, terminal.count(seconds) / seconds
    finally:
        terminal.close()


def main() -> None:
    given = [argument for argument in sys.argv[1:] if not argument.replace(".", "").isdigit()]
    seconds = next((float(a) for a in sys.argv[1:] if a not in given), 15.0)
    with tempfile.TemporaryDirectory() as folder:
        run = given[0] if given else str(_synthetic(Path(folder)))
        for size in SIZES:
            idle, playing = measure(run, size, seconds)
            print(
                f"{size[0]:3}×{size[1]}: idle {idle / 1000:7.2f} kB/s, playing {playing / 1000:7.2f} kB/s",
                flush=True,
            )


def _synthetic(folder: Path) -> Path:
    run = create_run(folder, "demo", seed=7, stages=["eval"], config={}, config_text="{}\n", versions={})
    write_log(run.events, SyntheticRun(examples=200).events())
    return run.path


if __name__ == "__main__":
    main()
