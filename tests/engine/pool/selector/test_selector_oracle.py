"""What the selector is trained towards once more, in plain loops over plain numbers: no line of `engine` computes what
is expected. A pick is an ordered pair of different candidates; its target is the score of the recorded trajectory."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pool.selector.rl_beam_dataset import BeamBatch
from engine.pool.selector.selector import Selector
from engine.pool.selector.training import policy_gradient_loss, recorded, supervised_loss

CANDIDATES = 5
Trajectory = tuple[int, int, float]
TRAJECTORIES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.3, 0.6, 1.0])), max_size=6
)
QUERIES = st.lists(TRAJECTORIES, min_size=1, max_size=3)


def table(seed: int, queries: int) -> torch.Tensor:
    """Log-probabilities [B, K, K] of ordered pairs; the diagonal cannot be picked."""
    numbers = torch.randn(
        queries, CANDIDATES, CANDIDATES, generator=torch.Generator().manual_seed(seed)
    ).double()
    diagonal = torch.eye(CANDIDATES, dtype=torch.bool)
    return numbers.masked_fill(diagonal, -1e9).flatten(1).log_softmax(-1).view_as(numbers)


def batch_of(queries: list[list[Trajectory]]) -> BeamBatch:
    most = max(map(len, queries))
    labels = torch.zeros(len(queries), most, 2, dtype=torch.long)
    scores, mask = torch.zeros(len(queries), most, dtype=torch.double), torch.zeros(len(queries), most).bool()
    for query, trajectories in enumerate(queries):
        for place, (first, last, score) in enumerate(trajectories):
            labels[query, place] = torch.tensor([first, last])
            scores[query, place], mask[query, place] = score, True
    nothing = torch.zeros(len(queries), CANDIDATES)
    return BeamBatch([str(n) for n in range(len(queries))], nothing, nothing, nothing, labels, scores, mask)


def targets(trajectories: list[Trajectory]) -> dict[tuple[int, int], float]:
    """The score of each pair that can be picked; of one that is recorded twice the first counts."""
    found: dict[tuple[int, int], float] = {}
    for first, last, score in trajectories:
        if first != last:
            found.setdefault((first, last), score)
    return found


@settings(max_examples=60, deadline=None)
@given(QUERIES, st.integers(0, 99))
def test_supervised_steps_raise_the_expected_score_of_a_pick(
    queries: list[list[Trajectory]], seed: int
) -> None:
    """Minus the log of sum over pairs of p(pair) * score; mean over queries that have a pair with a score."""
    log_p = table(seed, len(queries))
    losses = []
    for query, trajectories in enumerate(queries):
        expected = sum(
            math.exp(float(log_p[query, first, last])) * score
            for (first, last), score in targets(trajectories).items()
        )
        if expected > 0:
            losses.append(-math.log(expected))
    wanted = sum(losses) / len(losses) if losses else 0.0
    if max(map(len, queries)):
        assert supervised_loss(recorded(batch_of(queries), log_p)).item() == pytest.approx(wanted, rel=1e-5)


@settings(max_examples=60, deadline=None)
@given(QUERIES, st.integers(0, 99))
def test_policy_steps_climb_the_expected_score_among_what_is_recorded(
    queries: list[list[Trajectory]], seed: int
) -> None:
    """d/d log p of sum p s / sum p is p/P (s - expected): each query weighs the same, also one without a pair."""
    if not max(map(len, queries)):
        return
    log_p = table(seed, len(queries)).requires_grad_()
    group = recorded(batch_of(queries), log_p)
    policy_gradient_loss(group).backward()
    assert log_p.grad is not None
    wanted = torch.zeros_like(log_p)
    for query, trajectories in enumerate(queries):
        pairs = targets(trajectories)
        chances = {pair: math.exp(float(log_p.detach()[query, pair[0], pair[1]])) for pair in pairs}
        whole = sum(chances.values())
        expected = sum(chances[pair] * score for pair, score in pairs.items()) / whole if pairs else 0.0
        for pair, score in pairs.items():
            wanted[query, pair[0], pair[1]] = -chances[pair] / whole * (score - expected) / len(queries)
        assert group.expected_score()[query].item() == pytest.approx(expected, abs=1e-9)
    assert torch.allclose(log_p.grad, wanted, atol=1e-9)


def test_both_picks_weigh_the_likeness_to_the_query_beside_what_was_learned() -> None:
    """Before training the glimpse adds nothing and a first pick adds its key to the state: scales 5 and 10."""
    torch.manual_seed(0)
    selector = Selector(6, hidden=8, inner=8).double()
    torch.nn.init.zeros_(selector.glimpse.out_proj.bias)
    query, candidates = torch.randn(6).double(), torch.randn(CANDIDATES, 6).double()
    found = selector(query[None], candidates[None])[0]

    def cosine(one: torch.Tensor, other: torch.Tensor) -> float:
        return float(one @ other / one.norm() / other.norm())

    asked = selector.encoder(query)
    asked = asked / asked.norm()
    keys = [key / key.norm() for key in selector.encoder(candidates)]

    def shares(state: torch.Tensor, left: list[int]) -> dict[int, float]:
        logits = {
            place: 5 * cosine(state, keys[place]) + 10 * cosine(query, candidates[place]) for place in left
        }
        total = sum(math.exp(logit) for logit in logits.values())
        return {place: math.exp(logit) / total for place, logit in logits.items()}

    for first, share in shares(asked, list(range(CANDIDATES))).items():
        others = [place for place in range(CANDIDATES) if place != first]
        for second, then in shares(asked + keys[first], others).items():
            assert float(found[first, second]) == pytest.approx(math.log(share * then)), (first, second)
