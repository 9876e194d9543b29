"""g_agent on disk: all samples of a split packed into one file of flat tensors (spec GFlowNet 0.3, step 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from engine.errors import DataError
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
        state[name] = torch.cat(values) if values else torch.empty(0, dtype=_dtype(name))
        state[f"{name}.sizes"] = torch.tensor([value.shape[0] for value in values], dtype=torch.long)
    save_torch(path, state)


def load_samples(path: Path) -> list[GAgentSample]:
    """Read a split back. Raises DataError, naming sample and field, for what no sampler could walk, and for an id that
    stands twice: draws and answers belong to an id."""
    if not path.is_file():
        raise DataError(
            what="there are no agent graphs", where=str(path), hint="run the stage agent-graphs first"
        )
    state = load_torch(path, _HINT)
    missing = [name for name in (*TEXTS, *FLAGS, *TENSORS) if name not in state]
    if missing:
        raise DataError(what=f"the agent graphs have no {', '.join(missing)}", where=str(path), hint=_HINT)
    for name in TENSORS:
        flat = state[name]
        if not isinstance(flat, torch.Tensor) or flat.ndim != 1 or flat.dtype != _dtype(name):
            what = f"{name} is not a flat tensor of {_dtype(name)}"
            raise DataError(what=what, where=str(path), hint=_HINT)
    try:
        pieces = {name: state[name].split(state[f"{name}.sizes"].tolist()) for name in TENSORS}
        columns = [state[name] for name in (*TEXTS, *FLAGS)] + [pieces[name] for name in TENSORS]
        names = (*TEXTS, *FLAGS, *TENSORS)
        samples = [GAgentSample(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    except (KeyError, RuntimeError, ValueError, AttributeError, TypeError) as error:
        raise DataError(
            what=f"the agent graphs do not fit together: {error}", where=str(path), hint=_HINT
        ) from error
    width = samples[0].question_emb.shape[0] if samples else 0
    for sample in samples:
        _check(sample, width, path)
    ids = Counter(sample.sample_id for sample in samples)
    if len(ids) < len(samples):
        what = f"the sample id {ids.most_common(1)[0][0]} stands twice"
        raise DataError(what=what, where=str(path), hint="run the stages from graphs on again, in a new run")
    return samples


def _dtype(name: str) -> torch.dtype:
    return _DTYPES.get(name, torch.int64)


def _check(sample: GAgentSample, width: int, path: Path) -> None:
    problems = [*_lengths(sample, width), *_numbers(sample)] or [*_relations(sample)]
    if problems:
        raise DataError(what=f"sample {sample.sample_id}: {problems[0]}", where=str(path), hint=_HINT)


def _lengths(sample: GAgentSample, width: int) -> Iterator[str]:
    edges = sample.edge_head_locals.shape[0]
    steps = sample.gt_path_edge_local_ids.shape[0]
    lengths = dict.fromkeys(
        ("edge_tail_locals", "edge_relations", "edge_scores", "edge_labels", "top_edge_mask"), edges
    ) | {
        "question_emb": width,
        "node_embedding_ids": sample.node_entity_ids.shape[0],
        "start_entity_ids": sample.start_node_locals.shape[0],
        "answer_entity_ids": sample.answer_node_locals.shape[0],
        "gt_path_node_local_ids": steps + 1 if steps else 0,
    }
    for name, length in lengths.items():
        if (given := getattr(sample, name).shape[0]) != length:
            yield f"{name} has length {given}, expected {length}"


def _numbers(sample: GAgentSample) -> Iterator[str]:
    nodes, edges = sample.node_entity_ids.shape[0], sample.edge_head_locals.shape[0]
    by_node = ("edge_head_locals", "edge_tail_locals", "start_node_locals", "answer_node_locals")
    limits = dict.fromkeys((*by_node, "gt_path_node_local_ids"), nodes) | {"gt_path_edge_local_ids": edges}
    for name, limit in limits.items():
        values = getattr(sample, name)
        out_of_range = values[(values < 0) | (values >= limit)]
        if out_of_range.numel():
            yield f"{name} names {int(out_of_range[0])}, outside 0..{limit - 1}"
    if not bool(((sample.edge_scores > 0) & (sample.edge_scores <= 1)).all()):
        yield "edge_scores are not all in (0, 1]"


def _relations(sample: GAgentSample) -> Iterator[str]:
    """Checks that need all numbers to lie inside the graph."""
    ids, path, nodes = sample.node_entity_ids, sample.gt_path_edge_local_ids, sample.gt_path_node_local_ids
    for name in ("start", "answer"):
        if not torch.equal(
            ids[getattr(sample, f"{name}_node_locals")], getattr(sample, f"{name}_entity_ids")
        ):
            yield f"{name}_entity_ids are not those of {name}_node_locals"
    walked = torch.equal(sample.edge_head_locals[path], nodes[:-1])
    if not walked or not torch.equal(sample.edge_tail_locals[path], nodes[1:]):
        yield "gt_path_edge_local_ids do not lead along gt_path_node_local_ids"
