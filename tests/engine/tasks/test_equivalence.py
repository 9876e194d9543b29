"""Answers that take SymPy for ever, and texts that take a pattern for ever."""

from __future__ import annotations

import resource
import sys
from types import SimpleNamespace

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
