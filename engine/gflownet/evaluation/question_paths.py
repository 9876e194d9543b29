"""A question's paths as the sampler draws them, for the question browser."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.events import QuestionSampled
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, path_triples
from engine.gflownet.evaluation.paths import GraphNames, ranked_paths
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.graphs.tables import Texts
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.distinct_paths import distinct_paths
from engine.gflownet.sampler.module import GFlowNetModule


@dataclass(frozen=True)
class Drawing:
    """`distinct`: without replacement; otherwise each path for itself. Without a temperature: that of the section."""

    distinct: bool
    temperature: float | None = None


@dataclass(frozen=True)
class QuestionSampler:
    """Samples single questions of a split with a trained module."""

    module: GFlowNetModule
    questions: QuestionBatches
    texts: Texts
    run_seed: int
    token_budget: int

    @torch.no_grad()
    def sample(
        self,
        number: int,
        prior_alpha: float,
        drawing: Drawing,
        samples: int | None = None,
        draw: int = 0,
    ) -> QuestionSampled:
        """The paths of question `number`. `draw` 0 repeats the samples behind the figures; other numbers draw new
        samples."""
        section = self.module.eval().section
        temperature = drawing.temperature or section.actor.eval_policy_temperature
        samples = section.num_eval_rollouts if samples is None else samples
        batch, data = self.questions.whole(number)
        tokens = self.module.embedder(batch)
        sampling = Sampling(temperature, prior_alpha)
        if drawing.distinct:
            seeds = rollout_seeds(self.run_seed, "distinct", [data.sample_id], 1, draw)
            rollout = distinct_paths(self.module.actor, batch, tokens, samples, sampling, seeds).accepted
            reward = self.module.reward(batch, rollout.walks, rollout.log_pf)
        else:
            seeds = rollout_seeds(self.run_seed, "evaluate", [data.sample_id], samples, draw * samples)
            rollout, reward = self.module.sample(batch, tokens, seeds, sampling)
        names = GraphNames.of(self.texts, data)
        paths = ranked_paths(batch, rollout, reward, names)
        return QuestionSampled(
            sample_id=data.sample_id,
            question=data.question,
            starts=[names.nodes[node] for node in batch.starts.tolist()],
            golds=data.answers,
            answers=[names.nodes[node] for node in torch.nonzero(batch.is_answer)[:, 0].tolist()],
            nodes=batch.node_graph.shape[0],
            edges=batch.heads.shape[0],
            samples=rollout.log_pf.shape[0],
            distinct=drawing.distinct,
            log_z=float(self.module.log_z(tokens)[0]),
            temperature=temperature,
            prior_alpha=prior_alpha,
            paths=paths,
            prompt=build_triplet_prompt(data.question, path_triples(paths), self.token_budget).text,
        )
