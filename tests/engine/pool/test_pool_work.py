"""What is said of a query that was settled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.pool.pool_work import _warning


@pytest.mark.parametrize(
    ("injected", "before", "after", "said"),
    [
        (2, 0.6, 0.6, "injection did not raise oracle@64"),
        (2, 1.0, 1.0, "injection did not raise oracle@64"),
        (2, 0.3, 0.6, "no pair is known that is fully right"),
        (2, 0.6, 1.0, ""),
        (0, 0.6, 0.6, "no pair is known that is fully right"),
        (0, 1.0, 1.0, ""),
    ],
)
def test_an_injection_that_leaves_the_best_score_as_it_was_is_a_warning(
    injected: int, before: float, after: float, said: str
) -> None:
    injection = SimpleNamespace(injected=injected)
    improved: Any = SimpleNamespace(injection=injection, oracle_before=before, oracle_after=after)
    assert _warning(improved) == said
