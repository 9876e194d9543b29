"""What the GFlowNet's stages say word for word, and figures of a few paths by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.errors import DataError, RunError
from engine.events import PathStep, SampledPath
from engine.gflownet import layout
from engine.gflownet.answer import answer_stage
from engine.gflownet.answer.answer_match import named, normalise
from engine.gflownet.evaluation.metrics import top_end_is_answer
from engine.gflownet.evaluation.path_prompt import build_triplet_prompt, path_triples, rough_tokens
from engine.gflownet.evaluation.question_paths import Drawing
from engine.gflownet.evaluation.verdict import sampler_verdict
from engine.gflownet.graphs import graphs_stage
from engine.gflownet.graphs.graphs_stage import entity_words, question_words, relation_words
from engine.gflownet.graphs.pathquestion.files import _first_of
from engine.gflownet.graphs.pathquestion.source import PathQuestionSource
from engine.gflownet.graphs.tables import _mapped
from engine.gflownet.retriever.retriever_stage import _RetrieverJob
from engine.gflownet.retriever.subgraphrag import UNSCORED, GivenScores
from engine.gflownet.retriever.training import _finite
from engine.gflownet.sampler import counter_noise
from engine.gflownet.sampler.policies.edge_gat import _Attention
from engine.gflownet.training import gflownet_stage
from engine.gflownet.training.device import training_device
from engine.gflownet.training.trained_sampler import _kept
from engine.gflownet.training.training import Training
from engine.gflownet.what_if import WhatIf, WhatIfRequest, _recorded_drawing
from tests.exactly import exactly


def test_files_have_the_names_that_the_pages_give() -> None:
    run = Path("r")
    names = [str(getattr(layout, name)(run).relative_to("r/gflownet")) for name in (
        "retrieval_store", "entity_texts", "relation_texts", "entity_embeddings", "relation_embeddings",
        "retriever_checkpoint", "dropped_samples", "checkpoint", "sampled_paths", "metrics", "training_log",
        "validation_log", "answers",
    )]  # fmt: skip
    assert names == [
        "g_retrieval.lmdb", "entities.json", "relations.json", "entity_embeddings.npy", "relation_embeddings.npy",
        "retriever.pt", "dropped.json", "gflownet.pt", "paths.jsonl", "tables/metrics.csv", "training.jsonl",
        "validation.jsonl", "answers.jsonl",
    ]  # fmt: skip
    assert str(layout.edge_scores(run, "test")) == "r/gflownet/scores/test.safetensors"
    assert str(layout.agent_graphs(run, "test")) == "r/gflownet/g_agent/test.pt"


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Big_City!", "big city"),
        ("an  A. apple", "apple"),
        ("theatre", "theatre"),
        ("?", ""),
        ("A-b's", "bs"),
    ],
)
def test_a_name_as_answers_are_compared(text: str, normal: str) -> None:
    assert normalise(text) == (normal if text != "A-b's" else normalise("abs"))
    assert named(["Big City", "The", "?"], "the big city") == ["Big City"]
    assert named(["The", "?", "x"], "The end?") == ["The", "?"]


def test_names_as_they_are_embedded() -> None:
    assert relation_words("people.person.place_of_birth") == "people person place of birth"
    assert entity_words("a__b  c") == "a b c"
    assert question_words(
        "Is Ann_Lee Ann?", ["Ann", "Ann_Lee"]
    ) == f"Is {graphs_stage.MASK} {graphs_stage.MASK}?".replace("_", " ")
    assert question_words("Annette", ["Ann"]) == "Annette"
    assert question_words("Is Ann Lee here?", ["Ann", "Ann Lee"]) == f"Is {graphs_stage.MASK} here?", (
        "the longer first"
    )


def step(head: str, tail: str) -> PathStep:
    return PathStep(head=head, relation="r", tail=tail, score=1.0)


def test_triples_that_fit_a_budget() -> None:
    """By letters: (a,r,b) and a line end are 8."""
    paths = [SampledPath(steps=steps, count=1, probability=1.0, reward=1.0) for steps in (
        [step("a", "b"), step("b", "c")], [], [step("a", "b"), step("b", "d")],
    )]  # fmt: skip
    triples = path_triples(paths)
    assert [(one.head, one.tail) for one in triples] == [("a", "b"), ("b", "c"), ("b", "d")]
    for budget, kept in ((7, 0), (8, 1), (23, 2), (24, 3)):
        made = build_triplet_prompt("q?", triples, budget, len)
        assert (len(made.triples), made.tokens) == (kept, 8 * kept)
    assert made.text == "Triplets:\n(a,r,b)\n(b,r,c)\n(b,r,d)\n\nQuestion:\nq?"
    assert rough_tokens("(a,r) b-c") == 8


def evaluation(value: float) -> Any:
    figures = {name: [value, value] for name in ("hits@1", "answer_recall_union@20")}
    return SimpleNamespace(figures=figures, k=20)


@pytest.mark.parametrize(
    ("figure", "metric", "k", "remark"),
    [
        ("answer_recall_union@20", "answer_recall", 20,
         "These are independent draws; 20 distinct paths reach 75.0%, +50.0 points [50.0, 50.0] against beam search."),
        ("hits@1", "hits@1", None,
         "Most questions have fewer than 20 paths. These are independent draws; distinct paths have 75.0%, "
         "+50.0 points [50.0, 50.0] against beam search."),
    ],
)  # fmt: skip
def test_the_verdict_on_a_sampler(
    monkeypatch: pytest.MonkeyPatch, figure: str, metric: str, k: int | None, remark: str
) -> None:
    monkeypatch.setattr("engine.gflownet.evaluation.verdict.deciding_figure", lambda beam: figure)
    values = {"gflownet": 0.5, "beam": 0.25, "prior": 0.6, "distinct": 0.75}
    by_method = {name: evaluation(value) for name, value in values.items()}
    verdict = sampler_verdict(by_method, 0)
    assert (verdict.method, verdict.baseline, verdict.metric, verdict.items) == (
        "gflownet",
        "beam",
        metric,
        "questions",
    )
    assert (verdict.value, verdict.baseline_value, verdict.k, verdict.remark) == (0.5, 0.25, k, remark)
    assert (verdict.graded, verdict.ahead, verdict.n) == (metric == "answer_recall", ["prior"], 2)
    assert verdict.curve == [0.5, 0.5] and (verdict.difference, verdict.low, verdict.high) == (
        0.25,
        0.25,
        0.25,
    )
    closest = verdict.closest
    assert closest is not None and (closest.method, closest.value) == ("prior", 0.6)
    assert closest.difference == pytest.approx(0.1) and closest.n == 2
    by_method["prior"] = evaluation(0.5)
    assert sampler_verdict(by_method, 0).ahead == [], "as good is not ahead"


def test_the_summary_of_a_training() -> None:
    names = ("success@1", "success_all@1", "success@5", "success_all@5", "hits@1", "answer_recall_union@5",
             "unique_success_paths@5", "logpf_logr_spearman", "total_variation")  # fmt: skip

    def means(of: float) -> Any:
        figures = {name: of + 0.001111 * place for place, name in enumerate(names)}
        return SimpleNamespace(means=lambda: figures, n=7, missed=2)

    job = object.__new__(gflownet_stage._SamplerJob)
    job.section, job.step = SimpleNamespace(num_eval_rollouts=5), 40  # type: ignore[assignment]
    by_method = {"gflownet": means(0.1), "distinct": means(0.2), "beam": means(0.3), "greedy": means(0.4)}
    assert job._summary(by_method) == {
        "kept_step": 40, "questions": 7, "questions_missed": 2, "success@1": 0.1, "success_all@1": 0.1011,
        "success@5": 0.1022, "success_all@5": 0.1033, "hits@1": 0.1044, "success@1_greedy": 0.4,
        "answer_recall_union@5": 0.1056, "distinct_answer_recall_union@5": 0.2056,
        "beam_answer_recall_union@5": 0.3056,
        "unique_success_paths@5": 0.11, "distinct_unique_success_paths@5": 0.21, "beam_unique_success_paths@5": 0.31,
        "total_variation": 0.1089, "logpf_logr_spearman": 0.1078,
    }  # fmt: skip


# ------------------------------------------------------------ errors


def test_what_is_missing_or_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = f"there are no scores (retriever.scores: {tmp_path}): give the file that SubgraphRAG's retriever " \
              "wrote: a dictionary by sample id with `scored_triples`"  # fmt: skip
    nobody: Any = None
    with pytest.raises(DataError, match=exactly(missing)):
        GivenScores(tmp_path, nobody)
    with pytest.raises(ValueError, match=exactly("policy.hidden 10 is not a multiple of policy.heads 4")):
        _Attention(10, 4)
    grew = "the retriever's training diverged (graphs.embedder): take another embedder, and begin the " \
           "stage `graphs` again"  # fmt: skip
    with pytest.raises(DataError, match=exactly(grew)):
        _finite(torch.tensor([1.0, float("nan")]))
    assert _finite(torch.tensor([1.0])).tolist() == [1.0]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with (
        pytest.raises(RunError, match=exactly("there is no GPU (gflownet.device): gflownet.device: cpu")),
        training_device("cuda"),
    ):
        pass
    with training_device("cpu") as device:
        assert device.type == "cpu"
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((2, 2)))
    kind = f"expected a float32 table, found float64 with 2 dimensions ({path}): run the stage graphs first"
    with pytest.raises(DataError, match=exactly(kind)):
        _mapped(path)
    path.write_bytes(b"x")
    with pytest.raises(DataError, match=exactly(f"no embeddings: … ({path}): run the stage graphs first")):
        _mapped(path)
    monkeypatch.setattr(
        "engine.gflownet.retriever.retriever_stage.GRetrievalDataset", lambda store, split: []
    )
    context: Any = SimpleNamespace(config=Config(), run_dir=tmp_path)
    with pytest.raises(
        DataError, match=exactly("no training question is left (graphs): see gflownet/dropped.json")
    ):
        _RetrieverJob(context, nobody)
    job = object.__new__(graphs_stage._GraphsJob)
    with pytest.raises(
        DataError, match=exactly("no text to embed is left (graphs): see dropped.json for what was wrong")
    ):
        job._table(tmp_path / "none.npy", [], 0, zero=False)


def test_lines_that_are_broken_are_named_together() -> None:
    def broken(*numbers: int) -> list[tuple[int, DataError]]:
        return [(n, DataError(what=f"line {n}", where=f"f:{n}", hint="h")) for n in numbers]

    assert _first_of(broken(3)).hint == "h"
    two = _first_of(broken(3, 5))
    assert (two.what, two.where) == ("line 3", "f:3")
    assert two.hint == "correct or remove the line, and 1 more that are broken: 5"
    assert _first_of(broken(*range(21))).hint.endswith("18, 19, 20"), "twenty besides the first are all named"
    many = _first_of(broken(*range(1500))).hint
    assert many.startswith(
        "correct or remove the line, and 1,499 more that are broken: 1, 2, "
    ) and many.endswith(" ...")
    source = object.__new__(PathQuestionSource)
    source.missing, source._lines = 1, 3400
    assert source.remark == "; 1 of 3,400 gold paths are not in the knowledge base"
    source.missing = 1200
    assert source.remark == "; 1,200 of 3,400 gold paths are not in the knowledge base"
    source.missing = 0
    assert source.remark == ""


def test_paths_drawn_again(tmp_path: Path) -> None:
    tried = object.__new__(WhatIf)
    tried._run_dir, tried._numbers = tmp_path, {}
    place = layout.agent_graphs(tmp_path, "test")
    words = f"the held-out questions have no q1 ({place}): choose one of the questions among the cases"
    with pytest.raises(DataError, match=exactly(words)):
        tried.tried(SimpleNamespace(sample_id="q1"))  # type: ignore[arg-type]

    def drawn(*counts: int) -> Any:
        paths = [SampledPath(steps=[step("a", str(n))], count=n, probability=1.0, reward=1.0) for n in counts]
        return SimpleNamespace(sample_id="q1", paths=paths)

    assert tried._difference(drawn(1)) == "the run has drawn no paths for this question yet"
    file = layout.sampled_paths(tmp_path)
    file.parent.mkdir(parents=True)
    paths = [
        {"steps": [{"head": "a", "relation": "r", "tail": str(n), "score": 1.0}], "count": n, "probability": 0.5,
         "reward": 1.0}
        for n in (1, 2)
    ]  # fmt: skip
    file.write_text(
        json.dumps({"sample_id": "q1", "distinct": True, "temperature": 0.5, "paths": paths}) + "\n"
    )
    assert tried._difference(drawn(1, 2)) == ""
    assert tried._difference(drawn(1, 3, 4)) == "1 of the 2 recorded paths came up again as often"
    context: Any = SimpleNamespace(run_dir=tmp_path)
    assert vars(_recorded_drawing(context, Config().gflownet)) == {"distinct": True, "temperature": 0.5}
    file.write_text(
        json.dumps({"sample_id": "q1", "temperature": 0.5, "paths": paths}) + "\n"
    )  # an older run
    assert vars(_recorded_drawing(context, Config().gflownet)) == {"distinct": False, "temperature": 0.5}
    asked: list[Any] = []

    def sample(number: int, alpha: float, how: Drawing, *more: Any) -> Any:
        asked.append((number, alpha, how.distinct, how.temperature, *more))
        return drawn(1, 2)

    tried._numbers, tried._drawing, tried._alpha = {"q1": 4}, Drawing(True, 0.5), 0.3
    tried._sampler = SimpleNamespace(sample=sample)  # type: ignore[assignment]
    for request, how in (
        ({}, (0.3, True, 0.5, None, 0)), ({"temperature": 2.0}, (0.3, True, 2.0, None, 0)),
        ({"distinct": False, "prior_alpha": 0.0}, (0.0, False, None, None, 0)),
        ({"distinct": False, "temperature": 2.0, "samples": 9, "draw": 3}, (0.3, False, 2.0, 9, 3)),
    ):  # fmt: skip
        asked.clear()
        found = tried.tried(WhatIfRequest(sample_id="q1", **request))  # pyright: ignore[reportArgumentType]
        assert found.exact and asked == [(4, 0.3, True, 0.5), (4, 0.0, True, 0.5), (4, *how)], request
    state = {"best": {"weights": "w", "at": 3}, "module": "m", "step": 9}
    for restore, best, kept in (
        (True, state["best"], ("w", 3)),
        (False, state["best"], ("m", 9)),
        (True, None, ("m", 9)),
    ):
        config = Config.model_validate({"gflownet": {"early_stopping": {"restore_best": restore}}})
        assert _kept(state | {"best": best}, config) == kept


# ------------------------------------------------------------ answers


def answered(hit: bool, **more: Any) -> Any:
    return SimpleNamespace(**{"hit": hit, "recall": 0.5 * hit, "triples": 4, "prompt_tokens": 30} | more)


def test_answers_over_paths_beside_those_over_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten questions two have no graph: 0.5 of the eight is 0.4 of all."""
    monkeypatch.setattr(answer_stage, "missed_questions", lambda run_dir, split: 2)
    job = object.__new__(answer_stage._AnswerJob)
    job.context = SimpleNamespace(run_dir=Path("r"), config=Config())  # type: ignore[assignment]
    job.graphs, job.reader = range(8), SimpleNamespace(name="reader")  # type: ignore[assignment]
    paths = [answered(n % 2 == 0) for n in range(8)]
    triples = [answered(n == 0, triples=2, prompt_tokens=20) for n in range(8)]
    row = job._row("gflownet", paths, triples)
    assert (row.method, row.reader, row.n, row.missed, row.triples, row.prompt_tokens) == (
        "gflownet",
        "reader",
        8,
        2,
        4.0,
        30.0,
    )
    assert (row.hit, row.recall, row.hit_all, row.recall_all) == (0.5, 0.25, 0.4, 0.2)
    assert (row.difference, row.p) == (0.375, pytest.approx(0.25)) and row.low <= 0.375 <= row.high  # type: ignore[operator]
    assert job._row("triples", triples, triples).difference is None
    verdict = answer_stage.answer_verdict(paths, triples, 0, "said")
    assert (verdict.method, verdict.baseline, verdict.metric, verdict.items) == (
        "gflownet",
        "triples",
        "answer_hit",
        "questions",
    )
    assert (verdict.value, verdict.baseline_value, verdict.tokens, verdict.baseline_tokens) == (
        0.5,
        0.125,
        30.0,
        20.0,
    )
    assert (verdict.remark, verdict.fixed, verdict.broken, verdict.n) == ("said", 3, 0, 8)


def test_what_the_ends_of_paths_say_without_a_reader() -> None:
    def question(distinct: bool, *paths: tuple[str, int, float]) -> Any:
        made = [
            SampledPath(steps=[step("a", end)] if end else [], count=count, probability=p, reward=1.0)
            for end, count, p in paths
        ]
        return SimpleNamespace(paths=made, distinct=distinct, answers=["b"])

    mixed = (("b", 3, 0.1), ("c", 2, 0.6), ("b", 0, 0.2))
    assert answer_stage.end_is_answer(question(False, *mixed)) and not answer_stage.end_is_answer(
        question(True, *mixed)
    )
    assert not answer_stage.end_is_answer(question(False, ("", 9, 1.0)))
    loses: Any = SimpleNamespace(high=-0.01, difference=-0.123)
    assert answer_stage.reader_loses(0.456, loses) == (
        "Without a reader, the entity at which most paths end answers 45.6% right: the reader loses 12 points. Another "
        "model or message (answer.system) may read them better."
    )
    assert answer_stage.reader_loses(0.456, SimpleNamespace(high=0.0, difference=-0.1)) == ""  # type: ignore[arg-type]


def test_how_much_of_the_questions_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"train": 5, "validation": 3, "test": 2}
    done: list[Any] = []
    source = SimpleNamespace(remark="; 2 of 3 gold paths are not there", size=sizes.__getitem__)
    monkeypatch.setattr(graphs_stage, "make_source", lambda section, seed: source)
    job = object.__new__(graphs_stage._GraphsJob)
    notes = {"read train": 5, "read validation": 1}
    job.store = SimpleNamespace(note=notes.get, seal=lambda: done.append("sealed"))  # type: ignore[assignment]
    job.context = SimpleNamespace(  # type: ignore[assignment]
        config=Config(), start=lambda *of, **more: done.append((*of, more)),
        notice=lambda text, level="info": done.append((text, level)),
    )  # fmt: skip
    job.section = Config().graphs
    monkeypatch.setattr(
        job, "_split", lambda source, split, read, total: done.append((split, total)), raising=False
    )
    monkeypatch.setattr(job, "_embed", lambda total: done.append(total), raising=False)
    monkeypatch.setattr(job, "_result", lambda: "result", raising=False)
    assert job.run() == "result"
    assert done == [
        (10, 6, {"unit": "questions"}), ("2 of 3 gold paths are not there", "warning"), ("validation", 10),
        ("test", 10), 10, "sealed",
    ]  # fmt: skip


def test_when_a_training_is_at_its_end() -> None:
    training = object.__new__(Training)
    for step, stale, patience, over in (
        (9, 99, None, False), (10, 0, None, True), (9, 2, 3, False), (9, 3, 3, True), (10, 0, 3, True),
    ):  # fmt: skip
        fields = {"steps": 10, "early_stopping": SimpleNamespace(patience=patience)}
        section: Any = SimpleNamespace(**fields)
        training.section, training.step, training.evaluations_since_best = section, step, stale
        assert training.finished is over


def test_scores_from_elsewhere_that_do_not_cover_the_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    written: list[Any] = []
    job = object.__new__(_RetrieverJob)
    job.context = SimpleNamespace(notice=lambda text, level: told.append((text, level)))  # type: ignore[assignment]
    labels = [torch.zeros(2), torch.zeros(3)]
    monkeypatch.setattr(job, "_labels", lambda split: labels, raising=False)
    monkeypatch.setattr(job, "_write", lambda split, scores, *_: written.append(scores), raising=False)
    graph: Any = SimpleNamespace(scores=torch.tensor([1.0, 2.0]), named=1, strangers=1200)
    job._write_given("test", [graph, None], "s.pth")
    assert told == [(
        f"test: 1 of 2 questions have no scores; 1 of the 2 triples of the others have none, and count as "
        f"{UNSCORED:g}; 1,200 scored triples are not in their question's graph", "warning",
    )]  # fmt: skip
    assert written[0][0].tolist() == [1.0, 2.0] and written[0][1].tolist() == pytest.approx([UNSCORED] * 3)
    assert UNSCORED == 1e-4
    whole: Any = SimpleNamespace(scores=torch.tensor([1.0, 2.0]), named=2, strangers=0)
    labels.pop()
    job._write_given("test", [whole], "s.pth")
    assert len(told) == 1


def test_the_entity_at_which_most_weight_ends() -> None:
    """By count the first of two, by weights, whose exponentials no float holds, the heavier; without an edge none."""
    batch: Any = SimpleNamespace(
        size=1,
        node_graph=torch.zeros(3),
        is_answer=torch.tensor([True, False, True]),
        edge_scores=torch.zeros(1),
    )
    walks: Any = SimpleNamespace(
        length=torch.tensor([1, 1, 0]),
        nodes=torch.tensor([[0, 1], [0, 2], [0, -1]]),
        graph=torch.zeros(3, dtype=torch.long),
    )
    assert top_end_is_answer(batch, walks, None).tolist() == [0.0]
    assert top_end_is_answer(batch, walks, torch.tensor([1000.0, 1001.0, 9999.0])).tolist() == [1.0]
    assert top_end_is_answer(batch, walks, torch.tensor([-1000.0, -1001.0, 0.0])).tolist() == [0.0]


def test_draws_are_those_that_published_paths_came_from() -> None:
    seeds, items = torch.tensor([0, 7, 123456789]), torch.tensor([0, 1, 5])
    assert counter_noise.branched(seeds, 2, items).tolist() == [
        1548429080389189398, 5091654768390026233, 2731461697978301385,
    ]  # fmt: skip
    drawn = counter_noise.uniform(seeds, 3, items).tolist()
    assert drawn == pytest.approx([0.3212057836, 0.8665436655, 0.4674822551], abs=1e-9)
    gumbel = counter_noise.gumbel(seeds, 0, items).tolist()
    assert gumbel == pytest.approx([0.5828605126, 0.2080296082, 0.3635026150], abs=1e-9)
