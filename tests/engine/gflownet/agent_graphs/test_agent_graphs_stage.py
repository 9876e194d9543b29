"""From scored retrieval graphs to agent graphs: what each split keeps and drops, and that a stop changes nothing."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config.config import Config
from engine.errors import DataError
from engine.events import AgentGraphsBuilt, Event, StageProgress, StageStarted
from engine.gflownet import layout
from engine.gflownet.agent_graphs import agent_graphs_stage
from engine.gflownet.agent_graphs.agent_graphs_stage import BuildAgentGraphs
from engine.gflownet.agent_graphs.builder import Dropped, GAgentBuilder
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.agent_graphs.store import load_samples
from engine.gflownet.graphs import dropped
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.dropped import missed_questions
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.retriever.retriever_stage import read_scores
from engine.run.gate import StopRequested
from engine.run.stage import StageContext, StageResult
from tests.engine.gflownet.small_run import run_stages, small_config
from tests.exactly import exactly

NARROW = {"anchor_top_k": 4}
LOST = "no shortest path among the selected edges"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs with chains of up to three edges, and their scores."""
    folder = tmp_path_factory.mktemp("scored")
    config = small_config(graphs={"max_hops": 3, "train_size": 60, "test_size": 30})
    run_stages(folder, ("graphs", "retriever"), config)
    return folder


@pytest.fixture
def folder(scored: Path, tmp_path: Path) -> Path:
    shutil.copytree(scored / "gflownet", tmp_path / "run" / "gflownet")
    return tmp_path / "run"


def build(folder: Path, checkpoint: Any = lambda: None, **section: Any) -> tuple[StageResult, list[Event]]:
    events: list[Event] = []
    config: Config = small_config(agent_graphs=section)
    context = StageContext("agent-graphs", config, folder, events.append, checkpoint, None)  # type: ignore[arg-type]
    return BuildAgentGraphs().run(context), events


def built_events(events: list[Event]) -> dict[str, AgentGraphsBuilt]:
    return {event.split: event for event in events if isinstance(event, AgentGraphsBuilt)}


def files(folder: Path) -> dict[str, bytes]:
    paths = [*(layout.agent_graphs(folder, split) for split in layout.SPLITS), layout.dropped_samples(folder)]
    return {path.name: path.read_bytes() for path in paths}


def test_every_question_is_kept_or_counted_by_reason(folder: Path):
    result, events = build(folder, **NARROW)
    described = built_events(events)
    written = json.loads(layout.dropped_samples(folder).read_text())["agent-graphs"]
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        for split in layout.SPLITS:
            graphs = store.count(split)
            samples = load_samples(layout.agent_graphs(folder, split))
            event = described[split]
            assert event.samples == len(samples) == result.summary[split]
            assert sum(event.dropped.values()) == graphs - len(samples) == result.summary[f"{split}_dropped"]
            assert written[split] == event.dropped
            edges = [len(sample.edge_relations) for sample in samples]
            nodes = [len(sample.node_entity_ids) for sample in samples]
            assert event.edges_mean == pytest.approx(sum(edges) / len(edges))
            assert event.nodes_mean == pytest.approx(sum(nodes) / len(nodes))
    assert described["test"].dropped[LOST] > 0, "selection this narrow loses some"
    assert all((folder / name).is_file() for name in result.files)


def test_the_files_hold_what_the_builder_gives_for_each_question(folder: Path):
    build(folder, **NARROW)
    for split in layout.SPLITS:
        data = GAgentPyGDataset(layout.agent_graphs(folder, split))
        found = {data[number].sample_id: data[number] for number in range(len(data))}
        builder = GAgentBuilder(small_config(agent_graphs=NARROW).agent_graphs)
        dropped: Counter[str] = Counter()
        with RetrievalStore(layout.retrieval_store(folder)) as store:
            graphs, scores = GRetrievalDataset(store, split), read_scores(folder, split)
            for number, score in enumerate(scores):
                graph = graphs[number]
                expected = builder.build(graph, score, keep_gt=split == "train")
                if isinstance(expected, Dropped):
                    dropped[expected.reason] += 1
                    assert graph.sample_id not in found
                else:
                    assert torch.equal(found[graph.sample_id].edge_scores, expected.edge_scores)
                    assert found[graph.sample_id].question == expected.question
        assert sum(dropped.values()) + len(found) == len(scores)


def test_progress_counts_the_questions_of_all_splits(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """After every 25 of a split and at its end; of splits that are there already, once each."""
    monkeypatch.setattr(agent_graphs_stage, "GRAPHS_AT_ONCE", 25)
    with RetrievalStore(layout.retrieval_store(folder)) as store:
        train, validation, test = (store.count(split) for split in layout.SPLITS)
    assert 50 < train < 75 and validation < 25 < test < 50
    at = {"train": train, "validation": train + validation, "test": train + validation + test}
    ends = [(done, split) for split, done in at.items()]
    told = (progress(build(folder)[1]), progress(build(folder)[1]))
    assert told[0] == [(25, "train"), (50, "train"), *ends[:2], (at["validation"] + 25, "test"), ends[2]]
    assert told[1] == ends


def test_a_split_that_ends_with_a_report_is_not_counted_further(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(agent_graphs_stage, "GRAPHS_AT_ONCE", 1)
    counts = [done for done, _ in progress(build(folder)[1])]
    assert counts == sorted(counts) and set(counts) == set(range(1, counts[-1] + 1))


def progress(events: list[Event]) -> list[tuple[int, str]]:
    """How many are done, and of which split the last are."""
    (started,) = [event for event in events if isinstance(event, StageStarted)]
    told = [event for event in events if isinstance(event, StageProgress)]
    assert (started.done, started.unit) == (0, "questions")
    assert {event.total for event in told} == {started.total} == {told[-1].done}
    return [(event.done, event.note) for event in told]


def test_only_training_questions_are_helped_to_keep_their_answer(folder: Path):
    _, events = build(folder, **NARROW)
    built = built_events(events)
    assert LOST not in built["train"].dropped and built["test"].dropped[LOST] > 0


def test_a_wider_selection_loses_fewer(folder: Path, tmp_path: Path):
    lost = []
    for number, section in enumerate((NARROW, {"anchor_top_k": 30}, {"anchor_top_k": 500, "hops": 3})):
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        lost.append(built_events(build(copy, **section)[1])["test"].dropped.get(LOST, 0))
    assert lost[0] > lost[1] > lost[2] == 0


def test_a_stop_anywhere_changes_nothing(folder: Path, tmp_path: Path):
    stopped = tmp_path / "stopped"
    shutil.copytree(folder, stopped)
    _, whole = build(folder)
    stops = 0
    for allowed in (0, 20, 59, 65, 12, 200):
        left = [allowed]

        def checkpoint(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopRequested

        try:
            _, again = build(stopped, checkpoint)
        except StopRequested:
            stops += 1
        else:
            assert built_events(again) == built_events(whole), "the last attempt tells of all splits"
    assert stops == 5
    assert files(stopped) == files(folder)


def test_a_split_that_is_written_is_not_built_again(folder: Path):
    _, first = build(folder)
    before = files(folder)
    for split in layout.SPLITS:
        layout.edge_scores(folder, split).unlink()
    _, again = build(folder)
    assert files(folder) == before
    assert built_events(again) == built_events(first)


# ---------------------------------------------------------------- what is wrong is named


def test_a_dropped_file_that_is_no_json_is_named(folder: Path):
    layout.dropped_samples(folder).write_text("{torn")
    with pytest.raises(
        DataError,
        match=exactly(
            "these are not counts: JSON is malformed: object keys must be strings (byte 1) "
            "(…/run/gflownet/dropped.json): remove it; its stages count again when they run"
        ),
    ):
        build(folder)


def test_what_was_left_out_is_counted_again_where_the_counts_are_gone(folder: Path):
    build(folder)
    counted = json.loads(layout.dropped_samples(folder).read_text())["agent-graphs"]
    layout.dropped_samples(folder).unlink()
    with pytest.raises(
        DataError,
        match=exactly(
            "it is not known how many test questions were left out (…/run/gflownet/dropped.json): run the stages "
            "graphs and agent-graphs again: they count what they leave out"
        ),
    ):
        missed_questions(folder, "test")
    build(folder)
    assert json.loads(layout.dropped_samples(folder).read_text())["agent-graphs"] == counted


def test_without_scores_it_names_the_stage_before(folder: Path):
    shutil.rmtree(layout.edge_scores(folder, "train").parent)
    with pytest.raises(
        DataError,
        match=exactly(
            "the retriever's scores cannot be read: No such file or directory "
            "(…/run/gflownet/scores/train.safetensors): run the stage retriever"
        ),
    ):
        build(folder)


def test_questions_without_an_answer_are_not_missed_and_others_that_were_left_out_are(tmp_path: Path) -> None:
    left_out = {dropped.NO_ANSWER: 5, dropped.EMPTY_GRAPH: 2, dropped.NO_START: 3, "torn": 9}
    dropped.write_dropped(tmp_path, "graphs", "test", left_out)
    dropped.write_dropped(tmp_path, "graphs", "train", {dropped.NO_START: 100})
    with pytest.raises(DataError, match="it is not known how many test questions were left out"):
        dropped.missed_questions(tmp_path, "test")
    dropped.write_dropped(tmp_path, "agent-graphs", "test", {"no path": 7, "no anchor": 1})
    assert dropped.missed_questions(tmp_path, "test") == 2 + 3 + 7 + 1
