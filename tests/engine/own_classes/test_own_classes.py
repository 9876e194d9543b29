"""Classes of the user's own: runs and checks take them, and treat their failures as those of the built-in ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.check import check_config
from engine.config.config import Config
from engine.config.file import load_config
from engine.custom_class import Role, in_role, make_custom
from engine.errors import ConfigError, RunError
from engine.events import StateUpdated
from engine.evolution.custom_classes import JUDGE, REFLECTOR
from engine.evolution.judges.judge import judge_with_retries
from engine.evolution.reflectors.reflector import ReflectorFailed, ReflectorInput
from engine.gflownet.answer.custom_reader import READER
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.run.gate import StopRequested
from engine.run.stage import StageResult
from engine.slsm.custom_roles import CONTROLLER
from engine.slsm.state import SemanticState
from engine.slsm.turns import Turn
from tests.engine.slsm.stage_run import run_slsm
from tests.kill_and_resume import DEMO


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As with PYTHONPATH."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield
    sys.modules.pop("own_roles", None)


def test_a_module_that_is_not_there_or_fails_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks_on_import.py").write_text("import nothing_like_this\n")
    role = Role("slsm.judge.kind", ())
    with pytest.raises(ConfigError, match=r"there is no `no_such_folder` \(put its folder into PYTHONPATH"):
        make_custom("no_such_folder.mine:Judge", role)
    with pytest.raises(
        ConfigError, match=r"importing it failed: ModuleNotFoundError.*breaks_on_import\.py:1"
    ):
        make_custom("breaks_on_import:Judge", role)


def test_failures_count_as_those_of_the_built_in_ones() -> None:
    asked = ("What is 6 times 7?", ["42"])
    found = judge_with_retries(in_role("own_roles:Raises", JUDGE), *asked, "  42", 2, lambda: None)
    assert found.correct is True
    failed = judge_with_retries(in_role("own_roles:Quits", JUDGE), *asked, "42", 2, lambda: None)
    assert failed.failed and "evolution.judge.kind" in failed.reasoning
    given = ReflectorInput(0, {"0": 0.0, "1": 0.0}, {}, [], None)  # type: ignore[arg-type]
    assert in_role("own_roles:Reflector", REFLECTOR).reflect(given, "").deltas == {"0": -0.5, "1": -0.5}
    with pytest.raises(ReflectorFailed, match="missing clusters: 1"):
        in_role("own_roles:FewDeltas", REFLECTOR).reflect(given, "")
    state = SemanticState()
    lost = in_role("own_roles:TwiceTheSame", CONTROLLER).update(state, [Turn("a")])
    assert lost.state is state and "named twice" in lost.failure
    updated = in_role("own_roles:Controller", CONTROLLER).update(state, [Turn("a")])
    assert updated.state.plan.mode == "verify" and not updated.failure
    prompts = [EvidencePrompt("q", [], 0)] * 2
    with pytest.raises(RunError, match=r"1 texts for 2 prompts \(answer\.reader\)"):
        in_role("own_roles:FewTexts", READER).read(prompts, lambda: None)


def test_a_run_takes_own_judge_and_controller(tmp_path: Path) -> None:
    results: list[StageResult] = []
    events = run_slsm(
        tmp_path,
        n=4,
        results=results,
        compare=["always"],
        compare_memory=["structured"],
        judge={"kind": "own_roles:AnswerJudge"},
        controller={"kind": "own_roles:Controller"},
    )
    updates = [event for event in events if isinstance(event, StateUpdated)]
    assert updates and all(not event.failure and event.plan_mode == "verify" for event in updates)
    assert [change.item.text for change in updates[0].changes] == ["message 1"]
    assert results[0].summary


def test_a_check_says_whether_own_classes_can_be_used(tmp_path: Path) -> None:
    overrides = [
        "run.stages=[slsm]",
        "slsm.judge.kind=own_roles:AnswerJudge",
        "slsm.controller.kind=own_roles:NoJudge",
    ]
    said = [
        str(finding) for finding in check_config(load_config(DEMO, overrides)) if "own_roles" in str(finding)
    ]
    assert any("own_roles:AnswerJudge can be used" in one for one in said)
    assert any("a class with the method `update(state, turns)`" in one for one in said)


def test_a_stop_passes_through_a_reader() -> None:
    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        in_role("own_roles:Reader", READER).read([EvidencePrompt("q", [], 0)], stop)


@pytest.mark.parametrize(
    "field", ["slsm.judge.kind", "slsm.controller.kind", "evolution.judge.kind", "answer.reader"]
)
def test_a_configuration_takes_a_class_where_it_takes_a_kind(field: str) -> None:
    def config(value: str) -> Config:
        nested: object = value
        for key in reversed(field.split(".")):
            nested = {key: nested}
        return Config.model_validate(nested)

    assert field.rpartition(".")[2] and config("my.module:Class")
    for wrong in ("my.module", "my module:Class", ":Class", "a:b:c"):
        with pytest.raises(ValueError, match="validation error"):
            config(wrong)
