"""A question's paths as the sampler draws them, for the question browser."""

from __future__ import annotations

import torch

from engine.events import QuestionSampled
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, path_triples
from engine.gflownet.evaluation.paths import GraphNames, NameLookup, ranked_paths
from engine.gflownet.evaluation.questions import QuestionBatches
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.counter_noise import rollout_seeds
from engine.gflownet.sampler.module import GFlowNetModule


class QuestionSampler:
    """Samples single questions of a split with a trained module."""

    def __init__(
        self,
        module: GFlowNetModule,
        questions: QuestionBatches,
        names: NameLookup,
        run_seed: int,
        token_budget: int,
    ) -> None:
        self.module = module.eval()
        self.questions = questions
        self.names = names
        self.run_seed = run_seed
        self.token_budget = token_budget

    @torch.no_grad()
    def sample(
        self,
        number: int,
        prior_alpha: float,
        temperature: float | None = None,
        samples: int | None = None,
        draw: int = 0,
    ) -> QuestionSampled:
        """The paths of question `number`. `draw` 0 repeats the samples behind the figures; other numbers draw new
        samples."""
        section = self.module.section
        temperature = section.actor.eval_policy_temperature if temperature is None else temperature
        samples = section.num_eval_rollouts if samples is None else samples
        batch, data = self.questions.whole(number)
        tokens = self.module.embedder(batch)
        seeds = rollout_seeds(self.run_seed, "evaluate", [data.sample_id], samples, draw * samples)
        rollout, reward = self.module.sample(batch, tokens, seeds, Sampling(temperature, prior_alpha))
        names = GraphNames(self.names, data.node_global_ids.tolist(), data.edge_attr.unique().tolist())
        paths = ranked_paths(batch, rollout, reward, names)
        return QuestionSampled(
            sample_id=data.sample_id,
            question=data.question,
            starts=[names.node(node) for node in batch.starts.tolist()],
            golds=data.answers,
            answers=[names.node(node) for node in torch.nonzero(batch.is_answer)[:, 0].tolist()],
            nodes=batch.node_graph.shape[0],
            edges=batch.heads.shape[0],
            samples=samples,
            log_z=float(self.module.log_z(tokens)[0]),
            temperature=temperature,
            prior_alpha=prior_alpha,
            paths=paths,
            prompt=build_triplet_prompt(data.question, path_triples(paths), self.token_budget).text,
        )
