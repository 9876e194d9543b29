"""GFlowNetModule: embedder, policy, estimator and reward, and the loss of a batch (spec GFlowNet 5 to 7)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from engine.config.gflownet import GFlowNetSection
from engine.gflownet.sampler.actor import GFlowNetActor, Rollout, Sampling
from engine.gflownet.sampler.embedder import GraphEmbedder, Tokens
from engine.gflownet.sampler.environment import GraphEnv
from engine.gflownet.sampler.estimator import GFlowNetEstimator
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.make import make_policy
from engine.gflownet.sampler.projector import EmbeddingProjector
from engine.gflownet.sampler.replay import Replay
from engine.gflownet.sampler.reward import AnswerOnlyReward, RewardOutput
from engine.gflownet.sampler.trajectory_balance import residual


@dataclass(frozen=True)
class Losses:
    """Terms by the spec's names, each a mean, and the values they were computed from."""

    terms: dict[str, torch.Tensor]
    pb_avg_entropy: torch.Tensor  # of the nodes that the walks reach
    batch: GraphBatch
    residual: torch.Tensor  # [J]
    log_z: torch.Tensor  # [B]
    rollout: Rollout
    reward: RewardOutput
    refused: int

    @property
    def total(self) -> torch.Tensor:
        """Sum of the terms."""
        return torch.stack(list(self.terms.values())).sum()


class GFlowNetModule(nn.Module):
    """Embedder, policy and estimator with their weights; environment, actor and reward without. `width` is the
    embeddings' D; `projector` is the retriever's, which learns on unless `embedder.freeze_projector`, None: own
    projections."""

    def __init__(
        self, width: int, section: GFlowNetSection, projector: EmbeddingProjector | None = None
    ) -> None:
        super().__init__()
        steps, hidden = section.environment.max_steps, section.policy.hidden
        self.section = section
        if projector is not None:
            projector.requires_grad_(not section.embedder.freeze_projector)
        self.embedder = GraphEmbedder(width, hidden, projector, section.token_features)
        self.policy = make_policy(section.policy, steps)
        self.estimator = GFlowNetEstimator(hidden, section.estimator)
        self.env = GraphEnv(steps, section.environment.forbid_revisit, section.environment.forbid_backtrack)
        self.actor = GFlowNetActor(self.env, self.policy)
        self.reward = AnswerOnlyReward(section.reward)

    def log_z(self, tokens: Tokens) -> torch.Tensor:
        """log Z of each question [B]."""
        return self.estimator.log_z(self.estimator.build_context(tokens.start_summary, tokens.question))

    def sample(
        self,
        batch: GraphBatch,
        tokens: Tokens,
        seeds: torch.Tensor,
        sampling: Sampling,
        keys: torch.Tensor | None = None,
    ) -> tuple[Rollout, RewardOutput]:
        """K roll-outs of every question: `seeds` [B * K], question by question."""
        graph = torch.arange(batch.size, device=seeds.device).repeat_interleave(seeds.shape[0] // batch.size)
        rollout = self.actor.rollout(batch, tokens, graph, seeds, sampling, keys)
        return rollout, self.reward(batch, rollout.walks, rollout.log_pf)

    def losses(
        self, batch: GraphBatch, seeds: torch.Tensor, sampling: Sampling, replay: Replay | None = None
    ) -> Losses:
        """TB over K roll-outs a question (`seeds` [B * K]), PB where it is learned, and GT over the paths of
        `replay`."""
        tokens = self.embedder(batch)
        keys = self.policy.prepare(batch, tokens)
        rollout, reward = self.sample(batch, tokens, seeds, sampling, keys)
        log_z = self.log_z(tokens)
        backward = self.estimator.backward_policy(batch, tokens, rollout.walks)
        delta = residual(log_z[rollout.walks.graph], rollout.log_pf, backward.log_pb, reward.log_reward)
        terms = {"tb_loss": (delta**2).mean(), **backward.terms}
        refused = 0
        if replay is not None and replay.graph.numel():
            scored = self.actor.score(batch, tokens, replay.graph, replay.edges, sampling, keys)
            gt_losses = self._gt_losses(batch, tokens, log_z, scored, replay.likelihood)
            refused = replay.graph.shape[0] - gt_losses.shape[0]
            if gt_losses.numel():
                terms["gt_loss"] = self.section.gt_loss_weight * gt_losses.mean()
        return Losses(
            terms, backward.avg_entropy, batch, delta.detach(), log_z.detach(), rollout, reward, refused
        )

    def _gt_losses(
        self,
        batch: GraphBatch,
        tokens: Tokens,
        log_z: torch.Tensor,
        scored: Rollout,
        likelihood: torch.Tensor,
    ) -> torch.Tensor:
        """-log P_F, or the squared residual of trajectory balance, which holds for paths from anywhere; of each path
        that was not refused."""
        walks, log_pf = scored.accepted.walks, scored.accepted.log_pf
        log_pb = self.estimator.backward_policy(batch, tokens, walks).log_pb
        log_reward = self.reward(batch, walks, log_pf).log_reward
        delta = residual(log_z[walks.graph], log_pf, log_pb, log_reward)
        return torch.where(likelihood[~scored.refused], -log_pf, delta**2)


def prior_alpha(section: GFlowNetSection, step: int) -> float:
    """The weight of the retriever's log score at a training step: linear, then constant (spec 3.1)."""
    actor = section.actor
    start, end = actor.retriever_prior_alpha_start, actor.retriever_prior_alpha_end
    return start + (end - start) * min(1.0, step / actor.retriever_prior_anneal_steps)
