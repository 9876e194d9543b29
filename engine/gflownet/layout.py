"""Where the five stages keep their files, below `RUN/gflownet` (spec GFlowNet 0)."""

from __future__ import annotations

from pathlib import Path

SPLITS: tuple[str, ...] = ("train", "validation", "test")


def folder(run_dir: Path) -> Path:
    """`RUN/gflownet`."""
    return run_dir / "gflownet"


def retrieval_store(run_dir: Path) -> Path:
    """g_retrieval: an LMDB with a database a split, one record a sample, and the names of entities and relations."""
    return folder(run_dir) / "g_retrieval.lmdb"


def entity_texts(run_dir: Path) -> Path:
    """JSON list: name of global entity i; an m. or g. id where it has no text."""
    return folder(run_dir) / "entities.json"


def relation_texts(run_dir: Path) -> Path:
    """JSON list: text of global relation i."""
    return folder(run_dir) / "relations.json"


def entity_embeddings(run_dir: Path) -> Path:
    """float32 [1 + entities with text, D]; row 0 stands for all without text and is zero."""
    return folder(run_dir) / "entity_embeddings.npy"


def relation_embeddings(run_dir: Path) -> Path:
    """float32 [relations, D]."""
    return folder(run_dir) / "relation_embeddings.npy"


def retriever_checkpoint(run_dir: Path) -> Path:
    """Weights, optimiser, schedules, generator states and position in the data of the retriever."""
    return folder(run_dir) / "retriever.pt"


def edge_scores(run_dir: Path, split: str) -> Path:
    """The retriever's score of every edge, by sample."""
    return folder(run_dir) / "scores" / f"{split}.safetensors"


def agent_graphs(run_dir: Path, split: str) -> Path:
    """g_agent: packed samples (`torch.load(weights_only=True)`)."""
    return folder(run_dir) / "g_agent" / f"{split}.pt"


def dropped_samples(run_dir: Path) -> Path:
    """JSON: samples left out by stage, split and reason."""
    return folder(run_dir) / "dropped.json"


def checkpoint(run_dir: Path) -> Path:
    """Everything the training of the sampler goes on from."""
    return folder(run_dir) / "gflownet.pt"


def training_log(run_dir: Path) -> Path:
    """One JSON line a logged training step."""
    return folder(run_dir) / "training.jsonl"


def validation_log(run_dir: Path) -> Path:
    """One JSON line an evaluation on validation: `step`, and every figure by its name."""
    return folder(run_dir) / "validation.jsonl"


def metrics(run_dir: Path) -> Path:
    """Figures of sampler and baselines on the held-out split."""
    return folder(run_dir) / "tables" / "metrics.csv"


def sampled_paths(run_dir: Path) -> Path:
    """One JSON line a question of the held-out split: its paths as sampled."""
    return folder(run_dir) / "paths.jsonl"


def answers(run_dir: Path) -> Path:
    """One JSON line a question and method: prompt, answer, verdict."""
    return folder(run_dir) / "answers.jsonl"
