"""Which functions a changed text gives new code to."""

from __future__ import annotations

from types import CodeType

import pytest

from tests.bench.collected_tests import changed_functions, verdict

TEXT = """
MOST = 3

class Row:
    n = 1

    def share(self):
        return self.n / MOST

def outer(most=MOST):
    def inner(n):
        return n + 1
    return inner(most)
"""


def changed(old: str, new: str) -> list[str] | None:
    assert TEXT.count(old) == 1
    texts = (TEXT, TEXT.replace(old, new))
    before, after = (compile(text, "a.py", "exec") for text in texts)
    codes = changed_functions(before, after)
    return None if codes is None else [_name(*pair) for pair in codes]


def _name(old: CodeType, new: CodeType) -> str:
    assert old.co_qualname == new.co_qualname and old != new
    return old.co_qualname


def test_a_function_and_those_around_it() -> None:
    assert changed("self.n / MOST", "self.n * MOST") == ["Row.share"]
    assert changed("n + 1", "n - 1") == ["outer", "outer.<locals>.inner"]
    assert changed("inner(most)", "inner(2)") == ["outer"]


@pytest.mark.parametrize(("old", "new"), [("MOST = 3", "MOST = 4"), ("n = 1", "n = 2"), ("=MOST", "=None")])
def test_what_runs_at_import_is_no_function(old: str, new: str) -> None:
    assert changed(old, new) is None


def test_a_function_that_is_gone() -> None:
    assert changed("def share(self):\n        return self.n / MOST", "pass") is None


def test_that_nothing_ran_is_no_verdict() -> None:
    names = ("tests/a.py::test_b", "stuck", "died 1", "", "nothing ran")
    assert [verdict(by) for by in names] == ["yes", "yes", "yes", "no", ""]
