"""The stage `clusters`: every token of the vocabulary gets a cluster (spec Evolution 1, 2.5)."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.events import ClustersBuilt, TokenCluster
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import (
    EOS_CLUSTER,
    FIRST_KMEANS,
    NO_CLUSTER,
    NUMBER_CLUSTER,
    ClusterMap,
    cluster_names,
    save_cluster_map,
)
from engine.evolution.clusters.clustering import fit_pca, kmeans_labels, project
from engine.evolution.clusters.descriptions import (
    Descriptions,
    describe,
    number_words,
    read_given_descriptions,
    write_descriptions,
)
from engine.evolution.clusters.imported_files import read_embeddings, read_labels, read_pickle
from engine.evolution.clusters.special_clusters import eos_tokens, number_tokens
from engine.evolution.clusters.token_frequency import count_tokens
from engine.evolution.services import check_services
from engine.files import write_atomic
from engine.lm.embedding.sentence_embedder import SentenceEmbedder, load_embedder
from engine.lm.embedding.text_embedding import distinct_texts, embed_texts, write_array
from engine.lm.vocabulary import Vocabulary, load_vocabulary
from engine.run.stage import StageContext, StageResult


class BuildClusters:
    """Writes embeddings, PCA, labels and descriptions in the spec's formats, and the cluster of every row
    (`cluster_ids.npy`, `clusters.json`), which later stages read without pickle."""

    def run(self, context: StageContext) -> StageResult:
        """Embeddings and counted answers that an earlier attempt finished are kept; the rest is recomputed. What the
        stage `evolve` will miss is an error now, before minutes of embedding."""
        if "evolve" in context.config.run.stages:
            check_services(context.config)
        return _ClusterJob(context, load_vocabulary(context.config.evolution_model)).run()


@dataclass
class _ClusterJob:
    """One attempt at the stage."""

    context: StageContext
    vocabulary: Vocabulary
    embedder: str = ""
    files: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config = self.context.config.clusters
        self.run_dir = self.context.run_dir
        self.special = self._special()

    def run(self) -> StageResult:
        # What comes from outside is read first: a wrong path shows before minutes of embedding.
        given_labels = self._given_labels()
        given_pca = self._given_pca()
        count = (self.config.k if given_labels is None else int(given_labels.max()) + 1) + FIRST_KMEANS
        given_words = self._given_descriptions(count)
        embed = given_labels is None or given_words is None
        texts = len(distinct_texts(self.vocabulary.texts)) if embed and self.config.embeddings is None else 0
        total = texts + self.config.frequency_texts
        self.context.start(total, unit="texts")
        points = self._points(self._embeddings(total), given_pca) if embed else None
        clusters = self._assign(self._kmeans(points) if given_labels is None else given_labels, count)
        frequency = count_tokens(self.context, self.vocabulary, texts, total)
        self.context.notice(f"frequent tokens: {frequency.source}")
        if layout.token_frequency(self.run_dir).exists():
            self.files.append(layout.token_frequency(self.run_dir))
        descriptions = describe(
            clusters,
            self.vocabulary,
            points,
            frequency,
            self.config.tokens_listed,
            number_words(self.config.numbers),
            given_words,
        )
        write_descriptions(layout.descriptions(self.run_dir), descriptions)
        self.files += [
            layout.descriptions(self.run_dir),
            *save_cluster_map(clusters, layout.folder(self.run_dir)),
        ]
        self._announce(clusters, descriptions)
        self.context.progress(total, total)
        return self._result(clusters)

    def _special(self) -> NDArray[np.uint8]:
        """Cluster of the rows that never go through k-means; NO_CLUSTER for all others, padding too."""
        ids = np.full(len(self.vocabulary), NO_CLUSTER, dtype=np.uint8)
        ids[number_tokens(self.vocabulary.texts, self.config.numbers)] = NUMBER_CLUSTER
        eos = eos_tokens(self.vocabulary.eos, len(self.vocabulary))
        if not eos:
            self.context.notice(
                "the model has no end-of-text token: cluster 0 is empty, its delta does nothing", "warning"
            )
        ids[eos] = EOS_CLUSTER
        return ids

    @property
    def _ordinary(self) -> NDArray[np.bool_]:
        """Rows that go through k-means."""
        return (self.special == NO_CLUSTER) & ~self.vocabulary.padding

    # ------------------------------------------------------------ made elsewhere

    def _given_labels(self) -> NDArray[np.int64] | None:
        if self.config.labels is None:
            return None
        labels = read_labels(self.config.labels, self.vocabulary, self.config.trust_files)
        without = int((labels[self._ordinary] < 0).sum())
        if without:
            raise DataError(
                what=f"{without} tokens have no label",
                where=f"clusters.labels: {self.config.labels}",
                hint="give a label from 0 to every token that is neither an end of text nor a number",
            )
        return labels

    def _given_pca(self) -> Any:
        if self.config.pca is None:
            return None
        pca = read_pickle(self.config.pca, "clusters.pca", self.config.trust_files)
        if not hasattr(pca, "transform"):
            raise DataError(
                what=f"a {type(pca).__name__} is not a fitted PCA",
                where=f"clusters.pca: {self.config.pca}",
                hint="give the PCA that scikit-learn fitted",
            )
        return pca

    def _given_descriptions(self, count: int) -> dict[str, str] | None:
        path = self.config.descriptions
        return (
            None if path is None else read_given_descriptions(Path(path).expanduser(), cluster_names(count))
        )

    # ------------------------------------------------------------ made here

    def _embeddings(self, total: int) -> NDArray[np.float32]:
        """(vocab_size, dimension), computed or read."""
        self.files.append(layout.embeddings(self.run_dir))
        if self.config.embeddings is not None:
            self.embedder = self.config.embeddings
            rows = read_embeddings(self.config.embeddings, self.vocabulary)
            write_array(layout.embeddings(self.run_dir), rows)
            return rows
        self.embedder = self.config.embedder
        return embed_texts(
            self.vocabulary.texts,
            self._load_embedder,
            layout.embeddings(self.run_dir),
            self.context.checkpoint,
            lambda done: self.context.progress(done, total, note="embedding"),
        )

    def _load_embedder(self) -> SentenceEmbedder:
        config = self.config
        embedder = load_embedder(config.embedder, config.device, config.batch_size, "clusters")
        self.context.notice(f"embedder: {embedder.name}")
        return embedder

    def _points(self, embeddings: NDArray[np.float32], given: Any) -> NDArray[np.float32]:
        """Every row in the PCA's space; the PCA is fitted to the rows that go through k-means."""
        seed = self.context.seed("pca")
        pca = fit_pca(embeddings[self._ordinary], self.config.pca_dim, seed) if given is None else given
        width = getattr(pca, "n_features_in_", embeddings.shape[1])
        if width != embeddings.shape[1]:
            raise DataError(
                what=f"the PCA takes {width} dimensions, the embeddings have {embeddings.shape[1]}",
                where=f"clusters.pca: {self.config.pca}",
                hint="use the PCA that was fitted to these embeddings",
            )
        self._write_joblib(layout.pca(self.run_dir), pca)
        return project(pca, embeddings)

    def _kmeans(self, points: NDArray[np.float32] | None) -> NDArray[np.int64]:
        assert points is not None
        self.context.checkpoint()
        labels = np.full(len(self.vocabulary), -1, dtype=np.int64)
        labels[self._ordinary] = kmeans_labels(
            points[self._ordinary], self.config.k, self.context.seed("kmeans")
        )
        return labels

    def _assign(self, labels: NDArray[np.int64], count: int) -> ClusterMap:
        """Special rows keep their cluster; padding rows have no cluster even if they were labelled."""
        ids = self.special.copy()
        ids[self._ordinary] = labels[self._ordinary] + FIRST_KMEANS
        self._write_joblib(layout.labels(self.run_dir), labels)
        return ClusterMap(ids, count, self.vocabulary.fingerprint)

    def _write_joblib(self, path: Path, content: Any) -> None:
        buffer = io.BytesIO()
        joblib.dump(content, buffer)
        write_atomic(path, buffer.getvalue())
        self.files.append(path)

    # ------------------------------------------------------------ results

    def _announce(self, clusters: ClusterMap, descriptions: Descriptions) -> None:
        self.context.emit(
            ClustersBuilt(
                tokens=clusters.vocab_size,
                clusters=[TokenCluster(id=name, **asdict(item)) for name, item in descriptions.items()],
                embedder=self.embedder,
            )
        )

    def _result(self, clusters: ClusterMap) -> StageResult:
        summary: dict[str, float | int | str] = {
            "tokens": clusters.vocab_size,
            "clusters": clusters.count,
            "eos_tokens": clusters.sizes()[EOS_CLUSTER],
            "number_tokens": clusters.sizes()[NUMBER_CLUSTER],
        }
        return StageResult(summary, [str(path.relative_to(self.run_dir)) for path in self.files])
