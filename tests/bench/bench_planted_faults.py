"""Faults of one line each, planted in the program: do the tests notice?

    python -m tests.bench.bench_planted_faults [.coverage] [TABLE.csv] [ROOM ...]

results/planted_faults.csv, or the table that is named, has a line for each: `old` stands once in `file`, and `new`
takes its place; `tests` are the ones that are to notice it, below tests/, with spaces between; where there are none,
those that run its lines by the coverage file (see covering_tests). `first` says whether it was noticed before tests
were added for those of its set that were not, where that is known. A fault whose `noticed` is empty is planted in a
copy of the committed files, and its tests are run there until one fails; to plant faults again, empty their `noticed`.
Rooms (`screens`, `app`, `engine/serve`) say which faults to look at; none means all.
"""

from __future__ import annotations

import csv
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tests.bench.covering_tests import ROOT, CoveringTests

TABLE = Path(__file__).resolve().parent / "results" / "planted_faults.csv"
FIELDS: tuple[str, ...] = ("room", "file", "old", "new", "tests", "first", "noticed", "by")
FEW = 40
"""Tests that are run first."""
SECONDS = 900.0
"""Seconds that the tests of one fault may take before they count as stuck, which is noticed."""

LIBRARIES = (
    "torch", "transformers", "torch_geometric.nn", "scipy.stats", "sklearn.cluster", "hypothesis", "openai", "textual",
    "lmdb", "safetensors.torch", "pydantic", "msgspec", "yaml", "PIL.Image", "_pytest.config",
)  # fmt: skip
"""What the tests import besides this project: loaded once, and taken over by each fault's process."""


def read_faults(table: Path = TABLE) -> list[dict[str, str]]:
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_faults(faults: list[dict[str, str]], table: Path = TABLE) -> None:
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(faults)


@contextmanager
def committed_files() -> Iterator[Path]:
    """A copy of the committed files, with the libraries loaded that their tests import."""
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def first_failed(copy: Path, tests: list[str]) -> str:
    """The first of the tests that fails in the copy, or ""."""
    output = copy / "output.txt"
    output.write_text("", encoding="utf-8")
    process = os.fork()
    if process == 0:
        _run_tests(copy, output, tests)
    until = time.monotonic() + SECONDS
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return "stuck"
        time.sleep(0.05)
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    # Not any line that begins so: a log that a test has caught has such lines, too.
    failed = [line.split(" ")[1] for line in lines if line.startswith(("FAILED tests/", "ERROR tests/"))]
    if failed:
        return failed[0]
    return "" if any(" passed" in line for line in lines[-3:]) else "nothing ran"


def noticed_by(copy: Path, file: str, text: str, tests: list[str]) -> str:
    """The first of the tests that fails where the copy's `file` is `text`, or ""; a few first, which is faster."""
    kept = (copy / file).read_text(encoding="utf-8")
    (copy / file).write_text(text, encoding="utf-8")
    by = ""
    for some in (tests[:FEW], tests[FEW:]):
        by = by or (first_failed(copy, some) if some else "")
    (copy / file).write_text(kept, encoding="utf-8")
    return by


def _run_tests(copy: Path, output: Path, tests: list[str]) -> NoReturn:
    """In a process of its own: pytest over the copy, its words to `output`."""
    import pytest

    os.setsid()
    descriptor = os.open(output, os.O_WRONLY | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(copy)
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(place for place in sys.path if place and Path(place).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "engine", "app", "screens")]:
        del sys.modules[name]
    code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests])
    sys.stdout.flush()
    os._exit(int(code))


def main(names: list[str]) -> None:
    """Plant the faults of the named rooms that the table says nothing of yet."""
    table = next((Path(name) for name in names if name.endswith(".csv")), TABLE)
    coverage = [name for name in names if name.endswith(".coverage")]
    rooms = [name for name in names if name not in coverage and not name.endswith(".csv")]
    covering = [CoveringTests(name) for name in coverage]
    faults = read_faults(table)
    with committed_files() as copy:
        for fault in faults:
            if fault["noticed"] or (rooms and fault["room"] not in rooms):
                continue
            text = (copy / fault["file"]).read_text(encoding="utf-8")
            first = text[: text.index(fault["old"])].count("\n") + 1
            last = first + fault["old"].rstrip("\n").count("\n")
            tests = [f"tests/{name}" for name in fault["tests"].split()] or [
                name for one in covering for name in one.of_change(fault["file"], first, last)
            ]
            by = noticed_by(copy, fault["file"], text.replace(fault["old"], fault["new"]), tests)
            fault |= {"noticed": "yes" if by else "no", "by": by}
            write_faults(faults, table)


if __name__ == "__main__":
    main(sys.argv[1:])
