"""The sampler and its baselines on one split, question by question (spec GFlowNet 9; DESIGN 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch

from engine.events import SamplerEvaluated
from engine.gflownet.evaluation.all_questions import over_all
from engine.gflownet.evaluation.beam import beam_search
from engine.gflownet.evaluation.metrics import pearson, question_figures, spearman
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.embedder import Tokens
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.policies.retriever_prior import RetrieverPriorPolicy
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap

STOP_SCORES = (0.01, 0.03, 0.1, 0.3, 1.0)
QUESTIONS_AT_ONCE = 32
SCATTERED = 300


@dataclass
class Evaluation:
    """A method's figures, one number per question, and its trajectories' (log P_F, log R) where it has a P_F."""

    method: str
    k: int
    figures: dict[str, list[float]] = field(default_factory=dict)
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
    def both_ways(self) -> dict[str, list[float]]:
        """The figures over the questions with an agent graph, and those over all questions."""
        return {**self.figures, **over_all(self.figures, self.missed)}

    def means(self) -> dict[str, float]:
        """Every figure's mean, and the correlations of log P_F and log R over all trajectories."""
        means = {name: float(np.mean(values)) for name, values in self.both_ways.items()}
        if self.log_pf:
            log_pf, log_reward = torch.tensor(self.log_pf), torch.tensor(self.log_reward)
            means["logpf_logr_corr"] = pearson(log_pf, log_reward)
            means["logpf_logr_spearman"] = spearman(log_pf, log_reward)
        return means

    def event(self, step: int, split: str, run_seed: int, resamples: int = 2000) -> SamplerEvaluated:
        """The event, with bootstrap intervals of the compared figures."""
        intervals = {}
        for name, values in self.both_ways.items():
            if "@" not in name and name != "unique_paths":
                continue
            seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
            interval = paired_bootstrap(values, np.zeros(len(values)), seed, resamples)
            intervals[name] = (interval.low, interval.high)
        every = max(1, len(self.log_pf) // SCATTERED)
        scatter = list(zip(self.log_pf[::every], self.log_reward[::every], strict=True))
        return SamplerEvaluated(
            step=step,
            split=split,
            method=self.method,
            n=self.n,
            k=self.k,
            missed=self.missed,
            metrics=self.means(),
            intervals=intervals,
            scatter=scatter,
        )


class Evaluator:
    """Evaluates on one split. `checkpoint` is called between batches."""

    def __init__(
        self,
        module: GFlowNetModule,
        questions: QuestionBatches,
        run_seed: int,
        checkpoint: Callable[[], None],
    ) -> None:
        self.module = module
        self.section = module.section
        self.questions = questions
        self.run_seed = run_seed
        self.checkpoint = checkpoint

    def sampler(self, prior_alpha: float) -> Evaluation:
        """num_eval_rollouts samples a question."""
        return self._policy("gflownet", self.module.actor, self._sampling(prior_alpha), self._each)

    def greedy(self, prior_alpha: float) -> Evaluation:
        """The most probable action at every step: one path a question."""
        sampling = Sampling(prior_alpha=prior_alpha, greedy=True)
        return self._policy("greedy", self.module.actor, sampling, 1)

    def prior(self, stop_score: float) -> Evaluation:
        """The retriever's scores instead of a policy."""
        actor = GFlowNetActor(self.module.env, RetrieverPriorPolicy(stop_score))
        return self._policy("prior", actor, Sampling(prior_alpha=1.0), self._each)

    def best_stop_score(self) -> float:
        """The stop score at which the retriever prior's answer recall on this split is best."""
        recall = f"answer_recall_union@{self._each}"
        return max(STOP_SCORES, key=lambda score: self.prior(score).means()[recall])

    def beam(self, per_edge: bool) -> Evaluation:
        """Beam search on the retriever's scores, as wide as the sampler samples."""
        evaluation = Evaluation("beam_mean" if per_edge else "beam_sum", self._each)
        for batch, _ in self._batches():
            walks, _ = beam_search(self.module.env, batch, self._each, per_edge)
            evaluation.add(self._figures(batch, walks))
        return evaluation

    @property
    def _each(self) -> int:
        return self.section.num_eval_rollouts

    def _sampling(self, prior_alpha: float) -> Sampling:
        return Sampling(self.section.actor.eval_policy_temperature, prior_alpha)

    def _policy(self, method: str, actor: GFlowNetActor, sampling: Sampling, each: int) -> Evaluation:
        evaluation = Evaluation(method, each)
        for batch, names in self._batches():
            seeds = rollout_seeds(self.run_seed, "evaluate", names, each)
            graph = torch.arange(batch.size).repeat_interleave(each)
            rollout = actor.rollout(batch, self._tokens(batch), graph, seeds, sampling)
            reward = self.module.reward(batch, rollout.walks, rollout.log_pf)
            evaluation.add(self._figures(batch, rollout.walks))
            evaluation.log_pf += rollout.log_pf.double().tolist()
            evaluation.log_reward += reward.log_reward.double().tolist()
        return evaluation

    def _figures(self, batch: GraphBatch, walks: Walks) -> dict[str, torch.Tensor]:
        reward = self.module.reward(batch, walks, batch.question_emb)
        return question_figures(batch, walks, reward, self.section.path_hit_k, self.section.success_k)

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


def differences(
    evaluation: Evaluation, baseline: Evaluation, names: Sequence[str], run_seed: int
) -> list[dict[str, float | str]]:
    """Paired differences of means over the same questions, with bootstrap 95% intervals."""
    rows: list[dict[str, float | str]] = []
    for name in names:
        seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
        interval = paired_bootstrap(evaluation.both_ways[name], baseline.both_ways[name], seed)
        rows.append(
            {
                "metric": name,
                "method": evaluation.method,
                "against": baseline.method,
                **asdict(interval),
            }
        )
    return rows
