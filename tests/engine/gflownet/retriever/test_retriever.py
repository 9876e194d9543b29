"""The edge scorer against its literal reading, its training, stops, and what can be wrong with it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from engine.config.gflownet import RetrieverSection
from engine.errors import DataError
from engine.events import Event, RetrieverEpoch, RetrieverMeasured, StageProgress
from engine.gflownet import layout
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.store import RetrievalRecord, RetrievalStore
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.retriever.distance_encoding import distance_encoding
from engine.gflownet.retriever.retriever import Retriever, recall_at_k
from engine.gflownet.retriever.retriever_stage import TrainRetriever, read_scores
from engine.gflownet.retriever.training import RetrieverTraining, mean_recalls, score_graphs
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.engine.gflownet.random_graphs import scored_graphs
from tests.engine.gflownet.small_run import run_stages, small_config
from tests.exactly import exactly


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    run_stages(folder, ("graphs",))
    return folder


@pytest.fixture
def folder(graphs: Path, tmp_path: Path) -> Path:
    """A run directory of its own over a copy of the graphs."""
    shutil.copytree(graphs / "gflownet", tmp_path / "run" / "gflownet")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def trained(graphs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(graphs / "gflownet", folder / "gflownet")
    return folder, run_stages(folder, ("retriever",), small_config(retriever={"epochs": 25, "batch_size": 8}))


def change_records(folder: Path, split: str, change: Callable[[RetrievalRecord], RetrievalRecord]) -> None:
    path = layout.retrieval_store(folder)
    with RetrievalStore(path) as store:
        records = {
            each: [store.record(each, number) for number in range(store.count(each))]
            for each in layout.SPLITS
        }
    records[split] = [change(record) for record in records[split]]
    shutil.rmtree(path)
    with RetrievalStore(path, write=True) as store:
        for each, of_split in records.items():
            store.write(each, of_split, {}, {})
        store.seal()


def without_paths(record: RetrievalRecord) -> RetrievalRecord:
    return msgspec.structs.replace(record, labels=bytes(len(record.labels)), gt_paths=[])


# ---------------------------------------------------------------- the scorer


@given(scored_graphs(), st.integers(0, 3))
def test_distance_encoding_is_the_mean_over_incoming_edges_round_by_round(graph: Any, rounds: int):
    data, _ = graph
    topic = torch.zeros(data.num_nodes, 2)
    topic[:, 0] = 1
    topic[data.q_local_indices] = torch.tensor([0.0, 1.0])
    edges = data.edge_index.T.tolist()
    expected = [topic.tolist()]
    for turned in (edges, [(tail, head) for head, tail in edges]):
        now = topic.tolist()
        for _ in range(rounds):
            arriving = [
                [now[head] for head, tail in turned if tail == node] for node in range(data.num_nodes)
            ]
            now = [
                [sum(column) / len(rows) for column in zip(*rows, strict=True)] if rows else [0.0, 0.0]
                for rows in arriving
            ]
            expected.append(now)
    literal = torch.cat([torch.tensor(part) for part in expected], 1)
    torch.testing.assert_close(distance_encoding(topic, data.edge_index, rounds), literal)


def test_scores_are_those_of_one_mlp_over_each_edges_features(graphs: Path):
    """The literal reading: one edge at a time, every text through the projector."""
    tables = EmbeddingTables.load(graphs)
    torch.manual_seed(3)
    model = Retriever(tables.width, 16, 2)
    with RetrievalStore(layout.retrieval_store(graphs)) as store:
        data = GRetrievalDataset(store, "train")[0]
    encoding = distance_encoding(data.topic_one_hot, data.edge_index, 2)
    projector = model.projector
    expected = []
    for edge in range(len(data.labels)):
        head, tail = data.edge_index[:, edge].tolist()
        question = projector.question(data.question_emb[0])
        relation = projector.relation(torch.from_numpy(tables.relation[int(data.edge_attr[edge])].copy()))
        ends = [
            torch.cat(
                [
                    projector.entity(
                        torch.from_numpy(tables.entity[int(data.node_embedding_ids[node])].copy())
                    ),
                    encoding[node],
                ]
            )
            for node in (head, tail)
        ]
        first = question + relation + model.head.weight @ ends[0] + model.tail.weight @ ends[1]
        expected.append(model.score(first + model.match(question * relation))[0])
    found = model(Batch.from_data_list([data]), tables)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-5)


def test_scores_do_not_depend_on_the_other_graphs_of_a_batch(graphs: Path):
    tables = EmbeddingTables.load(graphs)
    model = Retriever(tables.width, 16, 2)
    with RetrievalStore(layout.retrieval_store(graphs)) as store:
        data = [GRetrievalDataset(store, "train")[number] for number in range(5)]
    together = model(Batch.from_data_list(data), tables)
    alone = [model(Batch.from_data_list([graph]), tables) for graph in data]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)


def test_recall_at_k_by_hand():
    scores, labels = torch.tensor([0.5, 0.9, 0.5, 0.1]), torch.tensor([1.0, 0.0, 1.0, 1.0])
    found = [recall_at_k(scores, labels, k) for k in (1, 2, 3, 4, 9)]
    assert found == [0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1, 1]
    first, second = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    assert recall_at_k(torch.tensor([0.5, 0.5]), first, 1) == 1, "of equals, the first edge"
    assert recall_at_k(torch.tensor([0.5, 0.5]), second, 1) == 0
    assert recall_at_k(scores, torch.zeros(4), 2) is None


def test_mean_recall_is_over_the_graphs_with_a_positive_edge():
    scores, none = torch.tensor([0.5, 0.9, 0.1]), torch.zeros(3)
    labels = [torch.tensor([1.0, 0.0, 1.0]), none, torch.tensor([0.0, 1.0, 0.0])]
    assert mean_recalls([scores] * 3, labels, [1, 2]) == pytest.approx(
        {"1": (0 + 1) / 2, "2": (1 / 2 + 1) / 2}
    )
    assert mean_recalls([scores], [none], [5]) == {"5": 0.0}


# ---------------------------------------------------------------- training


def test_training_learns_what_chance_does_not_know(trained: tuple[Path, list[Event]]):
    folder, events = trained
    epochs = [event for event in events if isinstance(event, RetrieverEpoch)]
    assert epochs[-1].loss < 0.3 * epochs[0].loss
    test = next(e for e in events if isinstance(e, RetrieverMeasured) and e.split == "test")
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        data = GRetrievalDataset(store, "test")
        edges = [len(data[number].labels) for number in range(len(data))]
    chance = 10 * np.mean([1 / count for count in edges])
    assert test.recall["10"] > 0.7 > 3 * chance, chance


def test_recall_in_the_events_is_that_of_the_files(trained: tuple[Path, list[Event]]):
    folder, events = trained
    measured = {event.split: event for event in events if isinstance(event, RetrieverMeasured)}
    assert set(measured) == set(layout.SPLITS)
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        for split, event in measured.items():
            data, scores = GRetrievalDataset(store, split), read_scores(folder, split)
            assert event.samples == len(scores) == len(data)
            recalls: dict[str, list[float]] = {"10": [], "50": [], "100": []}
            for number, score in enumerate(scores):
                labels = data[number].labels.tolist()
                assert score.shape == (len(labels),)
                assert 0 < float(score.min()) <= float(score.max()) <= 1
                order = sorted(range(len(labels)), key=lambda edge: (-float(score[edge]), edge))
                for k, found in recalls.items():
                    if sum(labels):
                        found.append(sum(labels[edge] for edge in order[: int(k)]) / sum(labels))
            assert event.recall == pytest.approx({k: np.mean(found) for k, found in recalls.items()})


def test_progress_tells_each_epochs_loss(trained: tuple[Path, list[Event]]):
    events = trained[1]
    epochs = [event for event in events if isinstance(event, RetrieverEpoch)]
    told = [event for event in events if isinstance(event, StageProgress)]
    assert [(event.done, event.total, event.note) for event in told] == [
        (number, 25, f"loss {event.loss:.3f}") for number, event in enumerate(epochs, 1)
    ]
    assert [event.epochs for event in epochs] == [25] * 25


def test_scores_are_those_of_the_best_epoch(trained: tuple[Path, list[Event]]):
    folder, events = trained
    epochs = [event for event in events if isinstance(event, RetrieverEpoch)]
    best = max(sum(event.recall.values()) for event in epochs)
    assert [event.epoch for event in epochs if event.best][-1] == next(
        event.epoch for event in epochs if sum(event.recall.values()) == best
    )
    validation = next(e for e in events if isinstance(e, RetrieverMeasured) and e.split == "validation")
    assert sum(validation.recall.values()) == pytest.approx(best)
    state = torch.load(layout.retriever_checkpoint(folder), weights_only=True)
    tables = EmbeddingTables.load(folder)
    model = Retriever(tables.width, 32, 2)
    model.load_state_dict(state["best"]["weights"])
    assert state["best"]["at"] == [event.epoch for event in epochs if event.best][-1]
    with RetrievalStore(layout.retrieval_store(folder)) as store, torch.no_grad():
        graph = Batch.from_data_list([GRetrievalDataset(store, "test")[0]])
        expected = model(graph, tables).sigmoid()
    torch.testing.assert_close(read_scores(folder, "test")[0], expected, rtol=1e-4, atol=1e-6)


def files(folder: Path) -> dict[str, bytes]:
    paths = [layout.retriever_checkpoint(folder), *(layout.edge_scores(folder, s) for s in layout.SPLITS)]
    return {path.name: path.read_bytes() for path in paths}


def test_a_stop_anywhere_changes_nothing(graphs: Path, tmp_path: Path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for place in (whole, stopped):
        shutil.copytree(graphs / "gflownet", place / "gflownet")
    events = run_stages(whole, ("retriever",))
    again: list[Event] = []
    stops = 0
    for allowed in (0, 1, 4, 5, 2, 6, 4, 1000):
        left = [allowed]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        torch.manual_seed(allowed)  # another process begins anywhere
        torch.rand(7)
        context = StageContext("retriever", small_config(), stopped, again.append, checkpoint, None)  # type: ignore[arg-type]
        try:
            TrainRetriever().run(context)
        except StopRequested:
            stops += 1
    assert stops == 7
    assert files(stopped) == files(whole)
    curve = [[event for event in found if isinstance(event, RetrieverEpoch)] for found in (again, events)]
    assert curve[0] == curve[1]


class Recording(GRetrievalDataset):
    """Notes which graphs are asked for."""

    def __init__(self, store: RetrievalStore, split: str) -> None:
        super().__init__(store, split)
        self.asked: list[int] = []

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        return super().__getitem__(number)


def test_every_epoch_sees_every_question_once_in_an_order_of_its_own(graphs: Path, tmp_path: Path):
    tables = EmbeddingTables.load(graphs)
    orders: list[list[list[int]]] = []
    for seed in (0, 0, 1):
        section = small_config().retriever
        training = RetrieverTraining(tables.width, section, seed, tmp_path / "retriever.pt", seed=5)
        orders.append([])
        for _ in range(3):
            with RetrievalStore(layout.retrieval_store(graphs)) as store:
                data = Recording(store, "train")
                training.run_epoch(data, tables, lambda: None)
            assert sorted(data.asked) == list(range(len(data)))
            orders[-1].append(data.asked)
    first, same, other = orders
    assert first == same, "drawn by run seed and epoch alone"
    assert len({tuple(order) for order in [*first, *other]}) == 6


def test_the_first_weights_are_drawn_by_a_seed_alone(tmp_path: Path):
    def weights(seed: int) -> torch.Tensor:
        torch.rand(3)  # whatever was drawn before
        training = RetrieverTraining(4, small_config().retriever, 0, tmp_path / "retriever.pt", seed)
        return torch.cat([weight.detach().flatten() for weight in training.model.parameters()])

    assert torch.equal(weights(5), weights(5)) and not torch.equal(weights(5), weights(6))


def test_an_epochs_loss_weighs_each_positive_edge_as_all_negatives_over_all_positives(
    graphs: Path, tmp_path: Path
) -> None:
    """-(n+ w log p + log(1 - p)) / E of one batch, w = (E - n+) / n+, before the first step."""
    tables, section = EmbeddingTables.load(graphs), small_config().retriever
    with RetrievalStore(layout.retrieval_store(graphs)) as store:
        data = GRetrievalDataset(store, "train")
        training = RetrieverTraining(
            tables.width,
            section.model_copy(update={"batch_size": len(data)}),
            0,
            tmp_path / "retriever.pt",
            seed=5,
        )
        batch: Any = Batch.from_data_list([data[number] for number in range(len(data))])
        with torch.no_grad():
            p = training.model(batch, tables).double().sigmoid()
        loss = training.run_epoch(data, tables, lambda: None)
    right = batch.labels.bool()
    edges, positive = len(right), int(right.sum())
    weight = (edges - positive) / positive
    assert 1 < weight < 50
    expected = -(weight * p[right].log().sum() + (1 - p[~right]).log().sum()) / edges
    assert loss == pytest.approx(float(expected), rel=1e-4)


class OneGraph:
    """A question whose graph leads from one start to `count` nodes, the first of them the answer."""

    def __init__(self, count: int) -> None:
        edges = torch.stack([torch.zeros(count, dtype=torch.long), torch.arange(1, count + 1)])
        topic = torch.zeros(count + 1, 2)
        topic[0, 1] = topic[1:, 0] = 1
        self.graph = Data(
            edge_index=edges, edge_attr=torch.zeros(count, dtype=torch.long), num_nodes=count + 1,
            labels=torch.eye(count)[0], topic_one_hot=topic, question_emb=torch.ones(1, 4),
            node_embedding_ids=torch.zeros(count + 1, dtype=torch.long),
        )  # fmt: skip

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Data:
        return self.graph


@pytest.mark.parametrize(("count", "weight"), [(2, 1), (51, 50), (101, 50)])
def test_a_positive_edge_weighs_at_most_fifty_times_a_negative_one(
    count: int, weight: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A model that says 0 of every edge: its loss is log 2 for each, weighted."""
    data: Any = OneGraph(count)
    training = RetrieverTraining(4, small_config().retriever, 0, tmp_path / "retriever.pt", seed=5)
    zero = torch.nn.Parameter(torch.zeros(count))
    monkeypatch.setattr(training, "model", lambda batch, tables: zero)
    loss = training.run_epoch(data, None, lambda: None)  # type: ignore[arg-type]
    assert loss == pytest.approx(math.log(2) * (weight + count - 1) / count) and training.epoch == 1


def test_scores_are_probabilities_of_each_graph():
    """Of two graphs in a batch; a score of -20 is 2e-9, which still ranks above one of -21 (spec 0.3.2)."""
    data: Any = OneGraph(2)

    def model(batch: Any, tables: Any) -> torch.Tensor:
        return torch.tensor([0.0, -20.0, 3.0, -1.0])

    first, second = score_graphs(model, data, None, [0, 0])  # type: ignore[arg-type]
    assert first.tolist() == pytest.approx([0.5, 2.0611537e-9], abs=1e-15)
    assert second.tolist() == pytest.approx([1 / (1 + math.exp(-3)), 1 / (1 + math.exp(1))])


def test_without_a_question_to_choose_by_the_last_epoch_is_kept(folder: Path):
    change_records(folder, "validation", without_paths)
    events = run_stages(folder, ("retriever",))
    assert all(event.best for event in events if isinstance(event, RetrieverEpoch))
    state = torch.load(layout.retriever_checkpoint(folder), weights_only=True)
    assert all(torch.equal(state["best"]["weights"][name], state["model"][name]) for name in state["model"])


# ---------------------------------------------------------------- what is wrong is named


def test_without_anything_to_learn_it_says_so(folder: Path):
    change_records(folder, "train", without_paths)
    with pytest.raises(
        DataError,
        match=exactly(
            "no training question has a path to an answer (graphs): see gflownet/dropped.json; "
            "graphs.add_inverse_edges lets paths go against the edges"
        ),
    ):
        run_stages(folder, ("retriever",))
    assert not layout.retriever_checkpoint(folder).exists()


def test_growth_beyond_bounds_is_named_and_logs_no_nan(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(RetrieverSection, "learning_rate", 1e30)
    events: list[Event] = []
    context = StageContext("retriever", small_config(), folder, events.append, lambda: None, None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="training diverged"):
        TrainRetriever().run(context)
    json.dumps([msgspec.to_builtins(event) for event in events], allow_nan=False)


def spoil(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(state: dict[str, Any]) -> None:
        state[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil("model", {}),
        spoil("optimizer", {}),
        spoil("shape", None),
        lambda state: state.pop("best"),
        lambda state: state["model"].update({"head.weight": torch.zeros(2, 2)}),
    ],
)
def test_a_checkpoint_of_another_shape_is_named(folder: Path, change: Callable[[dict[str, Any]], None]):
    run_stages(folder, ("retriever",), small_config(retriever={"epochs": 1}))
    path = layout.retriever_checkpoint(folder)
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)
    with pytest.raises(
        DataError,
        match=exactly(
            "the retriever's checkpoint has another shape: … (…/retriever.pt): continue with the settings it "
            "was started with, "
            "or start a new run"
        ),
    ):
        run_stages(folder, ("retriever",), small_config(retriever={"epochs": 1}))


def test_a_checkpoint_of_other_settings_or_none_at_all_is_named(folder: Path):
    run_stages(folder, ("retriever",), small_config(retriever={"epochs": 1}))
    with pytest.raises(
        DataError,
        match=exactly(
            "the retriever's checkpoint was made with another hidden (…/run/gflownet/retriever.pt): continue with"
            " the settings it was started with, or start a new run"
        ),
    ):
        run_stages(folder, ("retriever",), small_config(retriever={"epochs": 1, "hidden": 31}))
    layout.retriever_checkpoint(folder).write_text("not a checkpoint")
    with pytest.raises(
        DataError,
        match=exactly(
            "the file cannot be read as tensors and plain values: it is not a tensor "
            "(…/run/gflownet/retriever.pt): continue with the settings it was started with, or start a new run"
        ),
    ):
        run_stages(folder, ("retriever",), small_config(retriever={"epochs": 1}))


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x08" + bytes(7) + b'{"a": 1}'])
def test_scores_that_are_none_are_named(tmp_path: Path, content: bytes):
    path = layout.edge_scores(tmp_path, "test")
    with pytest.raises(
        DataError,
        match=exactly(
            "the retriever's scores cannot be read: No such file or directory "
            "(…/gflownet/scores/test.safetensors): run the stage retriever"
        ),
    ):
        read_scores(tmp_path, "test")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(
        DataError,
        match=exactly(
            "the retriever's scores cannot be read: … (…/scores/test.safetensors): run the stage retriever"
        ),
    ):
        read_scores(tmp_path, "test")
