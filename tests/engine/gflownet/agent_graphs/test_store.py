"""Packed agent graphs: what is written is read again, what cannot be walked is named, batches are laid out right."""

from __future__ import annotations

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
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.graph_batch import GraphBatch, concatenate, from_pyg
from tests.engine.gflownet.random_graphs import WIDTH, retrieval_graph, scored_graphs
from tests.exactly import exactly

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


@pytest.mark.parametrize("name", ["edge_labels", "edge_labels.sizes"])
def test_a_file_without_a_field_is_named(packed: Path, name: str):
    state = torch.load(packed, weights_only=True)
    del state[name]
    torch.save(state, packed)
    with pytest.raises(
        DataError,
        match=exactly(
            "the agent graphs do not fit together: KeyError: 'edge_labels…' (…/train.pt): remove the file and run the "
            "stage agent-graphs again"
        ),
    ) as raised:
        load_samples(packed)
    assert raised.value.where == str(packed) and "agent-graphs" in raised.value.hint


@pytest.mark.parametrize("name", ["sample_id", "gt_path_exists", "edge_labels.sizes"])
def test_a_file_whose_fields_are_of_different_numbers_of_samples_is_named(packed: Path, name: str):
    state = torch.load(packed, weights_only=True)
    state[name] = [state[name][0]] if isinstance(state[name], list) else state[name].sum()[None]
    torch.save(state, packed)
    with pytest.raises(
        DataError,
        match=exactly(
            "the agent graphs do not fit together: zip() argument … is … than argument… (…/train.pt): "
            "remove the file and run the stage agent-graphs again"
        ),
    ):
        load_samples(packed)


class Runs:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_code_in_a_file_is_never_run(packed: Path, tmp_path: Path):
    trace = tmp_path / "trace"
    torch.save({"sample_id": Runs(trace)}, packed)
    with pytest.raises(
        DataError,
        match=exactly(
            "the file cannot be read as tensors and plain values: it is not a tensor (…/train.pt): remove the "
            "file and run the stage agent-graphs again"
        ),
    ):
        load_samples(packed)
    assert not trace.exists()
    torch.load(packed, weights_only=False)
    assert trace.exists(), "the file would have done it"


@pytest.mark.parametrize("cut", [0, 1, 30, 400, -1])
def test_a_torn_file_is_named(packed: Path, cut: int):
    packed.write_bytes(packed.read_bytes()[:cut])
    with pytest.raises(
        DataError,
        match=exactly(
            "the file cannot be read as tensors and plain values: … (…/train.pt): remove the file and run the "
            "stage agent-graphs again"
        ),
    ):
        load_samples(packed)


@pytest.mark.parametrize("content", [b"hello", b"sample_id,question\n", b"\x80\x02K", b"\x00" * 300])
def test_a_file_of_another_kind_is_named(packed: Path, content: bytes):
    packed.write_bytes(content)
    with pytest.raises(
        DataError,
        match=exactly(
            "the file cannot be read as tensors and plain values: … (…/train.pt): remove the file and run the "
            "stage agent-graphs again"
        ),
    ):
        load_samples(packed)


def test_a_missing_file_names_its_stage(tmp_path: Path):
    with pytest.raises(
        DataError,
        match=exactly("`train.pt` is not there (…/train.pt): run the stage `agent-graphs` of this run first"),
    ):
        load_samples(tmp_path / "train.pt")
