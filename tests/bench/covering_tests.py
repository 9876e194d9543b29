"""Which tests to run for a change: those that run its lines, by a coverage file with contexts.

    pip install pytest-cov
    pytest -q -n 2 -m "not slow and not ray" --cov=app --cov=engine --cov=screens --cov-context=test \\
        --junitxml=.coverage.xml

The second line writes .coverage, and .coverage.xml with how long each test took. What a test does in a process of its
own is not in it.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
_IN_A_ROOM = re.compile(r"(.*?)/(?:app|engine|screens)/")
SMALL, LARGE = 100, 24
"""Tests of a change at most: those that run the fewest lines, and those that run the most, as whole screens do."""
UNKNOWN_SECONDS = 0.2
"""For a test of which no time is known."""


class CoveringTests:
    """From the coverage file at `path`."""

    def __init__(self, path: str) -> None:
        self._data = importlib.import_module("coverage").CoverageData(path)
        self._data.read()
        measured = sorted(self._data.measured_files())
        root = next(found[1] for name in measured if (found := _IN_A_ROOM.match(name)))
        self._times = _times(Path(f"{path}.xml"))
        self._lines = {os.path.relpath(name, root): self._data.contexts_by_lineno(name) for name in measured}

    def of_change(self, file: str, first: int, last: int, there: Collection[str]) -> list[str]:
        """Of the tests that are `there`: those that are newer than the coverage file, in modules or folders whose other
        tests run the file; those that run the statement around the lines `first` to `last` (from 1), the ones that run
        the fewest lines first, or all of the file where the lines run at import. Then the modules with a fixture that
        runs a statement of a function: any of their tests may look at what it made."""
        begin, end, inside = _statement(ast.parse((ROOT / file).read_text(encoding="utf-8")), first, last)
        contexts = self._of_lines(file, begin, end)
        modules = (
            {name.partition("::")[0] for name in contexts if name.endswith("|setup")}
            if inside
            else set[str]()
        )
        if not inside:
            contexts |= self._of_file(file)
            for user in self._importers[file] if not contexts else ():
                contexts |= self._of_file(user)
        ordered = sorted(_tests(contexts) & set(there), key=lambda test: (self._sizes[test], test))
        few = ordered if len(ordered) <= SMALL + LARGE else ordered[:SMALL] + ordered[-LARGE:]
        return self._newer(file, there) + few + sorted(modules)

    def _newer(self, file: str, there: Iterable[str]) -> list[str]:
        """Tests of which neither lines nor a time are known, of modules whose others run the file; of modules of which
        none is known, where others in their folder do."""
        known = self._sizes.keys() | self._times.keys()
        modules = {test.partition("::")[0] for test in known}
        users = {test.partition("::")[0] for test in _tests(self._of_file(file))}
        folders = {module.rpartition("/")[0] for module in users}

        def may_run(module: str) -> bool:
            return module in users or (module not in modules and module.rpartition("/")[0] in folders)

        return [test for test in there if test not in known and may_run(test.partition("::")[0])]

    def within(self, seconds: float, tests: Iterable[str]) -> list[str]:
        """As many of the tests as took no longer together, in their order."""
        chosen: list[str] = []
        for test in tests:
            seconds -= (took := self._times.get(test, UNKNOWN_SECONDS))
            if seconds >= 0:
                chosen.append(test)
            else:
                seconds += took
        return chosen

    @cached_property
    def _sizes(self) -> Counter[str]:
        """How many lines each test runs."""
        return Counter(
            test for lines in self._lines.values() for names in lines.values() for test in _tests(names)
        )

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """Of each module's file, the files that import from it."""
        found: dict[str, set[str]] = defaultdict(set)
        for path in (path for top in ("app", "engine", "screens") for path in (ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    found[node.module.replace(".", "/") + ".py"].add(str(path.relative_to(ROOT)))
        return found

    def _of_lines(self, file: str, first: int, last: int) -> set[str]:
        lines = self._lines.get(file, {})
        return {name for line in range(first, last + 1) for name in lines.get(line, [])}

    def _of_file(self, file: str) -> set[str]:
        return {name for names in self._lines.get(file, {}).values() for name in names}


def _times(report: Path) -> dict[str, float]:
    """Seconds of each test by a file of `--junitxml`; none without one."""
    found: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        module = str(case.get("classname")).replace(".", "/") + ".py"
        found[f"{module}::{case.get('name')}"] = float(case.get("time", UNKNOWN_SECONDS))
    return found


def _tests(contexts: Iterable[str]) -> set[str]:
    return {context.rpartition("|")[0] for context in contexts if "|" in context}


def _statement(tree: ast.Module, begin: int, end: int) -> tuple[int, int, bool]:
    """First and last line of the smallest statement around the lines, and whether it stands in a function."""
    best, inside = (begin, end), False
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= begin and end <= (node.end_lineno or 0):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside |= bool(node.body[0].lineno <= begin)
            elif not isinstance(node, (ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)):
                best = (node.lineno, node.end_lineno or node.lineno)
    return *best, inside
