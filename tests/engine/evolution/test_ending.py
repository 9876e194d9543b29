"""Why an evolution ends, each reason in its words, and at exactly its number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.evolution.evolve_stage import _Loop
from engine.servers.spent import Spent

SPENT = Spent(calls=30, tokens=500, cost=1.25)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"iterations": 4}, "all 4 iterations"),
        ({"iterations": 5}, ""),
        ({"patience": 2}, "no new best in 2 iterations"),
        ({"patience": 3}, ""),
        ({"max_cost": 1.25}, "1.25 is spent"),
        ({"max_cost": 1.26}, ""),
    ],
)
def test_why_it_ends(settings: dict[str, Any], reason: str) -> None:
    """After four iterations, of which the second was the best."""
    section = Config().evolution.model_copy(update={"iterations": 9, "patience": 9} | settings)
    history = SimpleNamespace(iterations=[None] * 4, since_best=2, usage=SPENT)
    loop: Any = SimpleNamespace(section=section, history=history)
    assert _Loop._reason_to_end(loop) == reason


def test_before_the_first_iteration_no_patience_is_lost() -> None:
    section = Config().evolution.model_copy(update={"patience": 1})
    history = SimpleNamespace(iterations=[], since_best=1, usage=Spent())
    loop: Any = SimpleNamespace(section=section, history=history)
    assert _Loop._reason_to_end(loop) == ""
