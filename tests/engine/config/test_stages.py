"""Which names are stages, and which stages rest on others."""

from __future__ import annotations

import pytest

from engine.config.config import Config
from engine.config.form import sections_by_stage
from engine.config.stages import all_needs, is_known, known_stages, resting_on, stage_inputs, stage_problems


@pytest.mark.parametrize(
    ("name", "known"),
    [("mine", True), ("agent-graphs", True), ("my.module:Class", True), ("my:Class", True), ("my.module", False),
     ("Mine", False), (":Class", False), ("my:", False), ("my..module:Class", False), ("my:1st", False),
     ("my:a.b", False), ("my module:Class", False)],
)  # fmt: skip
def test_a_stage_is_a_method_s_or_a_class_of_a_module(name: str, known: bool) -> None:
    assert is_known(name) is known


def test_what_a_stage_needs_it_needs_through_others_too() -> None:
    assert [all_needs(name) for name in ("mine", "memory", "clusters", "my:Class")] == [
        set(),
        {"mine", "select"},
        set(),
        set(),
    ]


def test_a_stage_of_ones_own_rests_on_those_before_it_alone() -> None:
    names = ["my:First", "clusters", "mine", "my:Second", "select", "evolve", "my:Third"]
    assert resting_on("mine", names) == ["mine", "my:Second", "select", "my:Third"]
    assert resting_on("my:Third", names) == ["my:Third"]
    assert resting_on("clusters", names) == ["clusters", "my:Second", "evolve", "my:Third"]


def test_each_stage_that_comes_too_early_is_told_with_what_it_needs() -> None:
    found = stage_problems(["memory", "select", "mine", "mine", "evl", "my:Class"])
    assert [(problem.where, problem.value, problem.allowed) for problem in found] == [
        ("run.stages[0]", "memory", "`select` before `memory`"),
        ("run.stages[1]", "select", "`mine` before `select`"),
        ("run.stages[3]", "mine", "each stage once"),
        ("run.stages[4]", "evl", known_stages("evl")),
    ]
    assert known_stages("evl").endswith("; did you mean `eval`?") and known_stages("xyz").endswith(" serve")


def test_what_a_stage_reads_depends_on_its_switches() -> None:
    """Where its work is done counts everywhere."""
    plain = Config()
    verified = Config.model_validate({"offline_mine": {"verify": True}})
    assert stage_inputs("agent-graphs", plain) == {"scale": plain.scale, "agent_graphs": plain.agent_graphs}
    read = stage_inputs("mine", verified)
    assert read is not None and (read["online.k_scale"], read["online.beta"]) == (4.0, 1.0)
    assert "online.beta" not in (stage_inputs("mine", plain) or {})
    assert stage_inputs("serve", plain) is None is stage_inputs("my:Class", plain)


def test_a_stage_is_shown_with_the_sections_of_its_method() -> None:
    sections = sections_by_stage()
    assert sections["pool"] == sections["selector"] == {"pool", "selector"}
    assert sections["evolve"] == {"clusters", "evolution"} and sections["serve"] == {"serve"}
    assert {"task", "eval"} < sections["mine"] and not {"run", "model"} & sections["mine"]
