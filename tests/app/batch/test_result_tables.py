"""What batch ends with: the tables of every method that has results, and of no other."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from rich.console import Console

from app.batch.result_tables import print_results
from app.result_tables import servers, stages
from app.state.run import RunState
from engine.events import Event, MethodEvaluated, ServerUsage, StageFinished
from engine.run.directory import RunDirectory
from engine.run.stage_state import FINISHED, SKIPPED, WAITING, StageState
from tests.synthetic_evolution import evolution_events, published_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_slsm import slsm_events

ESM = [
    MethodEvaluated(method="esm", n=1, accuracy=0.0, mean_tokens=1.0, final=False),
    MethodEvaluated(
        method="esm", n=200, accuracy=0.985, mean_tokens=68.25, mean_probe_tokens=20.5, difference=0.365, low=0.3,
        high=0.43, p=1e-9,
    ),
    MethodEvaluated(method="no_probing", n=7, accuracy=0.5, mean_tokens=1.0, final=False),
]  # fmt: skip
USAGE = [
    ServerUsage(stage="slsm", role="judge", server="s", model="m", requests=1),
    ServerUsage(stage="slsm", role="judge", server="s", model="m", requests=1234, cost=1.25),
    ServerUsage(stage="slsm", role="model", server="t", model="own", answered=2, unreported=2),
]


def printed(events: Iterable[Event], width: int = 140) -> str:
    """What stands on the terminal after these."""
    state, out = RunState(), io.StringIO()
    for offset, event in enumerate(events):
        state.apply(event, offset, 1)
    print_results(state, Console(file=out, width=width), RunDirectory(Path("outputs/demo/1")))
    return out.getvalue()


@pytest.mark.parametrize(
    ("events", "rows"),
    [
        (lambda: ESM, ["Methods, against greedy", "ESM 200 0.985 [0.957, 0.995] +0.365 [+0.300, +0.430] 1e-09 0 0",
                     "ESM 68.3 20.5 88.8 0"]),
        (evolution_events, ["the unchanged model 40.0 · ·", "the unchanged model 0.900 [0.800, 0.950] · · ·",
                            "the evolved deltas 20.0 −20.0 [−22.0, −18.0]",
                            "the evolved deltas 0.900 [0.800, 0.950] 0.000 [−0.050, +0.050] 1.000",
                            "a request for short answers 0.788 −0.022 [−0.060, +0.010] 6 2",
                            "the evolved deltas 0.810 · · 6 2",
                            "a request for short answers: Answer briefly."]),
         (gflownet_events, ["distinct paths (GFlowNet) 100 20 0.930 · 0.900 [0.830, 0.970] 0.720 0.980 · 9.5 · 0.750 "
                            "· ·",
                            "independent draws (GFlowNet) 100 20 0.900 · 0.870 [0.800, 0.940] 0.696 0.950 · 9.2 · "
                            "0.720 0.280 (n 98) 0.710",
                            "greedy 100 1 · · 0.800 [0.730, 0.870] 0.640 0.800 · · · 0.650 · ·",
                            "sampled paths 3 1.000 +1.000 [+0.400, +1.000] 0.250 0.800 0.750 5.0 58.0",
                            "read by path reader (offline)"]),
         (slsm_events, ["no note none 2 0.000 [0.000, 0.000] · · 0 0 0 0 0 0",
                       "always structured 2 1.000 [1.000, 1.000] +1.000 [0.000, +1.000] 2 2 0 0 0 0",
                       "fixed: the note made a failing answer pass"]),
        (pool_events, ["after injection 0.867 2/3 0.667 [0.208, 0.939]",
                       "similarity (RICES) 2 0.810 [0.710, 0.910] · ·",
                       "the selector 2 0.900 [0.800, 1.000] +0.090 [+0.040, +0.140]"]),
        (lambda: USAGE, ["Servers, total cost 1.2500", "slsm judge m at s 1,234 0 0 0 0 0:00 1.2500",
                         "slsm model own at t 0 0 0 > 0 > 0 0:00"]),
        (lambda: [StageFinished(stage="eval", seconds=63, files=["a.json", "b.json"])],
         ["eval 1:03 a.json", "b.json"]),
    ],
    ids=["esm", "evolution", "gflownet", "slsm", "pool", "servers", "stages"],
)  # fmt: skip
def test_the_rows_of_a_method(events: Callable[[], Iterable[Event]], rows: list[str]) -> None:
    """A later result takes the place of an earlier one; running figures are no results."""
    lines = [" ".join(line.split()) for line in printed(events()).splitlines()]
    for row in rows:
        assert lines.count(row) == 1, "\n".join(lines)
    assert "no probing" not in "".join(lines) and lines[-1] == "all files: outputs/demo/1"


def test_servers_without_a_price_and_those_that_are_free() -> None:
    """A cost of 0 is known; figures stand on the right."""
    free = ServerUsage(stage="slsm", role="judge", server="s", model="m", requests=1234, cost=0.0)
    state = RunState()
    for event in (free, USAGE[-1]):
        state.apply(event)
    [table] = servers(state)
    assert table.caption == "Servers, total cost 0.0000" and table.figures == 7
    other = RunState()
    other.apply(USAGE[-1])
    assert [table.caption for table in servers(other)] == ["Servers"] and servers(RunState()) == []


def test_stages_that_are_to_be_done_again_have_a_row() -> None:
    state = RunState()
    state.stages = {
        "mine": StageState("mine", FINISHED, seconds=61.0, files=("a.json",)),
        "select": StageState("select", WAITING, stale=True), "memory": StageState("memory", SKIPPED),
        "eval": StageState("eval", WAITING),
    }  # fmt: skip
    [table] = stages(state)
    assert list(table.rows) == [
        ("mine", "1:01", "a.json"), ("select", "", "stale: its results are of an earlier attempt"),
        ("memory", "", "skipped"),
    ]  # fmt: skip


@pytest.mark.parametrize("begun", [evolution_events, gflownet_events, slsm_events, pool_events])
def test_what_is_not_through_prints_nothing(begun: Callable[..., Iterable[Event]]) -> None:
    unfinished = (event for event in begun(finish=False) if not isinstance(event, StageFinished))
    assert printed(unfinished) == ""


@pytest.mark.parametrize("events", [gflownet_events, slsm_events, evolution_events])
def test_figures_are_whole_on_a_narrow_terminal(events: Callable[[], Iterable[Event]]) -> None:
    """At 30 columns, too, where a table has room for a few of its figures: then it is wider than the terminal."""
    assert "…" not in printed(events(), width=60)
    wide, narrow = (set(re.findall(r"[+-]?[\d.]+", printed(events(), width))) for width in (140, 30))
    assert wide - narrow == set()


def test_an_evolution_without_a_test_set_says_what_its_figures_are() -> None:
    """As published: the best iteration's own minibatch chose it, and nothing compares it with the unchanged model."""
    lines = [" ".join(line.split()) for line in printed(published_events()).splitlines()]
    assert lines.count("Deltas, the first and the best") == 1
    assert lines.count("0 ★ 0.500 0.500 40.0") == 1
    assert lines.count("1 ★ 0.800 1.000 20.0") == 1
    sentence = (
        "Iteration 1 has the highest composite on its minibatch, 0.800: 4 of 4 answers right, 20.0 tokens each. That "
        "chose it; no test set compares it with the unchanged model."
    )
    assert " ".join(lines).count(sentence) == 1
    assert "validation" not in "".join(lines) and "on the test set" not in "".join(lines)
