"""Where the evolution keeps its files below a run directory (spec Evolution 7)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EvolutionLayout:
    """Files of one run's clusters."""

    run_dir: Path

    @property
    def root(self) -> Path:
        """`RUN/evolution`."""
        return self.run_dir / "evolution"

    @property
    def embeddings(self) -> Path:
        """float32 (vocab_size, dimension): every row of the vocabulary, embedded."""
        return self.root / "embeddings.npy"

    @property
    def embedding_parts(self) -> Path:
        """Folder of finished parts of `embeddings`, until they are put together."""
        return self.root / "embedding_parts"

    @property
    def pca(self) -> Path:
        """The fitted PCA (a pickle)."""
        return self.root / "pca.joblib"

    @property
    def labels(self) -> Path:
        """k-means label of every row, -1 where none was given (a pickle)."""
        return self.root / "labels_kmeans.joblib"

    @property
    def descriptions(self) -> Path:
        """What each cluster holds."""
        return self.root / "cluster_descriptions.json"

    @property
    def token_frequency(self) -> Path:
        """Answers whose tokens were counted, one a line."""
        return self.root / "token_frequency.jsonl"

    def relative(self, path: Path) -> str:
        """`path` as events name it."""
        return path.relative_to(self.run_dir).as_posix()
