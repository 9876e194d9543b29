"""Faults of one line each, planted in the program: do the tests notice?

    python -m tests.bench.bench_planted_faults [.coverage] [TABLE.csv] [ROOM ...]

results/planted_faults.csv, or the table that is named, has a line for each: `old` stands once in `file`, and `new`
takes its place; `tests` are the ones that are to notice it, below tests/, with spaces between; where there are none,
those that run its lines by the coverage file (see covering_tests). `first` says whether it was noticed before tests
were added for those of its `set` that were not, where that is known. A set is by authors who had read no test; the
`hostile` ones were to find what tests overlook. A fault whose `noticed` is empty is planted in a copy of the committed
files, and its tests are run there until one fails (see collected_tests); to plant faults again, empty their `noticed`.
Rooms (`screens`, `app`, `engine/serve`) say which faults to look at; none means all.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from tests.bench.collected_tests import ROOT, CollectedTests, in_a_copy, verdict, with_collected_tests
from tests.bench.covering_tests import CoveringTests

TABLE = Path(__file__).resolve().parent / "results" / "planted_faults.csv"
FIELDS: tuple[str, ...] = ("set", "room", "file", "old", "new", "tests", "first", "noticed", "by")

SECONDS = 600.0
"""Seconds for the tests of a fault."""
COVERING_SECONDS = 40.0
"""As long as the tests took that are chosen by the coverage file."""


def read_faults(table: Path = TABLE) -> list[dict[str, str]]:
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_faults(faults: list[dict[str, str]], table: Path = TABLE) -> None:
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(faults)


def plant(collected: CollectedTests, table: Path, covering: CoveringTests | None, rooms: list[str]) -> None:
    """Plant the faults of these rooms that the table says nothing of yet."""
    faults = read_faults(table)
    for fault in faults:
        if fault["noticed"] or (rooms and fault["room"] not in rooms):
            continue
        text = (ROOT / fault["file"]).read_text(encoding="utf-8")
        first = text[: text.index(fault["old"])].count("\n") + 1
        last = first + fault["old"].rstrip("\n").count("\n")
        tests = collected.named([f"tests/{name}" for name in fault["tests"].split()])
        if not tests and covering is not None:
            tests = collected.named(covering.of_change(fault["file"], first, last, collected.tests))
            tests = covering.within(COVERING_SECONDS, tests)
        changed = text.replace(fault["old"], fault["new"])
        by = collected.noticed_by(fault["file"], changed, tests, SECONDS)
        fault |= {"noticed": verdict(by), "by": by}
        write_faults(faults, table)


def main(names: list[str]) -> None:
    files = [str(Path(name).resolve()) for name in names if name.endswith((".csv", ".coverage"))]
    table = next((Path(name) for name in files if name.endswith(".csv")), TABLE)
    coverage = [name for name in files if name.endswith(".coverage")]
    rooms = [name for name in names if not name.endswith((".csv", ".coverage"))]
    if in_a_copy("tests.bench.bench_planted_faults", [str(table), *coverage, *rooms]):
        covering = CoveringTests(coverage[0]) if coverage else None
        with_collected_tests(lambda collected: plant(collected, table, covering, rooms))


if __name__ == "__main__":
    main(sys.argv[1:])
