"""The generated graph and its questions: any other word, name or draw makes other questions than those of every
published figure."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.gflownet.graphs.generated import questions as module
from engine.gflownet.graphs.generated.names import NameGenerator
from engine.gflownet.graphs.generated.questions import GeneratedSource
from engine.gflownet.graphs.generated.schema import RELATIONS
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


def test_no_question_is_answered_by_what_it_starts_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin town of a twin town may be the town itself; of more than eight answers nobody asks."""
    (twin,) = (relation for relation in RELATIONS if relation.name == "city twin town")
    monkeypatch.setattr(module, "_BY_HEAD", {"city": [twin]})
    monkeypatch.setattr(module, "_relations", lambda *of: [twin, twin])
    monkeypatch.setattr(module, "TWO_STARTS", 0.0)
    source = GeneratedSource(SECTION, 0)
    world, returns = source._world, set[bool]()
    for city in filter(has_text, world.kinds["city"]):
        ends = {far for near in world.follow(city, twin.name) for far in world.follow(near, twin.name)}
        monkeypatch.setitem(world.kinds, "city", [city])
        asked = source._chain(np.random.default_rng(0)) is not None
        assert asked is (1 <= len(ends) <= 8 and city not in ends)
        returns.add(city in ends)
    assert True in returns


def test_names_are_drawn_until_one_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["Alena", "Alena", "Alena", "Corby"])
    names = NameGenerator(np.random.default_rng(0))
    monkeypatch.setattr(names, "_made", lambda kind: next(drawn))
    assert [names.draw("city"), names.draw("city")] == ["Alena", "Corby"]


def test_no_two_entities_have_one_name() -> None:
    """There are twelve words for industries; the rest are made. Of rivers there are some 12,000, so that many of a
    thousand would come twice."""
    names = NameGenerator(np.random.default_rng(0))
    industries = [names.draw("industry") for _ in range(13)]
    assert industries[:3] == ["shipping", "mining", "banking"] and industries[10] == "retail"
    assert len(set(industries)) == 13
    rivers = [names.draw("river") for _ in range(1000)]
    assert len(set(rivers)) == 1000 and all(name.endswith(" River") for name in rivers)


def test_an_id_without_text_is_drawn_until_it_is_new() -> None:
    drawn = iter(["aaaaaa", "aaaaaa", "b_0zzz"])
    rng: Any = SimpleNamespace(choice=lambda letters, size: list(next(drawn))[:size])
    names = NameGenerator(rng)
    assert [names.mediator(), names.mediator()] == ["m.0aaaaaa", "m.0b_0zzz"]
