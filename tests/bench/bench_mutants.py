"""Slips planted at random, by a program that has read no test: which of them do the tests notice?

    python -m tests.bench.bench_mutants .coverage TABLE.csv NUMBER SEED ROOM [ROOM ...]

.coverage says which test runs which line (see covering_tests). From each room (a folder: `screens`, `app`,
`engine/serve`) NUMBER mutants are drawn with SEED, each kind of change as often as every other. Each is planted in a
copy of the committed files, and the tests that run its lines are run there, those that run the fewest lines first,
until one fails (see collected_tests). A line that no test runs counts as not noticed. TABLE gets a line each; what
stands in it is not planted again.
"""

from __future__ import annotations

import csv
import random
import sys
import time
from collections import defaultdict
from pathlib import Path

from tests.bench.collected_tests import ROOT, CollectedTests, in_a_copy, verdict, with_collected_tests
from tests.bench.covering_tests import CoveringTests
from tests.bench.mutants import Mutant, mutants

FIELDS = ("room", "file", "line", "kind", "old", "new", "noticed", "by", "tests", "seconds")

SECONDS = 10.0
"""Of tests for a mutant."""


def drawn(room: str, number: int, seed: int) -> list[Mutant]:
    """Mutants of a room, each kind as often as every other as far as there are enough."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / room).rglob("*.py")):
        for mutant in mutants(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")):
            kinds[mutant.kind].append(mutant)
    chance = random.Random(f"{seed} {room}")
    for several in kinds.values():
        chance.shuffle(several)
    found: list[Mutant] = []
    while len(found) < number and any(kinds.values()):
        for kind in sorted(kinds):
            if kinds[kind] and len(found) < number:
                found.append(kinds[kind].pop())
    return found


def plant(
    collected: CollectedTests, covering: CoveringTests, path: Path, wanted: list[tuple[str, Mutant]]
) -> None:
    """Add a line to the table for each that it does not have."""
    with path.open(newline="", encoding="utf-8") as file:
        known = {(row["file"], row["line"], row["old"], row["new"]) for row in csv.DictReader(file)}
    for room, mutant in wanted:
        shown = (mutant.file, str(mutant.first), mutant.old, mutant.new)
        if shown in known:
            continue
        began = time.monotonic()
        tests = collected.named(covering.of_change(mutant.file, mutant.first, mutant.last, collected.tests))
        tests = covering.within(SECONDS, tests)
        by = collected.noticed_by(mutant.file, mutant.text, tests, 2 * SECONDS)
        with path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(
                [room, *shown[:2], mutant.kind, *shown[2:], verdict(by), by, len(tests),
                 f"{time.monotonic() - began:.1f}"]
            )  # fmt: skip


def main(coverage: str, table: str, number: str, seed: str, *rooms: str) -> None:
    places = [str(Path(name).resolve()) for name in (coverage, table)]
    if not in_a_copy("tests.bench.bench_mutants", [*places, number, seed, *rooms]):
        return
    path = Path(places[1])
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    wanted = [(room, mutant) for room in rooms for mutant in drawn(room, int(number), int(seed))]
    with_collected_tests(lambda collected: plant(collected, CoveringTests(places[0]), path, wanted))


if __name__ == "__main__":
    main(*sys.argv[1:])
