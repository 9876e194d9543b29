"""What a frame of a chart costs, beside the same frame of an earlier commit.

    python -m tests.bench.bench_chart [COMMIT] [COLUMNSxLINES] [ROUNDS]

Both trees draw the same series in turns, each in a process of its own on one thread. Printed are the least milliseconds
of processor time of each, since whatever else the machine does only adds, and the median ratio of the turns.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
BEFORE = "eca55fe"
"""The last commit that drew its lines without plotext."""
FRAMES = 12


def cases() -> dict[str, list[object]]:
    """Charts as the console has them: figures of some steps, curves of a training, a raw line under its mean."""
    from app.methods.chart import Series, with_mean

    chance = random.Random(1)
    noise = {n: [3 * math.exp(-4 * i / n) + chance.gauss(0, 0.3) for i in range(n)] for n in (600, 100_000)}
    return {
        "two lines of 20 points": [
            Series(f"line {k}", range(20), [math.sin(i / 5 + k) for i in range(20)]) for k in range(2)
        ],
        "four lines of 1,000 points": [
            Series(f"line {k}", range(1000), [math.sin(i / 100 + k) + k for i in range(1000)])
            for k in range(4)
        ],
        "600 raw points and their mean": [*with_mean("loss", range(600), noise[600])],
        "100,000 raw points and their mean": [*with_mean("loss", range(100_000), noise[100_000])],
    }


def measure(columns: int, lines: int) -> dict[str, float]:
    """Milliseconds of processor time of the fastest of some frames, by case."""
    from rich.style import Style

    from screens.widgets.charts.plot import Frame, draw_plot

    names = ("title", "axis", "faint", "cross", "point", "line-0", "line-1", "line-2", "line-3")
    styles = {name: Style.null() for name in names}
    found = {}
    for name, series in cases().items():
        spent = []
        for _ in range(FRAMES):
            begun = time.process_time()
            draw_plot(series, Frame(columns, lines, "y", "x"), styles)  # type: ignore[arg-type]
            spent.append(time.process_time() - begun)
        found[name] = 1000 * min(spent)
    return found


def measured_in(tree: Path, size: str) -> dict[str, float]:
    """What this file measures with the modules of `tree`."""
    command = [sys.executable, str(Path(__file__)), "--measure", size]
    done = subprocess.run(
        command,
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    """Print a row for each case."""
    commit, size, rounds = (*sys.argv[1:], *(BEFORE, "200x60", "5")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as name:
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", name], input=packed.stdout, check=True)
        turns = [(measured_in(Path(name), size), measured_in(ROOT, size)) for _ in range(int(rounds))]
    print(f"{size}, {rounds} turns of {FRAMES} frames\n{'':36}{commit:>10}{'now':>8}{'ratio':>8}")
    for case in turns[0][0]:
        before, now = (min(turn[side][case] for turn in turns) for side in (0, 1))
        ratio = median(turn[1][case] / turn[0][case] for turn in turns)
        print(f"{case:36}{before:7.1f} ms{now:5.1f} ms{ratio:8.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        columns, lines = sys.argv[2].split("x")
        print(json.dumps(measure(int(columns), int(lines))))
    else:
        main()
