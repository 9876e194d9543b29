"""What is said of answers that are missing, cut, or worse than the paths they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from engine.config.config import Config
from engine.config.gflownet import AnswerSection
from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection
from engine.events import EvidenceAnswered, PathStep, QuestionSampled, SampledPath
from engine.gflownet.answer import answer_stage
from engine.gflownet.answer.answer_stage import _AnswerJob, _judged, end_is_answer, lacking, reader_loses
from engine.gflownet.answer.readers import SYSTEM, Reading, make_reader
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.gflownet.graphs.dropped import write_dropped
from engine.lm.protocol import Request
from engine.statistics import Interval


def answer(number: int, failure: str = "", cut: bool = False) -> EvidenceAnswered:
    return EvidenceAnswered(
        sample_id=f"q{number}", method="gflownet", question="who?", golds=["ann"], answer="" if failure else "ann",
        hit=not failure, recall=0.0 if failure else 1.0, triples=1, prompt_tokens=3, cut=cut, failure=failure,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("section", "setting"),
    [
        (AnswerSection(reader="openai", openai=OpenAISection(model="m")), "answer.openai.max_tokens"),
        (AnswerSection(reader="model"), "answer.max_new_tokens"),
    ],
)
def test_a_reader_whose_answers_are_cut_is_given_more_by_its_own_setting(
    section: AnswerSection, setting: str, tmp_path: Path
) -> None:
    """Both answers are right; of three questions with an answer in the data, two have no path to one."""
    told: list[str] = []
    write_dropped(tmp_path, "graphs", "test", {"an empty graph": 1, "no answer is given": 5})
    write_dropped(tmp_path, "agent-graphs", "test", {"no path leads to an answer": 1})
    job: Any = object.__new__(_AnswerJob)
    job.context = SimpleNamespace(
        config=Config(answer=section),
        run_dir=tmp_path,
        emit=lambda event: None,
        notice=lambda text, level: told.append(text),
    )
    job.section, job.reader, job.file = section, SimpleNamespace(name="r"), tmp_path / "answers.jsonl"
    job.answers = {
        method: msgspec.structs.replace(answer(0, cut=True), method=method)
        for method in ("triples", "gflownet")
    }
    job.graphs, job._beside_ends = [None], lambda answers: ""
    summary = job._result().summary
    assert [summary[name] for name in ("cut", "hit_gflownet", "hit_all_gflownet")] == [2, 1.0, 0.3333]
    assert told == [f"2 of 2 answers were cut at the limit of tokens: raise {setting}"]


def test_all_that_is_lacking_is_counted_and_the_first_is_named() -> None:
    found = [answer(0), answer(1, "too long"), answer(2, cut=True), answer(3, "filtered"), answer(4, "empty")]
    counts, warnings = lacking(found, "answer.max_new_tokens")
    assert counts == {"unanswered": 3, "cut": 1}
    assert warnings == [
        "3 of 5 answers are missing and count as misses; the first is q1: too long",
        "1 of 5 answers were cut at the limit of tokens: raise answer.max_new_tokens",
    ]


def test_nothing_is_told_of_whole_answers() -> None:
    assert lacking([answer(0), answer(1)], "answer.max_new_tokens") == ({}, [])


def test_answers_of_both_methods_are_compared_question_by_question_in_whatever_order_they_came(
    tmp_path: Path,
) -> None:
    """Of six questions both methods know the same three: no difference, and nothing to test."""
    told: list[Any] = []
    write_dropped(tmp_path, "graphs", "test", {})
    write_dropped(tmp_path, "agent-graphs", "test", {})
    job: Any = object.__new__(_AnswerJob)
    job.context = SimpleNamespace(config=Config(), run_dir=tmp_path, emit=told.append, notice=pytest.fail)
    job.section, job.reader, job.file = AnswerSection(), SimpleNamespace(name="r"), tmp_path / "answers.jsonl"
    orders = {"triples": [0, 1, 2, 3, 4, 5], "gflownet": [4, 0, 5, 2, 1, 3]}
    job.answers = {
        (number, method): msgspec.structs.replace(answer(number), method=method, hit=number < 3)
        for method, order in orders.items()
        for number in order
    }
    job.graphs, job._beside_ends = [None] * 6, lambda answers: f"{len(answers)} sampled"
    result = job._result()
    verdict = result.verdict
    assert (verdict.fixed, verdict.broken, verdict.low, verdict.high) == (0, 0, 0.0, 0.0)
    assert verdict.curve == [1.0, 1.0, 1.0, 0.75, 0.6, 0.5] and verdict.remark == "6 sampled"
    triples, paths = told
    assert (triples.method, triples.n, triples.hit, triples.p) == ("triples", 6, 0.5, None)
    assert (paths.method, paths.n, paths.hit, paths.difference, paths.p) == ("gflownet", 6, 0.5, 0.0, 1.0)
    assert list(result.summary) == [
        "reader",
        "hit_triples",
        "hit_gflownet",
        "hit_all_gflownet",
    ]
    assert result.files == ["answers.jsonl", "gflownet/tables/answers.csv"]


@pytest.mark.parametrize(("limit", "names"), [(2, ["q0", "q1"]), (100, ["q0", "q1", "q2"])])
def test_as_many_questions_are_answered_as_the_section_says(
    limit: int, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [msgspec.structs.replace(sampled([], "a"), sample_id=f"q{number}") for number in range(3)]
    monkeypatch.setattr(answer_stage, "Texts", SimpleNamespace(load=lambda run_dir: None))
    monkeypatch.setattr(answer_stage, "read_scores", lambda run_dir, split: [])
    store: Any = SimpleNamespace(count=lambda split: 0)
    monkeypatch.setattr(answer_stage, "GAgentPyGDataset", lambda path: [None] * 3)
    monkeypatch.setattr(answer_stage, "make_reader", lambda context, embedder: None)
    monkeypatch.setattr(answer_stage, "_sampled", lambda path: questions)
    context: Any = SimpleNamespace(config=Config(answer=AnswerSection(questions=limit)), run_dir=tmp_path)
    assert [question.sample_id for question in _AnswerJob(context, store).questions] == names


def test_the_first_questions_stand_for_all_that_have_a_graph(tmp_path: Path) -> None:
    """Two of six are asked, and two more have no graph: what is right of the two counts for six of eight."""
    write_dropped(tmp_path, "graphs", "test", {"an empty graph": 1})
    write_dropped(tmp_path, "agent-graphs", "test", {"no path leads to an answer": 1})
    job: Any = object.__new__(_AnswerJob)
    job.context = SimpleNamespace(run_dir=tmp_path, config=Config())
    job.reader = SimpleNamespace(name="r")
    job.graphs = [None] * 6
    answers = [answer(0), msgspec.structs.replace(answer(1), hit=False, recall=0.5)]
    row = job._row("gflownet", answers, [*answers])
    assert (row.n, row.missed, row.hit, row.recall) == (2, 2, 0.5, 0.75)
    assert (row.hit_all, row.recall_all) == (0.375, 0.5625)
    row = job._row("triples", answers, answers)
    assert (row.hit_all, row.recall_all) == (None, None), (
        "nobody asks what triples answer where no path leads"
    )


def test_answers_are_asked_for_in_batches_and_those_that_are_there_are_not() -> None:
    """Ten questions by two methods, of which one answer is stored."""
    told: list[Any] = []
    job: Any = object.__new__(_AnswerJob)
    job.context = SimpleNamespace(
        checkpoint=lambda: told.append("may stop"),
        start=lambda total, done, unit: told.append((total, done, unit)),
        progress=lambda done, total: told.append((done, total)),
        notice=told.append,
    )
    job.reader = SimpleNamespace(name="tiny")
    job.questions = [
        msgspec.structs.replace(sampled([], "a"), sample_id=f"q{number}") for number in range(10)
    ]
    job.answers = {("q3", "gflownet"): "stored"}
    asked: list[tuple[int, str]] = []

    def answered(batch: Sequence[tuple[int, str]]) -> None:
        asked.extend(batch)
        job.answers.update({(f"q{number}", method): "new" for number, method in batch})

    job._answer, job._result = answered, lambda: "result"
    assert job.run() == "result"
    every = [(number, method) for number in range(10) for method in ("triples", "gflownet")]
    assert asked == [pair for pair in every if pair != (3, "gflownet")]
    assert told == [(20, 1, "answers"), "answered by tiny", "may stop", (17, 20), "may stop", (20, 20)]


def test_the_share_of_questions_that_the_paths_alone_answer_is_told_beside_the_reader() -> None:
    """15 of 20; the reader is right with 5 of them."""
    job: Any = object.__new__(_AnswerJob)
    job.context = SimpleNamespace(config=Config())
    job.questions = [
        msgspec.structs.replace(
            sampled([path("a", 1, 1.0)], "a" if number < 15 else "b"), sample_id=f"q{number}"
        )
        for number in range(20)
    ]
    answers = [msgspec.structs.replace(answer(number), hit=number < 5) for number in reversed(range(20))]
    remark = job._beside_ends(answers)
    assert remark.startswith(
        "Without a reader, the entity at which most paths end answers 75.0% right: the reader loses 50 points."
    )


def path(ends: str, count: int, probability: float) -> SampledPath:
    """A path from `s` through the letters of `ends`."""
    steps = [
        PathStep(head=a, relation="to", tail=b, score=1.0) for a, b in zip("s" + ends, ends, strict=False)
    ]
    return SampledPath(steps=steps, count=count, probability=probability, reward=1.0)


def sampled(paths: list[SampledPath], answers: str, distinct: bool = False) -> QuestionSampled:
    return QuestionSampled(
        sample_id="q", question="who?", starts=["s"], answers=list(answers), nodes=3, edges=3, samples=9,
        distinct=distinct, log_z=0.0, temperature=1.0, prior_alpha=0.0, paths=paths,
    )  # fmt: skip


DRAWN = [path("ab", 4, 0.2), path("c", 3, 0.5), path("dc", 2, 0.1), path("", 9, 0.9), path("e", 1, 0.3)]
"""By draws c has 5, b 4 and e 1; by probability c has 0.6, e 0.3 and b 0.2. A path without an edge ends nowhere."""


@pytest.mark.parametrize(("answers", "right"), [("c", True), ("b", False), ("s", False), ("xc", True)])
def test_the_end_of_most_draws_is_what_the_paths_say(answers: str, right: bool) -> None:
    assert end_is_answer(sampled(DRAWN, answers)) is right


def test_distinct_paths_count_by_their_probability() -> None:
    once = [path("ab", 1, 0.2), path("c", 1, 0.5), path("db", 1, 0.2)]
    assert end_is_answer(sampled(once, "c", distinct=True)), "0.5 for c, 0.4 for b"
    assert end_is_answer(sampled(once, "b")), "of independent draws b has two"


def test_paths_without_an_edge_say_nothing() -> None:
    assert not end_is_answer(sampled([path("", 9, 1.0)], "s"))
    assert not end_is_answer(sampled([], "s"))


def test_a_reader_that_loses_what_its_paths_say_is_told_so() -> None:
    assert reader_loses(0.981, Interval(-0.791, -0.83, -0.75)) == (
        "Without a reader, the entity at which most paths end answers 98.1% right: the reader loses 79 points. "
        "Another model or message (answer.system) may read them better."
    )
    assert reader_loses(0.6, Interval(-0.05, -0.1, 0.0)) == ""
    assert reader_loses(0.6, Interval(0.2, 0.1, 0.3)) == ""


class EchoingModel:
    """A model whose text is its prompt, which is made of both messages."""

    info = SimpleNamespace(name="echo")
    tokenizer = SimpleNamespace(encode_chat=lambda user, system: [system, user])

    def generate(self, requests: Sequence[Request]) -> list[Any]:
        return [
            SimpleNamespace(text=" | ".join(map(str, request.prompt)), ended="eos") for request in requests
        ]


@pytest.mark.parametrize(("system", "first"), [(None, SYSTEM), ("Name one.", "Name one.")])
@pytest.mark.parametrize("own", [None, ModelSection(path="own")])
def test_a_model_gets_the_users_message_or_the_built_in_one(
    system: str | None, first: str, own: ModelSection | None
) -> None:
    """The model is the reader's own where it has one, otherwise the run's."""
    config = Config(
        model=ModelSection(path="all"), answer=AnswerSection(reader="model", model=own, system=system)
    )
    loaded: list[str] = []
    context: Any = SimpleNamespace(
        config=config, load_model=lambda section: (loaded.append(section.path), EchoingModel())[1]
    )
    reader = make_reader(context, lambda: pytest.fail("no embedder is needed"))
    assert loaded == ["own" if own else "all"]
    (reading,) = reader.read([EvidencePrompt("who?", [], 0)], lambda: None)
    assert reading == Reading(f"{first} | Triplets:\n\n\nQuestion:\nwho?")


def step(head: str, tail: str) -> PathStep:
    return PathStep(head=head, relation="to", tail=tail, score=1.0)


@pytest.mark.parametrize(
    ("golds", "text", "hit", "recall"),
    [
        (["ann", "bea", "cid", "dora"], "Ann, Bea and dora", True, 0.75),
        (["ann", "bea"], "cid", False, 0.0),
        ([], "ann", False, 0.0),
    ],
)
def test_an_answer_is_judged_by_all_the_gold_answers_it_names(
    golds: list[str], text: str, hit: bool, recall: float
) -> None:
    question = msgspec.structs.replace(sampled([], "ab"), golds=golds)
    prompt = EvidencePrompt("who?", [step("s", "a"), step("a", "b")], 7)
    assert _judged(question, "triples", prompt, Reading(text, True, "torn")) == EvidenceAnswered(
        sample_id="q", method="triples", question="who?", golds=golds, answer=text, hit=hit, recall=recall, triples=2,
        prompt_tokens=7, prompt=prompt.text, cut=True, failure="torn",
    )  # fmt: skip


def test_the_sampled_paths_are_one_method_and_the_best_triples_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both of the same question, within the same budget: two triples of the three. Those are the best of all that was
    retrieved, whatever the graph holds that is walked."""
    triples = [step("x", "y"), step("y", "z"), step("z", "x")]
    monkeypatch.setattr(
        answer_stage,
        "top_triples",
        lambda data, scores, texts: triples if (data, scores, texts) == ("g2", "s2", "texts") else [],
    )
    job: Any = object.__new__(_AnswerJob)
    job.questions = [
        msgspec.structs.replace(sampled([], "a"), sample_id="p"),
        sampled([path("abc", 1, 0.5), path("a", 1, 0.4)], "a"),
    ]
    job.retrieval, job.scores, job.texts = ["g0", "g1", "g2"], ["s0", "s1", "s2"], "texts"
    job.numbers = {"lost": 0, "p": 1, "q": 2}
    job.section, job.reader = AnswerSection(token_budget=8), SimpleNamespace(count_tokens=lambda text: 4)
    assert job._prompt(1, "gflownet") == EvidencePrompt("who?", [step("s", "a"), step("a", "b")], 8)
    assert job._prompt(1, "triples") == EvidencePrompt("who?", triples[:2], 8)
    assert job._prompt(0, "gflownet").triples == []
