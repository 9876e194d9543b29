"""Where the evolution keeps its files, below `RUN/evolution` (spec Evolution 7)."""

from __future__ import annotations

from pathlib import Path


def folder(run_dir: Path) -> Path:
    """`RUN/evolution`."""
    return run_dir / "evolution"


def embeddings(run_dir: Path) -> Path:
    """float32 (vocab_size, dimension): the embedding of every row of the vocabulary."""
    return folder(run_dir) / "embeddings.npy"


def pca(run_dir: Path) -> Path:
    """The fitted PCA (a pickle)."""
    return folder(run_dir) / "pca.joblib"


def labels(run_dir: Path) -> Path:
    """k-means label of every row, -1 for rows that did not go through k-means (a pickle)."""
    return folder(run_dir) / "labels_kmeans.joblib"


def descriptions(run_dir: Path) -> Path:
    """Description of each cluster."""
    return folder(run_dir) / "cluster_descriptions.json"


def token_frequency(run_dir: Path) -> Path:
    """Answers whose tokens were counted, one a line."""
    return folder(run_dir) / "token_frequency.jsonl"


def server_log(run_dir: Path) -> Path:
    """Output of the server that the evolution started."""
    return folder(run_dir) / "server.log"


def deltas_current(run_dir: Path) -> Path:
    """Deltas of the current iteration; after the reflector's reply, its proposal for the next."""
    return folder(run_dir) / "deltas_current.json"


def deltas_best(run_dir: Path) -> Path:
    """The best deltas so far."""
    return folder(run_dir) / "deltas_best.json"


def processor(run_dir: Path) -> Path:
    """Generated from the deltas that an iteration began with."""
    return folder(run_dir) / "processor.py"


def processor_best(run_dir: Path) -> Path:
    """Generated from `deltas_best`."""
    return folder(run_dir) / "processor_best.py"


def answers(run_dir: Path) -> Path:
    """Every answer, one a line."""
    return folder(run_dir) / "answers.jsonl"


def cut_verdicts(run_dir: Path) -> Path:
    """What a judge that costs something said of answers cut to a length cap, one a line."""
    return folder(run_dir) / "cut_verdicts.jsonl"


def history(run_dir: Path) -> Path:
    """Every finished iteration."""
    return folder(run_dir) / "history.json"


def plot(run_dir: Path) -> Path:
    """Composite and length over the iterations."""
    return folder(run_dir) / "evolution_lengths.png"


def comparison(run_dir: Path) -> Path:
    """The best deltas against no processor and the baselines, on the test set."""
    return folder(run_dir) / "tables" / "test.csv"


def test_answers(run_dir: Path) -> Path:
    """Length and verdict of every answer behind `comparison`, a line for each question and method."""
    return folder(run_dir) / "tables" / "test_answers.csv"


def baselines(run_dir: Path) -> Path:
    """Every length cap and request for short answers that was tried on the validation set."""
    return folder(run_dir) / "tables" / "baselines.csv"


def reflector_message(run_dir: Path, iteration: int) -> Path:
    """The messages sent to the reflector."""
    return folder(run_dir) / f"reflector_message_{iteration:03d}.txt"


def reflector_reply(run_dir: Path, iteration: int) -> Path:
    """The reflector's accepted reply."""
    return folder(run_dir) / f"reflector_reply_{iteration:03d}.json"
