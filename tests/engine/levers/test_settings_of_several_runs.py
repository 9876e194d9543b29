"""Whose settings count where the memory is another run's than the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm.online.decide import Retrieval
from engine.esm.online.variants import Variant
from engine.events import LeverFit
from engine.levers.levers import Chosen, Levers, Limits


class Memory:
    """Another run's, with settings of its own."""

    config = Config.model_validate(
        {
            "run": {"seed": 5}, "control_points": {"M": 4, "segment_delimiter": "|"},
            "decode": {"max_new_tokens": 40, "temperature": 0.4}, "online": {"L": 7, "k_scale": 2.0},
        }
    )  # fmt: skip

    def variant(self, online: OnlineSection) -> Variant:
        def retrieve(m: int, states: NDArray[np.float32]) -> Retrieval:
            return Retrieval(None, online.L, [])

        return Variant("esm", retrieve, (1,))


OWN = Config.model_validate(
    {"run": {"seed": 9}, "decode": {"max_new_tokens": 30, "temperature": 0.3}, "online": {"L": 2}}
)


@pytest.mark.parametrize(
    ("chosen", "drawn", "points", "online"),
    [
        (Chosen([]), (9, 30, 0.3), 0, OWN.online),
        (Chosen(["esm"]), (5, 40, 0.4), 4, Memory.config.online),
        (
            Chosen(["esm"], online={"k_scale": 3.5}), (5, 40, 0.4), 4,
            Memory.config.online.model_copy(update={"k_scale": 3.5}),
        ),
    ],
)  # fmt: skip
def test_a_memory_acts_as_in_its_own_run(
    chosen: Chosen, drawn: tuple[int, int, float], points: int, online: OnlineSection
) -> None:
    memory: Any = Memory()
    nobody: Any = None
    levers = Levers(nobody, OWN, [LeverFit(lever="esm", run="r", fits=True, why="")], esm=memory)
    decider = levers._decider(chosen, Limits(), None)
    assert (decider.seed, decider.budget, decider.temperature) == drawn
    assert (decider.points, decider.online) == (points, online)
    if points:
        assert decider.variant.retrieve is not None
        assert decider.variant.retrieve(1, np.zeros((1, 2), np.float32)).size == online.L


@pytest.mark.parametrize("names", [[], ["esm"]])
@pytest.mark.parametrize(
    ("limits", "room", "drawn"),
    [
        (Limits(max_tokens=50, temperature=0.9, seed=1), None, (1, 50, 0.9)),
        (Limits(max_tokens=50, temperature=0.9, seed=1, top_p=1.0), 50, (1, 50, 0.9)),
        (Limits(max_tokens=50, temperature=0.9, seed=1), 12, (1, 12, 0.9)),
        (Limits(max_tokens=0, temperature=0.0, seed=0, top_p=0.5), 12, (0, 0, 0.0)),
    ],
)
def test_what_a_request_limits_is_the_same_for_any_run(
    names: list[str], limits: Limits, room: int | None, drawn: tuple[int, int, float]
) -> None:
    """As long as the context leaves room; 0 is a limit, too."""
    memory: Any = Memory()
    nobody: Any = None
    decider = Levers(nobody, OWN, [], esm=memory)._decider(Chosen(names), limits, room)
    assert (decider.seed, decider.budget, decider.temperature) == drawn
    assert decider.committing is None, "all of the probability is left, or nothing is drawn"
