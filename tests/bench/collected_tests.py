"""Do tests notice a change of the program? In seconds: pytest collects the tests of a copy of the committed files once,
and a forked process for each change gives the functions that live there the code of the changed text.

What changes more than the code of functions (a constant, a class, a default) is written into the copy alone, and its
tests run in a process that begins anew. So does the changed text while functions are replaced, for the processes that
a test starts.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).resolve().parents[2]
_NOTHING_RAN = "nothing ran"
"""In place of a test: none of those that were named is there, or each was left out. That says nothing."""
STUCK = 300.0
"""Seconds after the time for its tests, when a change counts as stuck, which is noticed."""
_COPIED = "STEER_TUI_COPY"


def in_a_copy(module: str, arguments: Sequence[str]) -> bool:
    """Whether this process works in a copy of the committed files; if not, `python -m module arguments` is run in
    one."""
    if _COPIED in os.environ:
        return True
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        environment = {
            _COPIED: "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", module, *arguments]
        subprocess.run(command, cwd=folder, env=os.environ | environment, check=True)
    return False


def with_collected_tests(work: Callable[[CollectedTests], None]) -> None:
    """Collect the tests of this process's project, and call `work` with them."""

    class Loop:
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            work(CollectedTests(session))
            return True

    chosen = ["-m", "not slow and not ray and not vllm and not sglang"]
    pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *chosen, str(ROOT / "tests")], [Loop()])


class CollectedTests:
    """The tests that pytest has collected, and the functions of the program that they may call."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._functions = _live_functions()

    @property
    def tests(self) -> list[str]:
        """All of them."""
        return list(self._items)

    def named(self, names: Sequence[str]) -> list[str]:
        """The tests that are meant: of files, folders, functions with all their parameters, in the order of the names;
        a name that means none, because its tests are slow ones, stays."""
        found: dict[str, None] = {}
        for name in names:
            begins = (f"{name.rstrip('/')}/", f"{name}::", f"{name}[")
            meant = [test for test in self._items if test == name or test.startswith(begins)]
            found |= dict.fromkeys(meant or [name])
        return list(found)

    def noticed_by(self, file: str, text: str, tests: Sequence[str], seconds: float) -> str:
        """The first of the tests that fails where `file`, a path from the root, is `text`; "" where none does, or where
        there are no tests. After `seconds` no further test begins in a forked process."""
        if not tests:
            return ""
        path = ROOT / file
        kept = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        try:
            replaced = (
                self._replaced(path, kept, text) if all(test in self._items for test in tests) else None
            )
            return _began_anew(tests, seconds) if replaced is None else self._forked(replaced, tests, seconds)
        finally:
            path.write_text(kept, encoding="utf-8")

    def _replaced(self, path: Path, kept: str, text: str) -> list[tuple[FunctionType, CodeType]] | None:
        """Live functions with their new code; None where that is not all that changes."""
        before, after = (compile(one, str(path), "exec", dont_inherit=True) for one in (kept, text))
        codes = changed_functions(before, after)
        found = [(function, new) for old, new in codes or () for function in self._functions[old]]
        fits = all(function.__code__.co_freevars == new.co_freevars for function, new in found)
        return found if found and fits else None

    def _forked(
        self, replaced: Sequence[tuple[FunctionType, CodeType]], tests: Sequence[str], seconds: float
    ) -> str:
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            _be_quiet()
            self._session.config.pluginmanager.unregister(name="terminalreporter")
            for function, code in replaced:
                function.__code__ = code
            os.write(write, self._first_failed(tests, seconds).encode()[:1000])
            os._exit(0)
        os.close(write)
        ended = _wait(process, seconds + STUCK)
        with os.fdopen(read, "rb") as told:
            failed = told.read().decode(errors="replace") if ended is not None else "stuck"
        return failed if ended in (0, None) else f"died {ended}"

    def _first_failed(self, tests: Sequence[str], seconds: float) -> str:
        items = [self._items[test] for test in tests]
        until = time.monotonic() + seconds
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.testsfailed:
                return item.nodeid
            if time.monotonic() > until:
                break
        return ""


def verdict(by: str) -> str:
    """Of what `noticed_by` says: yes, no, or "" where no test ran."""
    return "" if by == _NOTHING_RAN else "yes" if by else "no"


def _began_anew(tests: Sequence[str], seconds: float) -> str:
    """The first of the tests that fails in a process of its own."""
    output, names = (Path(tempfile.gettempdir()) / f"{what}-{os.getpid()}.txt" for what in ("planted", "ids"))
    names.write_text("\n".join(tests), encoding="utf-8")  # they may be longer than a command can be
    with output.open("w") as file:
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, f"@{names}"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file, start_new_session=True)
        ended = _wait(process.pid, seconds + STUCK)
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    output.unlink()
    names.unlink()
    # Not any line that begins so: a log that a test has caught has such lines, too.
    failed = [line.split(" ")[1] for line in lines if line.startswith(("FAILED tests/", "ERROR tests/"))]
    if failed or ended is None:
        return failed[0] if failed else "stuck"
    return "" if any(" passed" in line for line in lines[-3:]) else _NOTHING_RAN


def _wait(process: int, seconds: float) -> int | None:
    """How the process ended; None, and it is killed with what it started, if it did not in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _be_quiet() -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _live_functions() -> dict[CodeType, list[FunctionType]]:
    """The functions of the program by their code, all its modules loaded."""
    for path in (path for top in ("app", "engine", "screens") for path in sorted((ROOT / top).rglob("*.py"))):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except ImportError as error:  # an engine that is not installed
                print(f"without {name}: {error}", file=sys.stderr)
    found: dict[CodeType, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(ROOT)):
            found[one.__code__].append(one)
    gc.freeze()
    return found


def changed_functions(before: CodeType, after: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The functions that differ, with those inside them as far as they can be told apart; None where something that
    runs at import differs."""
    if _without_inner(before) != _without_inner(after) or len(list(_inner(before))) != len(
        list(_inner(after))
    ):
        return None
    found: list[tuple[CodeType, CodeType]] = []
    for old, new in zip(_inner(before), _inner(after), strict=True):
        below = changed_functions(old, new)
        if old.co_flags & _NEW_LOCALS:
            found += [(old, new), *(below or ())] if old != new else ()
        elif below is None:
            return None
        else:
            found += below
    return found


_NEW_LOCALS = 0x2
"""Of a code that makes its own local names: a function's, not a module's or a class's."""


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _without_inner(code: CodeType) -> tuple[object, ...]:
    plain = [(type(one), one) for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, code.co_names, plain
