"""How a method's setting is chosen on validation, with which settings each method draws, and what is made of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.gflownet import GFlowNetSection
from engine.gflownet.evaluation import evaluator as evaluator_module
from engine.gflownet.evaluation.evaluator import (
    Evaluation,
    Evaluator,
    best_setting,
    deciding_figure,
)
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, WIDTH, SmallGraph, small_batch

FOUND = {
    # recall of each question, distinct paths that meet an answer, questions whose first path ends right
    1.0: ([1, 1, 1, 0.8], 3.0, [0, 0, 1, 0]),
    2.0: ([1, 1, 0.8, 1], 5.0, [0, 0, 1, 1]),
    3.0: ([1, 0.8, 0.8, 0.4], 9.0, [1, 1, 1, 0]),
}


def evaluate(setting: float) -> Evaluation:
    recall, paths, hits = FOUND[setting]
    figures = {
        "answer_recall_union@4": [float(value) for value in recall],
        "unique_success_paths@4": [paths] * 4,
        "hits@1": [float(hit) for hit in hits],
    }
    return Evaluation("beam", 4, figures=figures)


@pytest.mark.parametrize(("settings", "chosen"), [((1.0, 2.0, 3.0), 2.0), ((1.0, 3.0), 1.0), ((3.0,), 3.0)])
def test_recall_decides_and_then_the_paths_that_meet_an_answer(settings: tuple[float, ...], chosen: float):
    assert best_setting(evaluate, settings, "answer_recall_union@4") == chosen


def test_another_figure_decides_where_it_is_the_one_that_is_compared():
    assert best_setting(evaluate, (1.0, 2.0, 3.0), "hits@1") == 3.0
    assert best_setting(evaluate, (1.0, 2.0), "hits@1") == 2.0


@pytest.mark.parametrize(
    ("listed", "figure"), [([4, 4, 2], "answer_recall_union@4"), ([4, 3, 2], "hits@1"), ([3, 3, 4], "hits@1")]
)
def test_the_first_end_decides_where_most_questions_have_fewer_than_k_paths(listed: list[int], figure: str):
    """The median of the paths that beam search lists, against K = 4."""
    beam = Evaluation("beam", 4, figures={"unique_paths@4": [float(count) for count in listed]})
    assert deciding_figure(beam) == figure


class First:
    """The first questions over small graphs."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        return small_batch([SMALL_GRAPHS[number] for number in numbers]), [f"q{number}" for number in numbers]


def evaluator(
    run_seed: int = 0, questions: int = 2, checkpoint: Callable[[], None] = lambda: None
) -> Evaluator:
    torch.manual_seed(0)
    actor = {"policy_temperature": 3.0, "eval_policy_temperature": 0.6, "random_action_prob": 0.5}
    section = {
        "policy": {"hidden": 8},
        "actor": actor,
        "num_eval_rollouts": 4,
        "success_k": [2],
    }
    module = GFlowNetModule(WIDTH, GFlowNetSection.model_validate(section)).double()
    return Evaluator(module, First(questions), run_seed, checkpoint)  # type: ignore[arg-type]


def test_every_method_draws_with_its_own_settings_and_without_exploration(monkeypatch: pytest.MonkeyPatch):
    """Held-out paths are drawn at the temperature of evaluation (spec GFlowNet 9); baselines at what was tuned."""
    seen: list[Any] = []

    def watch(where: Any, name: str, what: Callable[..., Any]) -> None:
        original = getattr(where, name)

        def watched(*arguments: Any, **rest: Any) -> Any:
            seen.append(what(*arguments, **rest))
            return original(*arguments, **rest)

        monkeypatch.setattr(where, name, watched)

    watch(GFlowNetActor, "rollout", lambda own, batch, tokens, graph, seeds, sampling: (sampling, len(graph)))
    watch(
        evaluator_module,
        "distinct_paths",
        lambda actor, batch, tokens, width, sampling, seeds: (sampling, width),
    )
    watch(evaluator_module, "beam_search", lambda env, batch, width, bonus=0.0: (bonus, width))
    own = evaluator()
    own.sampler(0.3)
    own.greedy(0.3)
    own.distinct(0.3, 0.7)
    own.beam(2.5)
    own.prior(0.1)
    assert seen == [
        (Sampling(0.6, 0.3), 8), (Sampling(1.0, 0.3, greedy=True), 2), (Sampling(0.7, 0.3), 4), (2.5, 4),
        (Sampling(1.0, 1.0), 8),
    ]  # fmt: skip


@pytest.mark.parametrize(("stop_score", "lengths"), [(1e-12, [2.0, 3.0]), (1e12, [0.0, 0.0])])
def test_the_retrievers_walks_end_by_the_score_of_stop(stop_score: float, lengths: list[float]):
    """As far as they can go, 0 -> 1 -> 2 and 0 -> 1 -> 2 -> 3, or not at all."""
    found = evaluator().prior(stop_score)
    assert found.figures["length_mean"] == lengths and found.settings == {"stop_score": stop_score}


class TwoBadEdges(First):
    """0 leads to the answer 1 by an edge of score 0.9, and to 2 by two of 0.1."""

    def batch(self, numbers: Sequence[int]) -> tuple[GraphBatch, list[str]]:
        batch = small_batch([SmallGraph("bad edges", ((0, 0, 1), (0, 0, 2), (0, 1, 2)), (0,), (1,), (0,))])
        return replace(batch, edge_scores=torch.tensor([0.9, 0.1, 0.1], dtype=torch.float64)), ["q"]


def test_the_beams_paths_weigh_what_they_are_worth():
    """Where one of 0.9 and two of 0.1 end, the answer is where the one does."""
    made = replace(evaluator(), questions=TwoBadEdges(1))  # type: ignore[arg-type]
    found = made.beam(0.0)
    assert found.figures["unique_paths@4"] == [4.0] and found.figures["hits@1"] == [1.0]


def test_draws_belong_to_the_runs_seed():
    first, again, other = (evaluator(seed).sampler(0.0).log_pf for seed in (0, 0, 1))
    assert first == again and first != other


def test_rewards_are_kept_as_logarithms():
    """None of the eight paths meets an answer: the reward is the configured 0.001."""
    assert evaluator().sampler(0.0).log_reward == pytest.approx([math.log(0.001)] * 8)


def test_means_and_correlations_of_an_evaluation():
    log_pf, log_reward = [-1.0, -2.0, -4.0, -9.0], [-0.1, -0.2, -5.0, -5.1]
    own = Evaluation(
        "gflownet", 2, figures={"success@1": [1.0, 0.0]}, distances=[math.nan, 0.2, 0.4], missed=2,
        log_pf=log_pf, log_reward=log_reward,
    )  # fmt: skip
    means = own.means()
    assert own.listed == 2 and means["total_variation"] == pytest.approx(0.3)
    assert means["success@1"] == 0.5 and means["success_all@1"] == 0.25
    assert means["logpf_logr_corr"] == pytest.approx(np.corrcoef(log_pf, log_reward)[0, 1], abs=1e-6)
    assert means["logpf_logr_spearman"] == pytest.approx(1)


def test_an_evaluation_is_told_with_intervals_of_the_figures_that_are_compared():
    """Over the questions with a graph, and for some figures over all; each with draws of its own."""
    own = Evaluation("beam", 2, {"edge_bonus": 0.5}, missed=1)
    own.add({"hits@1": torch.tensor([1.0, 0.0]), "unique_paths": torch.tensor([2.0, 1.0])})
    own.add({"hits@1": torch.tensor([1.0]), "unique_paths": torch.tensor([2.0])})
    own.figures["length_mean"] = [1.5, 2.5, 2.0]
    event = own.event(30, "test", 7, resamples=200)
    assert (event.step, event.split, event.method, event.n, event.k, event.missed) == (
        30,
        "test",
        "beam",
        3,
        2,
        1,
    )
    assert (event.settings, event.listed) == ({"edge_bonus": 0.5}, 0)
    assert event.metrics == pytest.approx(
        {"hits@1": 2 / 3, "hits_all@1": 0.5, "unique_paths": 5 / 3, "length_mean": 2.0}
    )
    expected = {}
    for name, values in (("hits@1", [1, 0, 1]), ("hits_all@1", [1, 0, 1, 0]), ("unique_paths", [2, 1, 2])):
        seed = derive_seed(7, "gflownet", f"bootstrap {name}")
        found = paired_bootstrap(np.array(values, dtype=float), np.zeros(len(values)), seed, 200)
        expected[name] = (found.low, found.high)
    assert event.intervals == expected and Evaluation("beam", 2).n == 0


def test_how_far_the_sampler_is_from_the_rewards_is_told_of_it_and_of_a_baseline_that_is_asked_for():
    """Of each of the two questions; greedy paths are no distribution."""
    own = evaluator()
    counts = [
        len(found.distances)
        for found in (own.sampler(0.3), own.greedy(0.3), own.prior(0.1), own.prior(0.1, with_distance=True))
    ]
    assert counts == [2, 0, 0, 2]


@pytest.mark.parametrize(("at_once", "batches"), [(2, 4), (3, 3), (8, 1)])
def test_figures_do_not_depend_on_how_many_questions_are_taken_at_once(
    at_once: int, batches: int, monkeypatch: pytest.MonkeyPatch
):
    """Before each batch the run may stop."""
    stops: list[int] = []
    count = len(SMALL_GRAPHS)
    in_parts, whole = evaluator(4, count, lambda: stops.append(0)), evaluator(4, count)
    methods: list[Callable[[Evaluator], Evaluation]] = [
        lambda own: own.sampler(0.3), lambda own: own.distinct(0.3, 2.0), lambda own: own.greedy(0.3),
        lambda own: own.prior(0.1, with_distance=True), lambda own: own.beam(1.0),
    ]  # fmt: skip
    for method in methods:
        together = method(whole)
        with monkeypatch.context() as patch:
            patch.setattr(evaluator_module, "QUESTIONS_AT_ONCE", at_once)
            found = method(in_parts)
        assert (len(stops), found.n) == (batches, count)
        assert found.figures.keys() == together.figures.keys()
        for name, values in together.figures.items():
            assert found.figures[name] == pytest.approx(values), name
        assert found.log_pf == pytest.approx(together.log_pf)
        assert found.log_reward == pytest.approx(together.log_reward)
        assert found.distances == pytest.approx(together.distances, nan_ok=True)
        stops.clear()
