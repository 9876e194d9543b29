"""A run of the five stages that takes seconds: hashed embeddings, few questions, a small network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from engine.config import Config
from engine.events import Event
from engine.registry import resolve_stage
from tests.run_stage import run_stage

STAGES = ("graphs", "retriever", "agent-graphs", "gflownet", "answer")
SMALL = """
graphs: {nodes: 400, edges: 80, train_size: 40, validation_size: 10, test_size: 12, embedder: hashed, max_hops: 2}
retriever: {epochs: 3, hidden: 32, recall_k: [5, 20]}
agent_graphs: {anchor_top_k: 30}
gflownet:
  steps: 40
  batch_size: 8
  num_eval_rollouts: 10
  success_k: [1, 10]
  log_every: 5
  eval_every: 20
  checkpoint_every: 10
  policy: {hidden: 16}
answer: {token_budget: 40}
"""


def small_config(**sections: dict[str, Any]) -> Config:
    """The small run's configuration, with fields of sections changed."""
    settings = yaml.safe_load(SMALL)
    for name, changes in sections.items():
        settings[name] = settings.get(name, {}) | changes
    return Config.model_validate(settings)


def run_stages(folder: Path, names: tuple[str, ...] = STAGES, config: Config | None = None) -> list[Event]:
    """Run these stages one behind the other; their events."""
    config = config or small_config()
    return [event for name in names for event in run_stage(resolve_stage(name), config, folder)]
