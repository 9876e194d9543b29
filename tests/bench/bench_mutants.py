"""Slips planted at random, by a program that has read no test: which of them do the tests notice?

    pip install pytest-cov
    pytest -q -n 2 -m "not slow" --cov=app --cov=engine --cov=screens --cov-context=test
    python -m tests.bench.bench_mutants .coverage TABLE.csv NUMBER SEED ROOM [ROOM ...]

The second line writes .coverage: which test runs which line. From each room (a folder: `screens`, `app`,
`engine/serve`) NUMBER mutants are drawn with SEED, each kind of change as often as every other. Each is planted in a
copy of the committed files, and the tests that run its lines are run there, those that run the fewest lines first,
until one fails. A line that no test runs counts as not noticed. TABLE gets a line each; what stands in it is not
planted again.
"""

from __future__ import annotations

import ast
import csv
import importlib
import os
import random
import sys
import time
from collections import Counter, defaultdict
from functools import cached_property
from pathlib import Path

from tests.bench.bench_planted_faults import ROOT, committed_files, first_failed
from tests.bench.mutants import Mutant, mutants

FIELDS = ("room", "file", "line", "kind", "old", "new", "noticed", "by", "tests", "seconds")
FEW, MANY = 40, 200
"""Tests that are run first, and at most."""


class Covered:
    """Which tests run which lines, from a coverage file with contexts."""

    def __init__(self, path: str) -> None:
        self._data = importlib.import_module("coverage").CoverageData(path)
        self._data.read()
        measured = sorted(self._data.measured_files())
        self._root = os.path.commonpath([name for name in measured if "/engine/" in name or "/app/" in name])
        self._lines = {
            os.path.relpath(name, self._root): self._data.contexts_by_lineno(name) for name in measured
        }

    @cached_property
    def sizes(self) -> Counter[str]:
        """How many lines each test runs."""
        return Counter(
            test for lines in self._lines.values() for names in lines.values() for test in _tests(names)
        )

    def of_lines(self, file: str, first: int, last: int) -> set[str]:
        lines = self._lines.get(file, {})
        return {test for line in range(first, last + 1) for test in _tests(lines.get(line, []))}

    def of_file(self, file: str) -> set[str]:
        return {test for names in self._lines.get(file, {}).values() for test in _tests(names)}


def _tests(contexts: list[str]) -> set[str]:
    return {context.rpartition("|")[0] for context in contexts if "|" in context}


def statement(tree: ast.Module, mutant: Mutant) -> tuple[int, int, bool]:
    """First and last line of the smallest statement around it, and whether it stands in a function."""
    best, inside = (mutant.first, mutant.last), False
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.stmt)
            and node.lineno <= mutant.first
            and mutant.last <= (node.end_lineno or 0)
        ):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside |= bool(node.body[0].lineno <= mutant.first)
            elif not isinstance(node, (ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)):
                best = (node.lineno, node.end_lineno or node.lineno)
    return *best, inside


def importers(files: list[str]) -> dict[str, set[str]]:
    """Of each module's file, the files that import from it."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found[node.module.replace(".", "/") + ".py"].add(file)
    return found


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


def main(coverage: str, table: str, number: str, seed: str, *rooms: str) -> None:
    covered = Covered(coverage)
    path = Path(table)
    known: set[tuple[str, str, str, str]] = set()
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            known = {(row["file"], row["line"], row["old"], row["new"]) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    files = [
        str(one.relative_to(ROOT))
        for top in ("app", "engine", "screens")
        for one in (ROOT / top).rglob("*.py")
    ]
    users = importers(files)
    with committed_files() as copy:
        for room in rooms:
            for mutant in drawn(room, int(number), int(seed)):
                shown = (mutant.file, str(mutant.first), mutant.old, mutant.new)
                if shown in known:
                    continue
                began = time.monotonic()
                first, last, inside = statement(
                    ast.parse((ROOT / mutant.file).read_text(encoding="utf-8")), mutant
                )
                tests = covered.of_lines(mutant.file, first, last)
                if not inside:
                    tests |= covered.of_file(mutant.file)
                    for user in users[mutant.file] if not tests else ():
                        tests |= covered.of_file(user)
                ordered = sorted(tests, key=lambda test: (covered.sizes[test], test))[:MANY]
                (copy / mutant.file).write_text(mutant.text, encoding="utf-8")
                by = ""
                for some in (ordered[:FEW], ordered[FEW:]):
                    by = by or (first_failed(copy, some) if some else "")
                (copy / mutant.file).write_text(
                    (ROOT / mutant.file).read_text(encoding="utf-8"), encoding="utf-8"
                )
                with path.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerow(
                        [room, *shown[:2], mutant.kind, *shown[2:], "yes" if by else "no", by, len(tests),
                         f"{time.monotonic() - began:.1f}"]
                    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
