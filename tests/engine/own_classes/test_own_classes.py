"""Classes of the user's own: runs and checks take them, and treat their failures as those of the built-in ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.check import check_config
from engine.config.config import Config
from engine.config.file import load_config
from engine.custom_class import make_custom
from engine.errors import ConfigError
from engine.events import StateUpdated
from engine.evolution.judges.judge import Judge, judge_with_retries
from engine.gflownet.answer.readers import Reader
from engine.gflownet.evaluation.path_prompt import EvidencePrompt
from engine.run.gate import StopRequested
from engine.run.stage import StageResult
from engine.slsm.judges.judge import AnswerJudge
from tests.engine.slsm.stage_run import run_slsm
from tests.kill_and_resume import DEMO


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As with PYTHONPATH."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield
    sys.modules.pop("own_roles", None)


def test_what_cannot_be_made_or_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks_on_import.py").write_text("import nothing_like_this\n")
    for name, said in (
        ("no_such_folder.mine:Judge", r"there is no `no_such_folder` \(put its folder into PYTHONPATH"),
        ("breaks_on_import:Judge", r"importing it failed: ModuleNotFoundError.*breaks_on_import\.py:1"),
        ("own_roles:Nobody", r"a name of the module `own_roles`; it has JudgeFailed, Verdict"),
        ("own_roles:NotMade", r"making it failed: ValueError: no \(own_roles\.py:\d+\)"),
        (
            "own_roles:NoJudge",
            r"a class with `judge`, as `AnswerJudge` in engine\.slsm\.judges\.judge describes",
        ),
    ):
        with pytest.raises(ConfigError, match=said) as caught:
            make_custom(name, "slsm.judge.kind", AnswerJudge)
        assert [problem.where for problem in caught.value.problems] == ["slsm.judge.kind"]


def test_the_errors_of_the_protocol_count_as_those_of_the_built_in_ones() -> None:
    judge = make_custom("own_roles:Judge", "evolution.judge.kind", Judge)
    assert judge_with_retries(judge, "6 times 7?", ["42"], "  42", 2).correct is True
    failed = judge_with_retries(judge, "6 times 7?", [], "42", 2)
    assert failed.failed and "nothing to compare with" in failed.reasoning


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
    assert any("a class with `update`, `detect`, as `MemoryController`" in one for one in said)


def test_a_stop_passes_through_a_reader() -> None:
    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        make_custom("own_roles:Reader", "answer.reader", Reader).read([EvidencePrompt("q", [], 0)], stop)


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
