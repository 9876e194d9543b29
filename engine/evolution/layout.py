"""Where the evolution keeps its files below a run directory (spec Evolution 7)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EvolutionLayout:
    """Files of one run's clusters and evolution."""

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

    @property
    def server_log(self) -> Path:
        """Output of the server that the evolution started."""
        return self.root / "server.log"

    @property
    def deltas_current(self) -> Path:
        """Deltas of the iteration at work."""
        return self.root / "deltas_current.json"

    @property
    def deltas_best(self) -> Path:
        """Deltas that validation confirmed last."""
        return self.root / "deltas_best.json"

    @property
    def processor(self) -> Path:
        """Generated from `deltas_current`."""
        return self.root / "processor.py"

    @property
    def processor_best(self) -> Path:
        """Generated from `deltas_best`."""
        return self.root / "processor_best.py"

    @property
    def answers(self) -> Path:
        """Every answer, one a line."""
        return self.root / "answers.jsonl"

    @property
    def history(self) -> Path:
        """Every finished iteration."""
        return self.root / "history.json"

    @property
    def plot(self) -> Path:
        """Composite and length over the iterations; `.svg` beside it."""
        return self.root / "evolution_lengths.png"

    @property
    def comparison(self) -> Path:
        """The best deltas against no processor and a length cap, on the test set."""
        return self.root / "tables" / "test.csv"

    def reflector_message(self, iteration: int) -> Path:
        """What the reflector was sent."""
        return self.root / f"reflector_message_{iteration:03d}.txt"

    def reflector_reply(self, iteration: int) -> Path:
        """What came of it."""
        return self.root / f"reflector_reply_{iteration:03d}.json"

    def relative(self, path: Path) -> str:
        """`path` as events name it."""
        return path.relative_to(self.run_dir).as_posix()
