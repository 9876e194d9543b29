"""g_agent on disk: all samples of a split packed into one file of flat tensors (spec GFlowNet 0.3, step 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError
from engine.gflownet.samples import GAgentSample
from engine.torch_file import load_torch, save_torch

TEXTS = ("sample_id", "question")
FLAGS = ("gt_path_exists", "is_answer_reachable")
TENSORS = tuple(field.name for field in fields(GAgentSample) if field.name not in (*TEXTS, *FLAGS))
_MEND = "run the stage agent-graphs again"


def save_samples(path: Path, samples: Sequence[GAgentSample]) -> None:
    """Write a split: every field's tensors one behind the other, with their lengths."""
    state: dict[str, Any] = {name: [getattr(sample, name) for sample in samples] for name in (*TEXTS, *FLAGS)}
    for name in TENSORS:
        values = [getattr(sample, name) for sample in samples]
        state[name] = torch.cat(values) if values else torch.empty(0)
        state[f"{name}.sizes"] = torch.tensor([value.shape[0] for value in values], dtype=torch.long)
    save_torch(path, state)


def load_samples(path: Path) -> list[GAgentSample]:
    """Read a split back. Raises DataError, naming sample and field, for what no sampler could walk."""
    if not path.is_file():
        raise DataError(
            what="there are no agent graphs", where=str(path), mend="run the stage agent-graphs first"
        )
    state = load_torch(path, _MEND)
    missing = [name for name in (*TEXTS, *FLAGS, *TENSORS) if name not in state]
    if missing:
        raise DataError(what=f"the agent graphs have no {', '.join(missing)}", where=str(path), mend=_MEND)
    try:
        parts = {name: state[name].split(state[f"{name}.sizes"].tolist()) for name in TENSORS}
        columns = [state[name] for name in (*TEXTS, *FLAGS)] + [parts[name] for name in TENSORS]
        names = (*TEXTS, *FLAGS, *TENSORS)
        samples = [GAgentSample(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    except (KeyError, RuntimeError, ValueError, AttributeError, TypeError) as error:
        raise DataError(
            what=f"the agent graphs do not fit together: {error}", where=str(path), mend=_MEND
        ) from error
    width = samples[0].question_emb.shape[0] if samples else 0
    for sample in samples:
        _check(sample, width, path)
    return samples


def _check(sample: GAgentSample, width: int, path: Path) -> None:
    nodes, edges = sample.node_entity_ids.shape[0], sample.edge_head_locals.shape[0]
    lengths = {"node_embedding_ids": nodes, "question_emb": width}
    for name in ("edge_tail_locals", "edge_relations", "edge_scores", "edge_labels", "top_edge_mask"):
        lengths[name] = edges
    limits = {"gt_path_edge_local_ids": edges}
    for name in ("edge_head_locals", "edge_tail_locals", "start_node_locals", "answer_node_locals"):
        limits[name] = nodes
    for name, length in lengths.items():
        found = getattr(sample, name).shape[0]
        if found != length:
            raise _wrong(sample, f"{name} has length {found}, expected {length}", path)
    for name, limit in limits.items():
        values = getattr(sample, name)
        if values.numel() and not 0 <= int(values.min()) <= int(values.max()) < limit:
            raise _wrong(sample, f"{name} names {int(values.max())}, outside 0..{limit - 1}", path)
    if not bool(torch.isfinite(sample.edge_scores).all()):
        raise _wrong(sample, "edge_scores are not all finite", path)


def _wrong(sample: GAgentSample, what: str, path: Path) -> DataError:
    return DataError(what=f"sample {sample.sample_id}: {what}", where=str(path), mend=_MEND)
