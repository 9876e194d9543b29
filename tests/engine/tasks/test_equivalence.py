"""Answers that take SymPy for ever, and texts that take a pattern for ever."""

from __future__ import annotations

import io
import resource
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from engine.tasks import equivalence, equivalence_process
from engine.tasks.extractors import extract_pred, last_box
from engine.tasks.metrics import is_correct


@pytest.mark.parametrize("answer", ["2^{999999999}", "99!!!!", "10^{10^{8}}"])
def test_an_answer_that_nobody_can_compute_is_wrong(answer: str) -> None:
    """And the next one is judged as ever."""
    assert not is_correct("math500", answer, "\\frac{1}{2}")
    assert is_correct("math500", "0.50", "\\frac{1}{2}")


def test_a_question_that_was_given_up_is_not_answered_in_place_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl+C while it waits: the answer that still comes is to the question before."""
    checker = equivalence._Checker()
    assert checker.ask("1", "1")
    process = checker._process
    assert process is not None

    def interrupted(*what: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(equivalence, "select", SimpleNamespace(select=interrupted))
        checker.ask("1", "1")
    assert not checker.ask("1", "2") and checker._process is not process
    checker._end(checker._running())


class Process:
    """One that answers `says`, a line for each question."""

    def __init__(self, *says: bytes) -> None:
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO(b"".join(says))
        self.done: list[str] = []

    def poll(self) -> int | None:
        return 0 if "killed" in self.done else None

    def kill(self) -> None:
        self.done.append("killed")

    def wait(self) -> None:
        self.done.append("waited for")


def test_a_process_that_has_ended_is_cleared_away_and_another_one_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This very copy of the program, with what it writes to standard error thrown away."""
    first, second = Process(b"true\n", b"false\n"), Process(b"true \n")
    left, started = iter([first, second]), list[tuple[Any, dict[str, Any]]]()

    def start(command: Any, **more: Any) -> Process:
        started.append((command, more))
        return next(left)

    monkeypatch.setattr(equivalence.subprocess, "Popen", start)
    monkeypatch.setattr(equivalence, "engine_environment", lambda: {"PYTHONPATH": "here"})
    patience: list[float] = []

    def readable(
        read: list[Any], write: list[Any], other: list[Any], seconds: float
    ) -> tuple[list[Any], ...]:
        patience.append(seconds)
        return read, [], []

    monkeypatch.setattr(equivalence, "select", SimpleNamespace(select=readable))
    checker = equivalence._Checker()
    assert checker.ask("1", "2") and not checker.ask("ä", "\\n") and len(started) == 1
    assert first.stdin.getvalue() == b'["1", "2"]\n["\\u00e4", "\\\\n"]\n' and not first.done
    assert not checker.ask("1", "1"), "it has ended: nothing comes"
    assert first.done == ["killed", "waited for"] and first.stdin.closed and first.stdout.closed
    assert checker.ask("1", "1") and len(started) == 2
    assert patience == [120.0] * 4
    pipe, nowhere = equivalence.subprocess.PIPE, equivalence.subprocess.DEVNULL
    assert started[0] == started[1] == (
        (sys.executable, "-P", "-m", "engine.tasks.equivalence_process"),
        {"stdin": pipe, "stdout": pipe, "stderr": nowhere, "env": {"PYTHONPATH": "here"}},
    )  # fmt: skip


@pytest.mark.parametrize("broken", ["stdin", "nothing to read"])
def test_a_process_that_no_longer_listens_is_given_up(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    process = Process(b"true\n")

    def breaks(line: bytes) -> None:
        raise BrokenPipeError

    if broken == "stdin":
        process.stdin.write = breaks  # type: ignore[method-assign,assignment]
    monkeypatch.setattr(equivalence.subprocess, "Popen", lambda command, **more: process)
    monkeypatch.setattr(equivalence, "select", SimpleNamespace(select=lambda *_: ([], [], [])))
    checker = equivalence._Checker()
    assert not checker.ask("1", "1") and checker._process is None
    assert process.done == ["killed", "waited for"] and process.stdout.closed


def test_the_library_counts_no_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would count the clock, and what else the machine does would decide. Each text is read as mathematics."""
    asked: list[tuple[Any, ...]] = []

    def parse(text: str, **settings: Any) -> str:
        asked.append((text, settings))
        return text.strip("$")

    def verify(*given: Any, **settings: Any) -> int:
        asked.append((*given, settings))
        return 1

    monkeypatch.setitem(sys.modules, "math_verify", SimpleNamespace(parse=parse, verify=verify))
    assert equivalence_process._equal("1", "x^2") is True
    assert asked == [
        ("$1$", {"parsing_timeout": None}), ("$x^2$", {"parsing_timeout": None}),
        ("1", "x^2", {"timeout_seconds": None}),
    ]  # fmt: skip


def test_each_question_has_a_second_of_processor_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what was used before: after 2.7 seconds the system ends it at 4. A line is read, and one is written."""
    limits: list[tuple[int, tuple[int, int]]] = []
    usage = iter([SimpleNamespace(ru_utime=2.5, ru_stime=0.2), SimpleNamespace(ru_utime=3.0, ru_stime=0.1)])
    written = io.StringIO()
    monkeypatch.setattr(equivalence_process, "_limit_memory", lambda: None)
    monkeypatch.setattr(equivalence_process, "_equal", lambda gold, pred: gold == pred)
    monkeypatch.setattr(equivalence_process.logging, "disable", lambda: None)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limit: limits.append((kind, limit)))
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (5, 99))
    monkeypatch.setattr(resource, "getrusage", lambda who: next(usage))
    monkeypatch.setattr(sys, "stdin", io.StringIO('["a", "a"]\n["a", "b"]\n'))
    monkeypatch.setattr(sys, "stdout", written)
    equivalence_process.main()
    assert written.getvalue() == "true\nfalse\n"
    assert limits == [(resource.RLIMIT_CPU, (4, 99)), (resource.RLIMIT_CPU, (5, 99))]


def test_an_answer_that_the_library_stumbles_over_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbles(*given: object, **settings: object) -> None:
        raise RecursionError

    for function in ("parse", "verify"):
        library = {"parse": lambda text, **settings: [text], "verify": lambda *given, **settings: True}
        monkeypatch.setitem(sys.modules, "math_verify", SimpleNamespace(**library))
        assert equivalence_process._equal("1", "x")
        monkeypatch.setitem(sys.modules, "math_verify", SimpleNamespace(**{**library, function: stumbles}))
        assert not equivalence_process._equal("1", "x")


@pytest.mark.parametrize("dataset", ["gsm8k", "math500", "arc-c", "generated"])
@pytest.mark.parametrize(
    "text", ["\\boxed{" * 60_000, "####" + " " * 400_000, "#### " + "1," * 200_000, "{" * 400_000, "answer " * 60_000],
    ids=["boxes", "spaces", "commas", "braces", "words"],
)  # fmt: skip
def test_extraction_takes_time_by_the_length_of_a_text(dataset: str, text: str) -> None:
    """In proportion: with the square of it, each of these takes minutes."""
    assert len(extract_pred(dataset, text)) <= len(text)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("\\boxed{a} \\boxed{b{c}}", "b{c}"),
        ("\\boxed{a} \\boxed{b", "a"),
        ("} \\boxed{a}", "a"),
        ("\\boxed{a \\boxed{b}", "b"),
        ("\\boxed{a \\boxed{b} }", "b"),
    ],
)
def test_the_last_box_whose_braces_balance(text: str, content: str) -> None:
    assert last_box(text) == content


def test_memory_is_limited_by_what_the_libraries_take_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times what is taken, and `MEMORY` more; no more than the system allows."""
    set_: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: set_.append((kind, limits)))
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=1000))
    monkeypatch.setattr(sys, "platform", "linux")
    wanted = 4 * 1000 * 1024 + equivalence_process.MEMORY
    for most, limit in ((resource.RLIM_INFINITY, wanted), (wanted + 1, wanted), (5000, 5000)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, most=most: (0, most))
        equivalence_process._limit_memory()
        assert set_[-1] == (resource.RLIMIT_DATA, (limit, most))
