"""From raw questions to retrieval graphs: what is written, what is left out, and that a stop changes nothing."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch

from engine.config.gflownet import GraphsSection
from engine.errors import DataError
from engine.events import Event, GraphsBuilt, StageProgress
from engine.gflownet import layout
from engine.gflownet.graphs import graphs_stage
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.generated.questions import GeneratedSource
from engine.gflownet.graphs.generated.world import make_world
from engine.gflownet.graphs.graphs_stage import BuildGraphs
from engine.gflownet.graphs.raw import RawSample, Unreadable, has_text
from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore, _size_and_checksum, ints
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.lm.embedding.hashed_embedder import HashedEmbedder
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.engine.gflownet.small_run import run_stages, small_config
from tests.exactly import exactly
from tests.run_stage import run_stage


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    run_stages(folder, ("graphs",))
    return folder


def test_a_store_is_sealed_by_all_its_bytes(tmp_path: Path) -> None:
    """They are read in portions of four mebibytes, of which the first counts, too."""
    file = tmp_path / "data.mdb"
    data = bytes(5 << 20) + b"end"
    for content in (data, b"x" + data[1:], b""):
        file.write_bytes(content)
        assert _size_and_checksum(file) == f"{len(content)} {crc32(content):08x}\n".encode()
    assert _size_and_checksum(tmp_path / "none") == b"0 00000000\n"


def records(folder: Path) -> dict[str, list[object]]:
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        return {
            split: [store.record(split, number) for number in range(store.count(split))]
            for split in layout.SPLITS
        }


def test_the_generated_graph_is_as_awkward_as_published_ones():
    world = make_world(0, 2000)
    pairs = Counter((head, tail) for head, _, tail in world.triples)
    heads = {head for head, _, _ in world.triples}
    assert max(map(len, world.arriving.values())) >= 300
    assert max(pairs.values()) >= 2
    assert any(head == tail for head, _, tail in world.triples)
    assert any((tail, head) in pairs for head, tail in pairs if head != tail)
    assert any(not has_text(entity) for entity in heads)


def test_generated_questions_have_what_the_stages_must_stand():
    section = GraphsSection(train_size=300)
    questions = list(GeneratedSource(section, 0).read("train"))
    hops = Counter(len(question.q_entity) for question in questions)
    answers = Counter(len(question.answer) for question in questions)
    outside = [q for q in questions if not {t for _, _, t in q.graph} & set(q.answer)]
    in_degrees = [max(Counter(t for _, _, t in q.graph).values()) for q in questions if q.graph]
    assert hops[1] and hops[2] and answers[1] and max(answers) > 2
    assert 1 <= len(outside) < 40
    assert max(in_degrees) >= 100
    assert len({question.question for question in questions}) == 300
    assert [q.graph for q in GeneratedSource(section, 0).read("train")] == [q.graph for q in questions]


def test_splits_share_no_question(built: Path):
    asked = [record.question for found in records(built).values() for record in found]  # type: ignore[attr-defined]
    assert len(asked) == len(set(asked)) > 50


def test_data_has_the_specs_fields(built: Path):
    tables, texts = EmbeddingTables.load(built), Texts.load(built)
    with RetrievalStore(layout.retrieval_store(built)) as store:
        data = GRetrievalDataset(store, "train")
        for number in range(len(data)):
            graph = data[number]
            nodes, edges = graph.num_nodes, graph.edge_attr.shape[0]
            assert graph.edge_index.shape == (2, edges) == (2, graph.labels.shape[0])
            assert graph.node_global_ids.shape == graph.node_embedding_ids.shape == (nodes,)
            assert graph.topic_one_hot.shape == (nodes, 2)
            assert torch.nonzero(graph.topic_one_hot[:, 1])[:, 0].tolist() == sorted(
                graph.q_local_indices.tolist()
            )
            assert (graph.topic_one_hot.sum(1) == 1).all()
            assert graph.answer_entity_ids_len == len(graph.answer_entity_ids) >= len(graph.a_local_indices)
            assert graph.question_emb.shape == (1, tables.width)
            for path, ends, triples in zip(
                graph.gt_path_edge_indices, graph.gt_paths_nodes, graph.gt_paths_triples, strict=True
            ):
                assert graph.labels[path].all()
                assert ends[0] in graph.q_local_indices and ends[-1] in graph.a_local_indices
                assert [triple[0] for triple in triples] == graph.node_global_ids[ends[:-1]].tolist()
                assert [triple[1] for triple in triples] == graph.edge_attr[path].tolist()
                assert [triple[2] for triple in triples] == graph.node_global_ids[ends[1:]].tolist()
            starts = [texts.entities[int(node)] for node in graph.node_global_ids[graph.q_local_indices]]
            assert all(start in graph.question for start in starts)


def test_entities_without_text_share_the_zero_row(built: Path):
    texts, tables = Texts.load(built), EmbeddingTables.load(built)
    embedder = HashedEmbedder()
    assert not tables.entity[0].any()
    assert isinstance(tables.entity, np.memmap) and isinstance(tables.relation, np.memmap), "not in memory"
    with RetrievalStore(layout.retrieval_store(built)) as store:
        record = store.record("train", 0)
    for number, row in zip(ints(record.nodes).tolist(), ints(record.node_rows).tolist(), strict=True):
        name = texts.entities[number]
        assert (row == 0) == (not has_text(name))
        if row:
            np.testing.assert_allclose(tables.entity[row], embedder.embed([name])[0], atol=1e-6)


def test_each_relation_has_the_row_of_its_own_words(built: Path):
    """No row is left for relations without text: they all have a name."""
    texts, tables = Texts.load(built), EmbeddingTables.load(built)
    assert len(set(texts.relations)) == len(texts.relations) > 10
    np.testing.assert_allclose(tables.relation, HashedEmbedder().embed(texts.relations), atol=1e-6)


def test_a_table_that_is_whole_is_not_made_again_and_what_it_was_made_from_is_cleared_away(tmp_path: Path):
    """Killed between the two, the stage left both."""
    path, rest = tmp_path / "table.npy", tmp_path / "table.texts.npy"
    path.write_bytes(b"whole")
    rest.write_bytes(b"rest")
    job = object.__new__(graphs_stage._GraphsJob)
    job._table(path, ["a text"], 0, zero=False)
    assert path.read_bytes() == b"whole" and not rest.exists()


class Answers:
    """Rows of one split with one edge each: an answer in words, one in the graph, both, none."""

    remark = ""

    def size(self, split: str) -> int:
        return 5 if split == "train" else 0

    def read(self, split: str) -> Iterator[Any]:
        for number, (words, entity) in enumerate((("w", ""), ("", "b"), ("w", "b"), ("", ""))):
            yield RawSample(
                id=f"q{number}", question="?", answer=[words] if words else [], q_entity=["a"],
                a_entity=[entity] if entity else [], graph=[("a", "r", "b")],
            )  # fmt: skip
        yield RawSample("empty", "?", ["w"], ["a"], ["b"], [])


def test_a_question_needs_an_answer_in_words_or_in_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The rows are told of by split and the texts by number, while they are worked on."""
    monkeypatch.setattr(graphs_stage, "CHUNK", 2)
    monkeypatch.setattr(graphs_stage, "make_source", lambda section, seed: Answers())
    events = run_stages(tmp_path, ("graphs",))
    dropped = json.loads(layout.dropped_samples(tmp_path).read_text())["graphs"]
    assert dropped["train"] == {"no answer is given": 1, "an empty graph": 1}
    found: list[Any] = records(tmp_path)["train"]
    assert [(one.sample_id, one.answers) for one in found] == [("q0", ["w"]), ("q1", ["b"]), ("q2", ["w"])]
    told = [(event.done, event.total, event.note) for event in events if isinstance(event, StageProgress)]
    assert told[:3] == [(2, 5, "train"), (4, 5, "train"), (5, 5, "train")]
    assert told[3:] == [(5, 5, "embedding 1 of 1 texts"), (5, 5, "embedding 2 of 2 texts")]
    with RetrievalStore(layout.retrieval_store(tmp_path)) as store:
        assert [store.count(split) for split in layout.SPLITS] == [3, 0, 0] and store.count("nowhere") == 0
        for split, number in (("train", 3), ("test", 0), ("nowhere", 0)):
            with pytest.raises(IndexError):
                store.record(split, number)


class Spelled(Answers):
    """A row whose names are not ASCII."""

    def size(self, split: str) -> int:
        return 1 if split == "train" else 0

    def read(self, split: str) -> Iterator[Any]:
        yield RawSample("q", "?", ["w"], ["Zürich"], [], [("Zürich", "größer_als", "Genève")])


def test_names_stand_in_the_files_as_they_are_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(graphs_stage, "make_source", lambda section, seed: Spelled())
    run_stages(tmp_path, ("graphs",))
    assert layout.entity_texts(tmp_path).read_text("utf-8") == '["Zürich", "Genève"]'
    assert layout.relation_texts(tmp_path).read_text("utf-8") == '["größer_als"]'


def stopping(allowed: int) -> Callable[[], None]:
    left = [allowed]

    def checkpoint() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopRequested

    return checkpoint


class Torn(GeneratedSource):
    """Every fifth row is torn, every third has lost two triples."""

    def read(self, split: str) -> Iterator[Any]:
        for number, row in enumerate(super().read(split)):
            lost = replace(row, broken_triples=0 if number % 3 else 2)
            yield lost if number % 5 else Unreadable("torn")


def test_a_stop_anywhere_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(graphs_stage, "CHUNK", 7)
    monkeypatch.setattr(graphs_stage, "make_source", Torn)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_stages(whole, ("graphs",))
    stops, told = 0, list[Event]()
    for _ in range(100):
        context = StageContext("graphs", small_config(), stopped, told.append, stopping(1), None)  # type: ignore[arg-type]
        try:
            BuildGraphs().run(context)
        except StopRequested:
            stops += 1
        else:
            break
    assert stops > 5
    dropped = json.loads(layout.dropped_samples(stopped).read_text())["graphs"]
    assert {split: reasons["torn"] for split, reasons in dropped.items()} == {
        "train": 8, "validation": 2, "test": 3,
    }  # fmt: skip
    built = [event for event in told if isinstance(event, GraphsBuilt)]
    assert [event.broken_triples for event in built] == [22, 6, 6]  # of rows that are not torn: 11, 3 and 3
    assert records(stopped) == records(whole)
    for path in (
        layout.entity_texts,
        layout.entity_embeddings,
        layout.relation_embeddings,
        layout.dropped_samples,
    ):
        assert path(stopped).read_bytes() == path(whole).read_bytes()


def test_inverse_edges_can_be_walked_too(tmp_path: Path):
    config = small_config(graphs={"add_inverse_edges": True, "train_size": 4})
    run_stage(BuildGraphs(), config, tmp_path)
    texts = Texts.load(tmp_path)
    assert any(name.startswith("inverse of ") for name in texts.relations)
    with RetrievalStore(layout.retrieval_store(tmp_path)) as store:
        graph = GRetrievalDataset(store, "train")[0]
    edges = set(zip(*graph.edge_index.tolist(), strict=True))
    assert all((tail, head) in edges for head, tail in edges)


def test_the_event_says_what_the_file_says(tmp_path: Path):
    events = [event for event in run_stages(tmp_path, ("graphs",)) if isinstance(event, GraphsBuilt)]
    found = records(tmp_path)
    assert [event.samples for event in events] == [len(found[split]) for split in layout.SPLITS]
    dropped = json.loads(layout.dropped_samples(tmp_path).read_text())["graphs"]
    assert {event.split: event.dropped for event in events} == dropped
    assert 0 < events[0].signal_to_noise < 0.02, "one path, of one to three edges"
    for event in events:
        records_of: list[Any] = found[event.split]
        edges = [len(one.labels) for one in records_of]
        lengths = [min(map(len, one.gt_paths), default=0) for one in records_of]
        shares = [length / count for length, count in zip(lengths, edges, strict=True)]
        assert event.signal_to_noise == pytest.approx(np.median(shares))
        nodes = [len(ints(one.nodes)) for one in records_of]
        assert (event.edges_mean, event.nodes_mean) == pytest.approx((np.mean(edges), np.mean(nodes)))
        assert event.in_degree_max == max(
            max(Counter(ints(one.tails).tolist()).values()) for one in records_of
        )
        shortest = [min(map(len, one.gt_paths)) for one in records_of if one.gt_paths]
        assert (event.reachable, event.hops) == (len(shortest), Counter(map(str, shortest)))


def test_a_store_that_is_none_says_so(tmp_path: Path):
    with pytest.raises(
        DataError,
        match=exactly(
            "`data.mdb` is not there (…/g_retrieval.lmdb/data.mdb): run the stage `graphs` of this run first"
        ),
    ):
        RetrievalStore(layout.retrieval_store(tmp_path))
    path = layout.retrieval_store(tmp_path)
    path.mkdir(parents=True)
    (path / "data.mdb").write_bytes(b"garbage" * 10_000)
    with pytest.raises(
        DataError,
        match=exactly(
            "the retrieval graphs cannot be read or written: …/gflownet/g_retrieval.lmdb: MDB_INVALID: File is "
            "not an LMDB file (…/gflownet/g_retrieval.lmdb): remove the folder and run the stage graphs again"
        ),
    ):
        RetrievalStore(path, write=True)


def test_a_store_that_was_damaged_says_so_before_it_is_read(built: Path, tmp_path: Path):
    """LMDB maps the file: reading behind its end would kill the process, and a flipped bit is any other value."""
    path = layout.retrieval_store(tmp_path)
    content = (layout.retrieval_store(built) / "data.mdb").read_bytes()
    for damaged in (content[: len(content) // 2], content[:-4096], content[:9999] + b"!" + content[10000:]):
        shutil.copytree(layout.retrieval_store(built), path, dirs_exist_ok=True)
        (path / "data.mdb").write_bytes(damaged)
        for write in (False, True):
            with pytest.raises(
                DataError,
                match=exactly(
                    "the retrieval graphs are not as the stage graphs wrote them: some bytes have changed or "
                    "are missing "
                    "(…/gflownet/g_retrieval.lmdb/data.mdb): remove the folder and run the stage graphs again"
                ),
            ):
                RetrievalStore(path, write)


def test_a_store_that_is_not_finished_is_not_read_and_its_end_is_looked_at(built: Path, tmp_path: Path):
    path = layout.retrieval_store(tmp_path)
    shutil.copytree(layout.retrieval_store(built), path)
    with RetrievalStore(path, write=True) as store:
        assert store.count("train") > 0
        store.write("train", [], {}, {"read train": 1})
    with pytest.raises(
        DataError,
        match=exactly(
            "the retrieval graphs are not finished (…/gflownet/g_retrieval.lmdb): run the stage graphs: it goes "
            "on from what is there"
        ),
    ):
        RetrievalStore(path)
    content = (path / "data.mdb").read_bytes()
    (path / "data.mdb").write_bytes(content[: len(content) // 2])
    errors: list[DataError] = []
    for _ in range(2):  # whoever meets it closes the store
        with pytest.raises(
            DataError,
            match=exactly(
                "the retrieval graphs are cut off after 307,200 of 614,400 bytes "
                "(…/gflownet/g_retrieval.lmdb/data.mdb): remove the folder and run the stage graphs again"
            ),
        ) as caught:
            RetrievalStore(path, write=True)
        errors.append(caught.value)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (np.zeros(3), "float64 with 1 dimensions"),
        (np.zeros(3, np.float32), "float32 with 1 dimensions"),
        (np.zeros((3, 8)), "float64 with 2 dimensions"),
        (np.zeros((3, 8, 1), np.float32), "float32 with 3 dimensions"),
    ],
)
def test_embeddings_of_another_shape_are_an_error(built: Path, tmp_path: Path, table: Any, found: str):
    for path in (layout.entity_embeddings, layout.relation_embeddings):
        path(tmp_path).parent.mkdir(parents=True, exist_ok=True)
    np.save(layout.entity_embeddings(tmp_path), np.zeros((3, 8), np.float32))
    np.save(layout.relation_embeddings(tmp_path), table)
    with pytest.raises(
        DataError,
        match=exactly(
            f"expected a float32 table, found {found} (…/gflownet/relation_embeddings.npy): run the stage graphs first"
        ),
    ):
        EmbeddingTables.load(tmp_path)


@pytest.mark.parametrize(
    ("masked", "embedded"), [(True, "who is this entity 's boss ?"), (False, "who is ann 's boss ?")]
)
def test_a_question_is_embedded_without_its_topic_if_asked(masked: bool, embedded: str):
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> Any:
        asked.append(texts)
        return np.ones((len(texts), 2), np.float32)

    job: Any = object.__new__(graphs_stage._GraphsJob)
    job.section = GraphsSection(mask_topic=masked)
    job.embedder = SimpleNamespace(embed=embed)
    row = RawSample("q", "who is ann 's boss ?", ["boss"], ["ann"], ["boss"], [])
    record = RetrievalRecord("q", "?", b"", b"", b"", b"", b"", b"", [], [], [], b"", [], [])
    (found,) = job._embedded([(row, record)])
    assert asked == [[embedded]] and np.frombuffer(found.question_emb, "<f4").tolist() == [1.0, 1.0]


def test_where_no_question_of_a_chunk_is_kept_nothing_is_embedded():
    """Not even a model is loaded for it."""
    job = object.__new__(graphs_stage._GraphsJob)
    job.context = None  # type: ignore[assignment]
    assert job._embedded([]) == [] and "embedder" not in vars(job)
