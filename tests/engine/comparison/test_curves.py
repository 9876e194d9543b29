"""Curves are read out of a log as its events tell them; what a resumed run repeats counts once."""

from __future__ import annotations

from engine.comparison.curves import ACCURACY, COMPOSITE, ORACLE, RESIDUAL, SELECTOR, SUCCESS, CurveReader
from engine.comparison.items import Place
from engine.events import AnswersScored, PoolQueryDone, SamplerStep
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.two_runs import evaluated


def test_every_method_has_its_curves() -> None:
    events = [
        *evolution_events(), *gflownet_events(), *pool_events(),
        *(evaluated("esm", name, name != "b") for name in "abcd"), evaluated("greedy", "a", False),
    ]  # fmt: skip
    reader = CurveReader()
    for event in [*events, *events]:
        if isinstance(event, reader.kinds):
            reader.take(event, Place(0, 0))
    curves = reader.curves()
    assert list(curves) == [ACCURACY, COMPOSITE, RESIDUAL, SUCCESS, ORACLE, SELECTOR]
    assert curves[ACCURACY] == ([1, 2, 3, 4], [1, 0.5, 2 / 3, 0.75])
    scored = [e for e in events if isinstance(e, AnswersScored) and e.split == "minibatch"]
    assert curves[COMPOSITE] == ([e.iteration for e in scored], [e.composite for e in scored])
    steps = [e for e in events if isinstance(e, SamplerStep)]
    assert curves[RESIDUAL][1] == [e.residual for e in steps]
    assert curves[SUCCESS][1] == [e.success_mean for e in steps]
    oracles = [e.oracle_after for e in events if isinstance(e, PoolQueryDone)]
    assert curves[ORACLE][1][-1] == sum(oracles) / len(oracles)
