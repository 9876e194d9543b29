"""g_agent on disk: all samples of a split packed into one file of flat tensors (spec GFlowNet 0.3, step 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from engine.errors import reading_errors
from engine.files import required
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.torch_file import load_torch, save_torch

TEXTS = ("sample_id", "question", "answers")
FLAGS = ("gt_path_exists", "is_answer_reachable")
TENSORS = tuple(field.name for field in fields(GAgentSample) if field.name not in (*TEXTS, *FLAGS))
_DTYPES = dict.fromkeys(("question_emb", "edge_scores", "edge_labels"), torch.float32) | {
    "top_edge_mask": torch.bool
}
_HINT = "remove the file and run the stage agent-graphs again"


def save_samples(path: Path, samples: Sequence[GAgentSample]) -> None:
    """Write a split: every field's tensors one behind the other, with their lengths."""
    state: dict[str, Any] = {name: [getattr(sample, name) for sample in samples] for name in (*TEXTS, *FLAGS)}
    for name in TENSORS:
        values = [getattr(sample, name) for sample in samples]
        state[name] = torch.cat(values) if values else torch.empty(0, dtype=_DTYPES.get(name, torch.int64))
        state[f"{name}.sizes"] = torch.tensor([value.shape[0] for value in values], dtype=torch.long)
    save_torch(path, state)


def load_samples(path: Path) -> list[GAgentSample]:
    """Read a split back. Raises DataError for a file that is not there or damaged."""
    state = load_torch(required(path, "agent-graphs"), _HINT)
    kinds = (KeyError, RuntimeError, ValueError, AttributeError, TypeError)
    with reading_errors(path, "the agent graphs do not fit together", _HINT, *kinds):
        pieces = {name: state[name].split(state[f"{name}.sizes"].tolist()) for name in TENSORS}
        columns = [state[name] for name in (*TEXTS, *FLAGS)] + [pieces[name] for name in TENSORS]
        names = (*TEXTS, *FLAGS, *TENSORS)
        return [GAgentSample(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
