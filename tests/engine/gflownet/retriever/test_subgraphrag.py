"""Scores made by SubgraphRAG: told apart by name, counted where they do not fit, refused where they are none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.errors import DataError
from engine.events import Event, Notice, RetrieverMeasured, StageProgress, StageStarted
from engine.gflownet import layout
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.graphs.tables import Texts
from engine.gflownet.retriever.retriever_stage import _RetrieverJob, read_scores
from engine.gflownet.retriever.subgraphrag import UNSCORED, GivenScores, GraphScores
from engine.run.stage import StageResult
from tests.engine.gflownet.random_graphs import retrieval_graph
from tests.engine.gflownet.small_run import run_stages, small_config
from tests.exactly import exactly

File = dict[str, Any]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    run_stages(folder, ("graphs",))
    return folder


@pytest.fixture
def folder(graphs: Path, tmp_path: Path) -> Path:
    shutil.copytree(graphs / "gflownet", tmp_path / "run" / "gflownet")
    return tmp_path / "run"


def named_edges(folder: Path, split: str) -> dict[str, list[tuple[str, str, str, float]]]:
    """By sample id, every edge in words with its label."""
    texts = Texts.load(folder)
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        data = [GRetrievalDataset(store, split)[number] for number in range(store.count(split))]
    return {
        graph.sample_id: [
            (texts.entities[int(h)], texts.relations[int(r)], texts.entities[int(t)], float(label))
            for (h, t), r, label in zip(
                graph.node_global_ids[graph.edge_index].T, graph.edge_attr, graph.labels, strict=True
            )
        ]
        for graph in data
    }


def oracle(folder: Path) -> File:
    """A file as SubgraphRAG writes it: labels as scores, best first, other keys beside them."""
    return {
        sample_id: {
            "question": "?",
            "scored_triples": sorted(
                ((h, r, t, 0.9 if label else 0.2) for h, r, t, label in edges), key=lambda edge: -edge[3]
            ),
            "a_entity_in_graph": ["x"],
            "max_path_length": None,
        }
        for split in layout.SPLITS
        for sample_id, edges in named_edges(folder, split).items()
    }


def run_given(folder: Path, file: File, results: list[StageResult] | None = None) -> list[Event]:
    path = folder / "retrieval_result.pth"
    torch.save(file, path)
    return run_stages(folder, ("retriever",), small_config(retriever={"scores": str(path)}), results)


def measured(events: list[Event]) -> dict[str, RetrieverMeasured]:
    return {event.split: event for event in events if isinstance(event, RetrieverMeasured)}


def test_every_edge_has_the_score_of_its_name(folder: Path):
    events = run_given(folder, oracle(folder))
    for split, event in measured(events).items():
        for score, edges in zip(read_scores(folder, split), named_edges(folder, split).values(), strict=True):
            assert score.tolist() == pytest.approx([0.9 if edge[3] else 0.2 for edge in edges])
        assert event.recall["50"] > 0.99
        assert (event.missing, event.unscored, event.strangers) == (0, 0, 0)
        assert event.source.endswith("retrieval_result.pth")
    assert not any(isinstance(event, Notice) for event in events)
    total = sum(len(named_edges(folder, split)) for split in layout.SPLITS)
    (started,) = [event for event in events if isinstance(event, StageStarted)]
    assert (started.done, started.total, started.unit) == (0, total, "questions")
    told = [event for event in events if isinstance(event, StageProgress)]
    assert [(event.done, event.total) for event in told] == [(total, total)]


def test_a_split_without_a_question_has_no_scores(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The file may lie in the user's folder."""
    monkeypatch.setenv("HOME", str(folder))
    torch.save(oracle(folder), folder / "scores.pth")
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        kept = {split: [store.record(split, n) for n in range(store.count(split))] for split in layout.SPLITS}
    shutil.rmtree(layout.retrieval_store(folder))
    with RetrievalStore(layout.retrieval_store(folder), write=True) as store:
        for split in ("train", "validation"):
            store.write(split, kept[split], {}, {})
        store.seal()
    events = run_stages(folder, ("retriever",), small_config(retriever={"scores": "~/scores.pth"}))
    assert read_scores(folder, "test") == [] and len(read_scores(folder, "train")) == len(kept["train"])
    assert measured(events)["test"].samples == 0


def test_what_does_not_fit_is_counted(folder: Path):
    """One sample is not there, one names only its first three edges and two triples that are nowhere."""
    file = oracle(folder)
    test = named_edges(folder, "test")
    lost, cut = list(test)[:2]
    del file[lost]
    few = [(h, r, t, 0.5) for h, r, t, _ in test[cut][:3]]
    head, relation, tail, _ = test[cut][0]
    file[cut]["scored_triples"] = [
        *few,
        (head, relation, tail, 0.7),  # again, and better
        (head, relation, tail, 0.1),
        ("nobody", relation, tail, 0.9),
        (head, relation, f"{tail} ", 0.9),
    ]
    file["a question of another data set"] = {"scored_triples": []}
    results: list[StageResult] = []
    events = run_given(folder, file, results)
    event = measured(events)["test"]
    assert results[0].summary == {
        **{f"recall@{k}": round(value, 4) for k, value in event.recall.items()},
        "test_questions_without_scores": 1, "test_triples_without_score": len(test[cut]) - 3,
    }  # fmt: skip
    assert results[0].files == [f"gflownet/scores/{split}.safetensors" for split in layout.SPLITS]
    assert (event.missing, event.unscored, event.strangers) == (1, len(test[cut]) - 3, 2)
    scores = dict(zip(test, read_scores(folder, "test"), strict=True))
    assert scores[lost].tolist() == pytest.approx([UNSCORED] * len(test[lost]))
    assert scores[cut].tolist() == pytest.approx([0.7, 0.5, 0.5] + [UNSCORED] * (len(test[cut]) - 3))
    (notice,) = [event for event in events if isinstance(event, Notice)]
    edges = sum(len(edges) for sample_id, edges in test.items() if sample_id != lost)
    assert (notice.level, notice.text) == (
        "warning",
        f"test: 1 of {len(test)} questions have no scores; {len(test[cut]) - 3:,} of the {edges:,} triples of "
        "the others "
        f"have none, and count as {UNSCORED:g}; 2 scored triples are not in their question's graph",
    )


GIVEN = GraphScores(torch.tensor([0.5, 0.25]), named=2, strangers=0)


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (GIVEN, ""),
        (None, "1 of 1 questions have no scores; 0 of the 0 triples of the others have none"),
        (
            replace(GIVEN, named=1),
            "0 of 1 questions have no scores; 1 of the 2 triples of the others have none",
        ),
        (
            replace(GIVEN, strangers=3),
            "and count as 0.0001; 3 scored triples are not in their question's graph",
        ),
    ],
    ids=["nothing is lacking", "a question", "a triple", "strangers"],
)
def test_each_thing_that_does_not_fit_is_told_alone(
    graph: GraphScores | None, told: str, monkeypatch: pytest.MonkeyPatch
):
    notices: list[str] = []
    job: Any = object.__new__(_RetrieverJob)
    job.context = SimpleNamespace(notice=lambda text, level: notices.append(text))
    monkeypatch.setattr(job, "_labels", lambda split: [torch.zeros(2)], raising=False)
    monkeypatch.setattr(job, "_write", lambda *of: None, raising=False)
    job._write_given("test", [graph], "scores.pth")
    assert len(notices) == bool(told) and told in "".join(notices)


def test_a_file_for_other_questions_is_refused(folder: Path):
    with pytest.raises(
        DataError,
        match=exactly(
            "these scores name no edge of any graph (retriever.scores: …/run/retrieval_result.pth): give the file"
            " made for the same questions; entities and relations must be spelled as there"
        ),
    ):
        run_given(folder, {"other": {"scored_triples": [("a", "b", "c", 0.5)]}})
    upper = {
        sample_id: {"scored_triples": [(h.upper(), r, t, s) for h, r, t, s in sample["scored_triples"]]}
        for sample_id, sample in oracle(folder).items()
    }
    with pytest.raises(
        DataError,
        match=exactly(
            "these scores name no edge of any graph (retriever.scores: …/run/retrieval_result.pth): give the file"
            " made for the same questions; entities and relations must be spelled as there"
        ),
    ):
        run_given(folder, upper)
    assert not layout.edge_scores(folder, "train").exists(), "nothing is written over"


TEXTS = Texts(["?"] * 100 + ["a", "b", "c"], ["?"] * 10 + ["r", "s"])


def given_scores(tmp_path: Path, content: Any) -> GivenScores:
    torch.save(content, tmp_path / "scores.pth")
    return GivenScores(tmp_path / "scores.pth", TEXTS)


def test_parallel_edges_are_told_apart_by_relation_and_direction(tmp_path: Path):
    graph = retrieval_graph(3, [(0, 0, 1), (0, 1, 1), (1, 0, 0), (2, 0, 2)], [0], [1])
    triplets = [("a", "s", "b", 0.75), ("b", "r", "a", torch.tensor(0.5)), ["c", "r", "c", 1]]
    found = given_scores(tmp_path, {"q": {"scored_triples": triplets}}).of(graph)
    assert found is not None
    assert found.scores.tolist() == pytest.approx([UNSCORED, 0.75, 0.5, 1.0])
    assert (found.named, found.strangers) == (3, 0)
    assert given_scores(tmp_path, {"p": {"scored_triples": []}}).of(graph) is None


@pytest.mark.parametrize(
    "triplet",
    [
        ("a", "r", "b"),
        ("a", "r", "b", 1, 2),
        ("a", "r", "b", "high"),
        ("a", "r", "b", float("nan")),
        ("a", "r", "b", 1.5),
        ("a", "r", "b", -0.1),
        ("a", "r", "b", None),
        (["a"], "r", "b", 0.5),
        (1, "r", "b", 0.5),
        ("a", "r", "b", torch.tensor([0.5, 0.5])),
        7,
        None,
        "abc1",
        ("long" * 25, "r"),
    ],
    ids=str,
)
def test_a_triple_that_is_none_is_named(tmp_path: Path, triplet: Any):
    given = given_scores(tmp_path, {"q": {"scored_triples": [("a", "r", "b", 0.5), triplet]}})
    with pytest.raises(
        DataError,
        match=exactly(
            f"scored_triples[1] is {str(triplet)[:80]} (…/scores.pth: sample q): expected (head, relation, tail, "
            "score) with a score from 0 to 1"
        ),
    ):
        given.of(retrieval_graph(2, [(0, 0, 1)], [0], [1]))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ([1, 2], "holds no dictionary"),
        ({"q": [("a", "r", "b", 0.5)]}, "sample q has no list `scored_triples`"),
        ({"q": {}}, "sample q has no list `scored_triples`"),
        ({"q": {"scored_triples": None}}, "sample q has no list `scored_triples`"),
        ({"q": {"scored_triples": Path("x")}}, "cannot be read"),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path: Path, content: Any, named: str):
    with pytest.raises(DataError, match=named) as raised:
        given_scores(tmp_path, content)
    assert "SubgraphRAG" in raised.value.hint


def test_a_folder_of_files_is_all_of_them(folder: Path):
    """SubgraphRAG scores a split at a time."""
    scores = folder / "scores"
    scores.mkdir()
    whole = oracle(folder)
    for split in layout.SPLITS:
        part = {sample_id: whole[sample_id] for sample_id in named_edges(folder, split)}
        torch.save(part, scores / f"retrieval_result_{split}.pth")
    events = run_stages(folder, ("retriever",), small_config(retriever={"scores": str(scores)}))
    assert {(event.missing, event.unscored) for event in measured(events).values()} == {(0, 0)}
    shutil.copy(scores / "retrieval_result_test.pth", scores / "again.pth")
    with pytest.raises(
        DataError,
        match=exactly(
            "sample test-00000 is in two files: again.pth, retrieval_result_test.pth (…/run/scores): keep one "
            "file for each split"
        ),
    ):
        GivenScores(scores, TEXTS)


@pytest.mark.parametrize(
    "write", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("hi")]
)
def test_a_file_that_is_none_is_named(tmp_path: Path, write: Callable[[Path], None]):
    write(tmp_path / "scores.pth")
    with pytest.raises(
        DataError,
        match=exactly(
            "… (…/scores.pth): give the file that SubgraphRAG's retriever wrote: a dictionary by sample id with "
            "`scored_triples`"
        ),
    ):
        GivenScores(tmp_path / "scores.pth", TEXTS)


def test_an_inverse_edge_has_the_score_of_its_edge(tmp_path: Path):
    """SubgraphRAG scores the triples of the graph as published, none of which leads back."""
    run_stages(tmp_path, ("graphs",), small_config(graphs={"add_inverse_edges": True}))
    names = named_edges(tmp_path, "train")
    file = {
        sample_id: {
            "scored_triples": [
                (h, r, t, (number % 90 + 5) / 100)
                for number, (h, r, t, _) in enumerate(edges)
                if not r.startswith("inverse of ")
            ]
        }
        for sample_id, edges in names.items()
    }
    events = run_given(tmp_path, file)
    back = 0
    for scores, (sample_id, edges) in zip(read_scores(tmp_path, "train"), names.items(), strict=True):
        best: dict[tuple[str, str, str], float] = {}
        for h, r, t, score in file[sample_id]["scored_triples"]:
            best[h, r, t] = max(score, best.get((h, r, t), 0.0))
        for score, (h, r, t, _) in zip(scores.tolist(), edges, strict=True):
            leads_back = r.startswith("inverse of ")
            edge = (t, r.removeprefix("inverse of "), h) if leads_back else (h, r, t)
            assert score == pytest.approx(best[edge])
            back += leads_back
    assert back > 1000
    assert measured(events)["train"].unscored == measured(events)["train"].strangers == 0


def test_an_inverse_edge_that_the_file_scores_keeps_its_own(tmp_path: Path):
    run_stages(tmp_path, ("graphs",), small_config(graphs={"add_inverse_edges": True}))
    sample_id, edges = next(iter(named_edges(tmp_path, "train").items()))
    forth = next(edge for edge in edges if not edge[1].startswith("inverse of "))
    back = (forth[2], f"inverse of {forth[1]}", forth[0])
    run_given(tmp_path, {sample_id: {"scored_triples": [(*forth[:3], 0.9), (*back, 0.3)]}})
    scores = dict(zip((edge[:3] for edge in edges), read_scores(tmp_path, "train")[0].tolist(), strict=True))
    assert scores[forth[:3]] == pytest.approx(0.9) and scores[back] == pytest.approx(0.3)


def test_triples_may_be_called_as_the_reasoner_calls_them(tmp_path: Path):
    graph = retrieval_graph(2, [(0, 0, 1)], [0], [1])
    for name in ("scored_triples", "scored_triplets"):
        found = given_scores(tmp_path, {"q": {name: [("a", "r", "b", 0.5)]}}).of(graph)
        assert found is not None and found.scores.tolist() == [0.5]
