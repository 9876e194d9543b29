"""Sections of the evolution that runs of earlier versions wrote out."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config.config import Config
from engine.config.section import RECORDED


def resolved() -> dict[str, Any]:
    """Every field, as a run's own configuration has them."""
    return Config().model_dump(mode="json")


def test_a_run_made_before_a_field_was_there_is_read_as_before() -> None:
    """It had its validation set decide, and the full stop and comma among the numbers; what it does not do is ask
    servers, since it names who judges."""
    old = resolved()
    del old["evolution"]["best_by"], old["clusters"]["numbers"]
    del old["evolution"]["reflector"]["system_prompt"], old["evolution"]["reflector"]["user_template"]
    old["evolution"] |= {
        "validation_size": 50,
        "test_size": 50,
        "length_caps": 16,
        "brief_prompts": ["Answer briefly."],
    }
    old["evolution"]["judge"]["kind"] = "auto"
    config = Config.model_validate(old, context=RECORDED)
    assert (config.evolution.best_by, config.clusters.numbers) == ("validation", "written")
    assert config.evolution.judge_kind == "numeric" and config.evolution.reflector.system_prompt is None


def test_what_a_run_says_itself_counts_more() -> None:
    config = Config.model_validate(resolved())
    assert (config.evolution.best_by, config.clusters.numbers) == ("minibatch", "arithmetic")


@pytest.mark.parametrize("fields", [{}, {"validation_size": 50, "test_size": 50, "pool_size": 400}])
def test_a_section_that_names_some_fields_has_the_document_s_defaults(fields: dict[str, Any]) -> None:
    config = Config.model_validate({"evolution": fields, "clusters": {"k": 6}})
    assert (config.evolution.best_by, config.clusters.numbers) == ("minibatch", "arithmetic")


@pytest.mark.parametrize(
    ("kind", "questions", "judge"),
    [("auto", "task", "task"), ("auto", "financebench", "numeric"), ("openai", "task", "openai"),
     ("numeric", "task", "numeric")],
)  # fmt: skip
def test_a_judge_that_is_left_open_follows_the_questions(kind: str, questions: str, judge: str) -> None:
    fields = {"questions": questions, "judge": {"kind": kind}}
    assert Config.model_validate({"evolution": fields}).evolution.judge_kind == judge


def test_a_method_s_model_is_its_own_or_the_run_s() -> None:
    other = {"path": "statements"}
    plain = Config.model_validate({"model": {"path": "dialogues"}})
    assert (plain.evolution_model, plain.slsm_model) == (plain.model, plain.model)
    named = Config.model_validate({"evolution": {"model": other}})
    assert (named.evolution_model.path, named.slsm_model.path) == ("statements", None)
    named = Config.model_validate({"slsm": {"model": other}})
    assert (named.evolution_model.path, named.slsm_model.path) == (None, "statements")
