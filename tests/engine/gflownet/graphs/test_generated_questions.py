"""The generated graph and its questions: any other word, name or draw makes other questions than those of every
published figure."""

from __future__ import annotations

import hashlib

from engine.config.config import Config
from engine.gflownet.graphs.generated.questions import GeneratedSource
from engine.gflownet.graphs.generated.world import make_world
from engine.gflownet.graphs.raw import has_text

SECTION = Config().graphs.model_copy(
    update={"nodes": 1500, "train_size": 120, "validation_size": 0, "test_size": 40}
)


def digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def test_the_questions_are_those_that_the_published_figures_are_of() -> None:
    questions = GeneratedSource(SECTION, 0)
    train, test = list(questions.read("train")), list(questions.read("test"))
    assert train[0].question == "Which is the mayor of the biggest town of Selosk?"
    assert (train[0].id, test[-1].id) == ("train-00000", "test-00039")
    assert digest(make_world(0, 1500).triples) == "46e853f1b622a5de"
    assert (digest(train), digest(test)) == ("5d158cc82156b0fa", "74a9dd81183b281e")


def test_an_answer_is_where_the_question_s_relations_lead() -> None:
    world = make_world(0, 1500)
    assert sum(not has_text(name) for name in (*world.kinds["person"], *world.kinds["film"])) > 0
    first, *more = list(GeneratedSource(SECTION, 0).read("train"))[:20]
    for sample in (first, *more):
        assert sample.answer and set(sample.graph) <= set(world.triples)
        assert all(start in sample.question for start in sample.q_entity)
    (city,) = world.follow("Selosk", "country largest city")
    assert first.answer == world.follow(city, "city mayor")
