"""States, legal edges and steps of a small graph, by hand."""

from __future__ import annotations

import pytest
import torch

from engine.gflownet.sampler.environment import STOP, GraphEnv, enumerate_walks, no_walks
from tests.engine.gflownet.small_graphs import SmallGraph, small_batch
from tests.exactly import exactly

BATCH = small_batch(
    [SmallGraph("loops", ((0, 0, 1), (1, 0, 2), (1, 1, 1), (2, 0, 0), (1, 2, 0)), (0,), (2,))]
)
"""Sorted by head, the edges are those of the triples: 0 to 1; 1 to 2, to itself and to 0; 2 to 0."""
NONE = [-1] * 4


@pytest.fixture(autouse=True)
def _edges_are_numbered_as_said() -> None:
    assert BATCH.heads.tolist() == [0, 1, 1, 1, 2] and BATCH.tails.tolist() == [1, 2, 1, 0, 0]


def test_a_walk_has_a_place_for_each_edge_and_each_node() -> None:
    batch = small_batch([SmallGraph("a", ((0, 0, 1),), (0,), (1,)), SmallGraph("b", (), (0,), (0,))])
    state = GraphEnv(3).reset(torch.tensor([1, 0]))
    assert state.walks.graph.tolist() == [1, 0] and state.walks.edges.tolist() == [[-1] * 3] * 2
    assert (state.walks.nodes.tolist(), state.live.tolist(), state.step) == ([NONE] * 2, [0, 1], 0)
    empty = no_walks(GraphEnv(3), batch, 2)
    assert empty.graph.tolist() == [0, 0, 1, 1] and empty.nodes.tolist() == [NONE] * 4
    assert empty.length.tolist() == [0] * 4


def test_a_step_moves_those_that_do_not_stop_and_leaves_the_state_before_it() -> None:
    env = GraphEnv(3)
    before = env.reset(torch.zeros(3, dtype=torch.long))
    first = env.frontier(BATCH, before)
    assert (first.owner.tolist(), first.edge.tolist()) == ([0, 1, 2], [0, 0, 0])
    state = env.step(BATCH, before, torch.tensor([0, STOP, 0]))
    assert state.walks.nodes.tolist() == [[0, 1, -1, -1], NONE, [0, 1, -1, -1]]
    assert state.walks.edges.tolist() == [[0, -1, -1], [-1] * 3, [0, -1, -1]]
    assert (state.live.tolist(), state.step, state.walks.length.tolist()) == ([0, 2], 1, [1, 0, 1])
    assert before.walks.nodes.tolist() == [NONE] * 3 and before.live.tolist() == [0, 1, 2]
    again = env.step(BATCH, state, torch.tensor([STOP, 1]))
    assert again.walks.nodes.tolist() == [[0, 1, -1, -1], NONE, [0, 1, 2, -1]]
    assert (again.live.tolist(), again.step) == ([2], 2)
    end = env.frontier(BATCH, env.step(BATCH, again, torch.tensor([4])))
    assert not end.edge.numel() and not end.owner.numel(), "after three steps STOP is all that is left"


@pytest.mark.parametrize(
    ("revisit", "backtrack", "legal"),
    [(False, False, [1]), (False, True, [1]), (True, False, [1, 2]), (True, True, [1, 2, 3])],
)
def test_where_a_walk_may_go_on(revisit: bool, backtrack: bool, legal: list[int]) -> None:
    """From node 1, reached from node 0: on to 2, to itself, and back."""
    env = GraphEnv(3, forbid_revisit=not revisit, forbid_backtrack=not backtrack)
    state = env.step(BATCH, env.reset(torch.zeros(1, dtype=torch.long)), torch.tensor([0]))
    assert env.frontier(BATCH, state).edge.tolist() == legal


def test_every_walk_is_listed_up_to_a_limit() -> None:
    """None, 0 to 1, and 0 to 1 to 2."""
    assert enumerate_walks(GraphEnv(3), BATCH, 0, limit=3).edges.tolist() == [
        [-1, -1, -1], [0, -1, -1], [0, 1, -1],
    ]  # fmt: skip
    with pytest.raises(ValueError, match=exactly("more than 2 trajectories")):
        enumerate_walks(GraphEnv(3), BATCH, 0, limit=2)
    env = GraphEnv(3)
    env.branches = lambda *state: pytest.fail("they are made before they are counted")  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=exactly("more than 1 trajectories")):
        enumerate_walks(env, BATCH, 0, limit=1)
