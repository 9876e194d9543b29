"""The sampler and its baselines on one split, question by question (spec GFlowNet 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from engine.events import SamplerEvaluated
from engine.gflownet.evaluation.all_questions import over_all
from engine.gflownet.evaluation.beam import beam_search
from engine.gflownet.evaluation.distance import total_variation
from engine.gflownet.evaluation.metrics import pearson, question_figures, spearman
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.distinct_paths import distinct_paths
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.policies.retriever_prior import RetrieverPriorPolicy
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap

STOP_SCORES = (0.01, 0.03, 0.1, 0.3, 1.0)
EDGE_BONUSES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0)
QUESTIONS_AT_ONCE = 32


@dataclass
class Evaluation:
    """A method's figures, one number per question. Where it samples a P_F, its trajectories' (log P_F, log R), and the
    total variation between P_F and R / sum R (NaN: too many paths to list). `settings` were chosen on validation."""

    method: str
    k: int
    settings: dict[str, float] = field(default_factory=dict)
    figures: dict[str, list[float]] = field(default_factory=dict)
    distances: list[float] = field(default_factory=list)
    log_pf: list[float] = field(default_factory=list)
    log_reward: list[float] = field(default_factory=list)
    missed: int = 0
    """Questions without an agent graph: no path reaches an answer."""

    def add(self, figures: dict[str, torch.Tensor]) -> None:
        """The next questions."""
        for name, values in figures.items():
            self.figures.setdefault(name, []).extend(values.double().tolist())

    @property
    def n(self) -> int:
        """Questions."""
        return len(next(iter(self.figures.values()), []))

    @property
    def with_all_questions(self) -> dict[str, list[float]]:
        """The figures over the questions with an agent graph, and those over all questions."""
        return {**self.figures, **over_all(self.figures, self.missed)}

    @property
    def listed(self) -> int:
        """Questions whose paths could all be listed, which the total variation is a mean over."""
        return sum(not math.isnan(distance) for distance in self.distances)

    def means(self) -> dict[str, float]:
        """Every figure's mean, the total variation's, and the correlations of log P_F and log R over all
        trajectories."""
        means = {name: float(np.mean(values)) for name, values in self.with_all_questions.items()}
        if self.listed:
            means["total_variation"] = float(np.nanmean(self.distances))
        if self.log_pf:
            log_pf, log_reward = torch.tensor(self.log_pf), torch.tensor(self.log_reward)
            means["logpf_logr_corr"] = pearson(log_pf, log_reward)
            means["logpf_logr_spearman"] = spearman(log_pf, log_reward)
        return means

    def event(self, step: int, split: str, run_seed: int, resamples: int = 2000) -> SamplerEvaluated:
        """The event, with bootstrap intervals of the compared figures."""
        intervals = {}
        for name, values in self.with_all_questions.items():
            if "@" not in name and name != "unique_paths":
                continue
            seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
            interval = paired_bootstrap(values, np.zeros(len(values)), seed, resamples)
            intervals[name] = (interval.low, interval.high)
        return SamplerEvaluated(
            step=step,
            split=split,
            method=self.method,
            n=self.n,
            k=self.k,
            missed=self.missed,
            metrics=self.means(),
            settings=self.settings,
            listed=self.listed,
            intervals=intervals,
        )


@dataclass(frozen=True)
class Evaluator:
    """Evaluates on one split. `checkpoint` is called between batches."""

    module: GFlowNetModule
    questions: QuestionBatches
    run_seed: int
    checkpoint: Callable[[], None]

    def sampler(self, prior_alpha: float) -> Evaluation:
        """num_eval_rollouts samples a question, each drawn for itself."""
        sampling = Sampling(self.module.section.actor.eval_policy_temperature, prior_alpha)
        return self._policy("gflownet", self.module.actor, sampling, self._each, True)

    def distinct(self, prior_alpha: float, temperature: float) -> Evaluation:
        """num_eval_rollouts paths a question, sampled without replacement; the most probable first."""
        evaluation = Evaluation("distinct", self._each, {"temperature": temperature})
        for batch, names in self._batches():
            seeds = rollout_seeds(self.run_seed, "distinct", names, 1)
            sampling = Sampling(temperature, prior_alpha)
            rollout = distinct_paths(
                self.module.actor, batch, self._tokens(batch), self._each, sampling, seeds
            )
            evaluation.add(self._figures(batch, rollout.walks, rollout.log_pf))
        return evaluation

    def greedy(self, prior_alpha: float) -> Evaluation:
        """The most probable action at every step: one path a question."""
        sampling = Sampling(prior_alpha=prior_alpha, greedy=True)
        return self._policy("greedy", self.module.actor, sampling, 1, False)

    def prior(self, stop_score: float, with_distance: bool = False) -> Evaluation:
        """The retriever's scores instead of a policy."""
        actor = GFlowNetActor(self.module.env, RetrieverPriorPolicy(stop_score))
        evaluation = self._policy("prior", actor, Sampling(prior_alpha=1.0), self._each, with_distance)
        evaluation.settings["stop_score"] = stop_score
        return evaluation

    def beam(self, edge_bonus: float) -> Evaluation:
        """Beam search on the retriever's scores, as wide as the sampler samples."""
        evaluation = Evaluation("beam", self._each, {"edge_bonus": edge_bonus})
        for batch, _ in self._batches():
            walks, worth = beam_search(self.module.env, batch, self._each, edge_bonus)
            evaluation.add(self._figures(batch, walks, worth))
        return evaluation

    @property
    def _each(self) -> int:
        return self.module.section.num_eval_rollouts

    def _policy(
        self, method: str, actor: GFlowNetActor, sampling: Sampling, each: int, with_distance: bool
    ) -> Evaluation:
        evaluation = Evaluation(method, each)
        for batch, names in self._batches():
            seeds = rollout_seeds(self.run_seed, "evaluate", names, each)
            graph = torch.arange(batch.size).repeat_interleave(each)
            tokens = self._tokens(batch)
            rollout = actor.rollout(batch, tokens, graph, seeds, sampling)
            reward = self.module.reward(batch, rollout.walks, rollout.log_pf)
            evaluation.add(self._figures(batch, rollout.walks))
            evaluation.log_pf += rollout.log_pf.double().tolist()
            evaluation.log_reward += reward.log_reward.double().tolist()
            if with_distance:
                distances = total_variation(actor, self.module.reward, batch, tokens, sampling)
                evaluation.distances += distances.double().tolist()
        return evaluation

    def _figures(
        self, batch: GraphBatch, walks: Walks, log_weight: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        reward = self.module.reward(batch, walks, batch.question_emb)
        section = self.module.section
        return question_figures(batch, walks, reward, section.path_hit_k, section.success_k, log_weight)

    def _tokens(self, batch: GraphBatch) -> Tokens:
        self.module.eval()
        with torch.no_grad():
            return self.module.embedder(batch)

    def _batches(self) -> Iterator[tuple[GraphBatch, list[str]]]:
        count = len(self.questions)
        for first in range(0, count, QUESTIONS_AT_ONCE):
            self.checkpoint()
            with torch.no_grad():
                yield self.questions.batch(range(first, min(count, first + QUESTIONS_AT_ONCE)))


def deciding_figure(beam: Evaluation) -> str:
    """The figure by which settings are chosen and methods compared: answer recall, or hits@1 where most questions have
    fewer than K paths, which beam search lists then, so that any K of them reach all answers."""
    few = bool(np.median(beam.figures[f"unique_paths@{beam.k}"]) < beam.k)
    return "hits@1" if few else f"answer_recall_union@{beam.k}"


def best_setting(evaluate: Callable[[float], Evaluation], settings: Sequence[float], figure: str) -> float:
    """The setting with the best `figure`; among equals, with the most distinct paths that meet an answer."""

    def worth(setting: float) -> tuple[float, float]:
        evaluation = evaluate(setting)
        means = evaluation.means()
        return means[figure], means[f"unique_success_paths@{evaluation.k}"]

    return max(settings, key=worth)
