"""Packed agent graphs: what is written is read again, what cannot be walked is named, batches are laid out right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from engine.config.gflownet import AgentGraphsSection
from engine.errors import DataError
from engine.gflownet.agent_graphs.builder import GAgentBuilder
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.agent_graphs.samples import GAgentSample
from engine.gflownet.agent_graphs.store import load_samples, save_samples
from engine.gflownet.graphs.tables import EmbeddingTables, Texts
from engine.gflownet.sampler.graph_batch import GraphBatch, concatenate, from_pyg
from tests.engine.gflownet.random_graphs import WIDTH, retrieval_graph, scored_graphs

TABLES = EmbeddingTables(
    np.random.default_rng(0).normal(size=(220, WIDTH)).astype(np.float32),
    np.random.default_rng(1).normal(size=(13, WIDTH)).astype(np.float32),
)


@st.composite
def sample_lists(draw: st.DrawFn) -> list[GAgentSample]:
    graphs = draw(st.lists(scored_graphs(), min_size=1, max_size=6))
    builder = GAgentBuilder(AgentGraphsSection(anchor_top_k=3, through_anchors=True))
    built = [builder.build(data, scores, keep_gt=True) for data, scores in graphs]
    return [replace(one, sample_id=f"q{i}") for i, one in enumerate(built) if isinstance(one, GAgentSample)]


def assert_same(one: GAgentSample, other: GAgentSample) -> None:
    for field in fields(GAgentSample):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, torch.Tensor):
            assert mine.dtype == theirs.dtype and torch.equal(mine, theirs), field.name
        else:
            assert mine == theirs, field.name


@given(sample_lists())
def test_what_is_written_is_read_again(samples: list[GAgentSample]):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "train.pt"
        save_samples(path, samples)
        loaded = load_samples(path)
        first = path.read_bytes()
        save_samples(path, loaded)
        assert path.read_bytes() == first
    assert len(loaded) == len(samples)
    for one, other in zip(loaded, samples, strict=True):
        assert_same(one, other)


@given(sample_lists())
def test_a_batch_of_pyg_is_laid_out_as_its_graphs_put_together(samples: list[GAgentSample]):
    """Node and edge numbers count on through the batch; start, answer and path numbers with them."""
    assume(samples)
    with TemporaryDirectory() as folder:
        save_samples(Path(folder) / "train.pt", samples)
        data = GAgentPyGDataset(Path(folder) / "train.pt")
    graphs: list[Any] = [data[number] for number in range(len(data))]
    together = from_pyg(graphs, TABLES)
    assert together.gold_count.tolist() == [len(sample.gold_entity_ids) for sample in samples]
    assert (together.gold_count > together.answer_count).all(), "one gold answer is in no graph"
    joined = concatenate([from_pyg([graph], TABLES) for graph in graphs])
    for field in fields(GraphBatch):
        if field.name not in ("relation_emb", "edge_relation"):
            assert torch.equal(getattr(together, field.name), getattr(joined, field.name)), field.name
    assert torch.equal(
        together.relation_emb[together.edge_relation], joined.relation_emb[joined.edge_relation]
    )


@given(sample_lists())
def test_numbers_of_a_batch_name_the_samples_own_nodes_and_edges(samples: list[GAgentSample]):
    """Against the samples themselves, without the engine's own batch."""
    assume(samples)
    with TemporaryDirectory() as folder:
        save_samples(Path(folder) / "train.pt", samples)
        data = GAgentPyGDataset(Path(folder) / "train.pt")
    batch: Any = Batch.from_data_list([data[number] for number in range(len(data))])
    entities = batch.node_global_ids
    assert entities[batch.edge_index].tolist() == [
        [int(s.node_entity_ids[node]) for s in samples for node in getattr(s, name)]
        for name in ("edge_head_locals", "edge_tail_locals")
    ]
    assert entities[batch.start_node_locals].tolist() == batch.start_entity_ids.tolist()
    assert entities[batch.answer_node_locals].tolist() == batch.answer_entity_ids.tolist()
    heads, tails = batch.edge_index[:, batch.gt_path_edge_local_ids]
    own = [
        (s.edge_head_locals[s.gt_path_edge_local_ids], s.edge_tail_locals[s.gt_path_edge_local_ids])
        for s in samples
    ]
    assert entities[heads].tolist() == [
        int(s.node_entity_ids[node]) for s, (h, _) in zip(samples, own, strict=True) for node in h
    ]
    assert entities[tails].tolist() == [
        int(s.node_entity_ids[node]) for s, (_, t) in zip(samples, own, strict=True) for node in t
    ]
    assert batch.question_emb.shape == (len(samples), WIDTH)
    assert batch.sample_id == [s.sample_id for s in samples]
    assert batch.num_nodes == sum(len(s.node_entity_ids) for s in samples)


def test_a_split_without_samples_is_a_file_too(tmp_path: Path):
    save_samples(tmp_path / "test.pt", [])
    assert load_samples(tmp_path / "test.pt") == []
    assert len(GAgentPyGDataset(tmp_path / "test.pt")) == 0


# ---------------------------------------------------------------- what is wrong is named


def test_an_id_that_stands_twice_is_named(packed: Path):
    first, second = load_samples(packed)
    save_samples(packed, [first, replace(second, sample_id="q0")])
    with pytest.raises(DataError, match="the sample id q0 stands twice"):
        load_samples(packed)


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Two samples: 0 -> 1 -> 2 with a parallel edge, then 0 -> 1."""
    builder = GAgentBuilder(AgentGraphsSection(through_anchors=True))
    samples = [
        builder.build(
            retrieval_graph(3, [(0, 0, 1), (0, 1, 1), (1, 0, 2)], [0], [2]), torch.full((3,), 0.5), False
        ),
        builder.build(retrieval_graph(2, [(0, 0, 1)], [0], [1]), torch.full((1,), 0.5), False),
    ]
    named = [
        replace(one, sample_id=f"q{i}") for i, one in enumerate(samples) if isinstance(one, GAgentSample)
    ]
    assert len(named) == 2
    save_samples(tmp_path / "train.pt", named)
    return tmp_path / "train.pt"


def put(name: str, place: int, value: float) -> Callable[[dict[str, Any]], None]:
    def change(state: dict[str, Any]) -> None:
        state[name][place] = value

    return change


def with_field(name: str, made: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def change(state: dict[str, Any]) -> None:
        state[name] = made(state[name])

    return change


def wider(state: dict[str, Any]) -> None:
    """The second question is embedded by another model."""
    state["question_emb"] = torch.cat([state["question_emb"], torch.zeros(3)])
    state["question_emb.sizes"][1] += 3


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (wider, "sample q1: question_emb has length 7, expected 4"),
        (put("answer_node_locals", 1, 2), r"sample q1: answer_node_locals names 2, outside 0\.\.1"),
        (put("answer_node_locals", 0, -1), "sample q0: answer_node_locals names -1"),
        (put("start_node_locals", 0, 1), "sample q0: start_entity_ids are not those"),
        (put("answer_entity_ids", 1, 5), "sample q1: answer_entity_ids are not those"),
        (put("edge_tail_locals", 3, 9), "sample q1: edge_tail_locals names 9"),
        (put("edge_head_locals", 2, 0), "sample q0: gt_path_edge_local_ids do not lead"),
        (put("gt_path_edge_local_ids", 2, 1), "sample q1: gt_path_edge_local_ids names 1"),
        (put("gt_path_node_local_ids", 0, 2), "sample q0: gt_path_edge_local_ids do not lead"),
        (put("edge_scores", 1, float("nan")), "sample q0: edge_scores"),
        (put("edge_scores", 1, 0.0), "sample q0: edge_scores"),
        (put("edge_scores", 3, 1.5), "sample q1: edge_scores"),
        (put("edge_relations.sizes", 0, 2), "do not fit together"),
        (put("edge_scores.sizes", 0, -1), "do not fit together"),
        (with_field("edge_relations.sizes", lambda sizes: torch.tensor([2, 2])), "edge_relations has length 2"),
        (with_field("node_embedding_ids.sizes", lambda sizes: sizes[:1]), "do not fit together"),
        (with_field("edge_head_locals", torch.Tensor.float), "edge_head_locals is not a flat tensor of torch.int64"),
        (with_field("edge_scores", torch.Tensor.double), "edge_scores is not a flat tensor of torch.float32"),
        (with_field("top_edge_mask", torch.Tensor.long), "top_edge_mask is not a flat tensor of torch.bool"),
        (with_field("question_emb", lambda rows: rows.reshape(2, -1)), "question_emb is not a flat tensor"),
        (with_field("question_emb", torch.Tensor.tolist), "question_emb is not a flat tensor"),
        (with_field("sample_id", lambda names: names[:1]), "do not fit together"),
        (lambda state: state.pop("edge_labels"), "have no edge_labels"),
        (lambda state: state.pop("edge_labels.sizes"), "do not fit together"),
    ],
)  # fmt: skip
def test_what_no_sampler_could_walk_is_named(
    packed: Path, change: Callable[[dict[str, Any]], None], named: str
):
    assert len(load_samples(packed)) == 2
    state = torch.load(packed, weights_only=True)
    change(state)
    torch.save(state, packed)
    with pytest.raises(DataError, match=named) as raised:
        load_samples(packed)
    assert raised.value.where == str(packed)
    assert "agent-graphs" in raised.value.hint


class Runs:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_code_in_a_file_is_never_run(packed: Path, tmp_path: Path):
    trace = tmp_path / "trace"
    torch.save({"sample_id": Runs(trace)}, packed)
    with pytest.raises(DataError, match="cannot be read"):
        load_samples(packed)
    assert not trace.exists()
    torch.load(packed, weights_only=False)
    assert trace.exists(), "the file would have done it"


@pytest.mark.parametrize("cut", [0, 1, 30, 400, -1])
def test_a_torn_file_is_named(packed: Path, cut: int):
    packed.write_bytes(packed.read_bytes()[:cut])
    with pytest.raises(DataError, match="cannot be read"):
        load_samples(packed)


@pytest.mark.parametrize("content", [b"hello", b"sample_id,question\n", b"\x80\x02K", b"\x00" * 300])
def test_a_file_of_another_kind_is_named(packed: Path, content: bytes):
    packed.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        load_samples(packed)


def test_a_missing_file_names_its_stage(tmp_path: Path):
    with pytest.raises(DataError, match="run the stage agent-graphs first"):
        load_samples(tmp_path / "train.pt")


def test_rows_beyond_the_embeddings_are_named(packed: Path):
    few = EmbeddingTables(TABLES.entity[:201], TABLES.relation)
    data = GAgentPyGDataset(packed)
    with pytest.raises(DataError, match="row 202 is asked for, there are 201"):
        from_pyg([data[0]], few)


def test_numbers_of_other_graphs_and_embeddings_that_are_none_are_told() -> None:
    for numbers, named in (([0, -1], "row -1"), ([10**15], f"row {10**15}")):
        with pytest.raises(DataError, match=named):
            TABLES.entities(torch.tensor(numbers))
    spoilt = TABLES.relation.copy()
    spoilt[1, 0] = np.nan
    tables = EmbeddingTables(TABLES.entity, spoilt)
    assert tables.relations(torch.tensor([0])).shape[0] == 1
    with pytest.raises(DataError, match="NaN") as caught:
        tables.relations(torch.tensor([0, 1]))
    assert "relation_embeddings.npy" in caught.value.where and "stage graphs" in caught.value.hint
    for number in (-1, 2):
        with pytest.raises(DataError, match=f"relation {number} is asked for, there are 2"):
            Texts(["a"], ["r", "s"]).relation(number)
        with pytest.raises(DataError, match=f"entity {number} is asked for, there are 1"):
            Texts(["a"], ["r", "s"]).entity(number)
