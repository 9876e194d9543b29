"""Classes of the user's own: the kit passes those that are fit, and says of every other what it does wrong; runs treat
their failures as those of the built-in ones."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.cli import main
from app.cli.check_class import ROLE_NAMES
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
from engine.testkit import trial
from engine.testkit.apart import apart
from engine.testkit.roles import ROLES, try_class
from engine.testkit.trial import Seen
from tests.engine.slsm.stage_run import run_slsm
from tests.kill_and_resume import DEMO

GOOD = {
    "evolution.judge": "Judge", "evolution.reflector": "Reflector", "slsm.judge": "AnswerJudge",
    "slsm.controller": "Controller", "answer.reader": "Reader", "task.compare": "compare",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As with PYTHONPATH."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(trial, "HUGE", 10_000)
    monkeypatch.setitem(trial.TEXTS, "a text of 1,000,000 characters", "forty-two " * 1000)
    yield
    sys.modules.pop("own_roles", None)


def test_the_command_knows_every_role() -> None:
    assert set(ROLE_NAMES) == set(ROLES) == set(GOOD)


@pytest.mark.parametrize("role", ROLE_NAMES)
def test_a_class_that_is_fit_passes(role: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-class", role, f"own_roles:{GOOD[role]}"]) == 0
    said = capsys.readouterr().out
    assert "wrong" not in said and f"fit for {role}" in said


@pytest.mark.parametrize(
    ("role", "name", "said"),
    [
        (
            "evolution.judge",
            "Raises",
            "an empty text: it raised `own_roles:Raises` failed in `judge`: IndexError",
        ),
        ("evolution.judge", "Raises", "(own_roles.py:"),
        ("evolution.judge", "ReturnsText", "it returned 'yes', not True, False, None or a Verdict"),
        ("evolution.judge", "Draws", "gave something else"),
        ("evolution.judge", "Blocks", "did not return within 1 seconds"),
        ("evolution.judge", "Quits", "SystemExit: 3"),
        ("evolution.judge", "EndsTheProcess", "judge an empty text: it ended the process it ran in"),
        ("evolution.judge", "EndsTheProcess", "exit code 3"),
        (
            "evolution.judge",
            "IsKilled",
            "judge an ordinary text: it ended the process it ran in, a whole run with",
        ),
        ("evolution.judge", "IsKilled", "killed by SIGKILL"),
        ("evolution.judge", "Remembers", "the call beside others gave something else"),
        ("evolution.judge", "FewArguments", "`judge(question, golds, answer)`; this one takes (answer)"),
        (
            "evolution.judge",
            "NoJudge",
            "a class with the method `judge(question, golds, answer)`; it has none",
        ),
        ("evolution.judge", "WantsArguments", "made without arguments; making it failed: TypeError"),
        ("evolution.judge", "compare", "expected a class; this is a function"),
        ("evolution.judge", "Nobody", "a name of the module `own_roles`; it has "),
        ("evolution.reflector", "FewDeltas", "missing clusters: 1, 2; not a finite number: 0"),
        ("slsm.controller", "TwiceTheSame", "its diff does not fit: F1 is named twice"),
        ("answer.reader", "FewTexts", "it returned 1 texts for 2 prompts"),
        ("task.compare", "compares_with_words", "it returned 'yes', neither True nor False"),
    ],
)
def test_the_kit_says_what_is_wrong(
    role: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = "1" if name == "Blocks" else "120"
    assert main(["check-class", role, f"own_roles:{name}", "--seconds", seconds]) == 2
    assert said in capsys.readouterr().out


def test_a_process_that_a_class_has_left_holds_nobody_up(tmp_path: Path) -> None:
    def trials(begin: Callable[[str], None]) -> list[Seen]:
        begin("judge")
        if (left := os.fork()) == 0:
            time.sleep(10)
            (tmp_path / "over").touch()
            os._exit(0)
        (tmp_path / "left").write_text(str(left))
        os._exit(3)

    assert [one.trial for one in apart(trials)] == ["judge"]
    assert not (tmp_path / "over").exists()
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_an_interrupt_is_no_error_of_the_class(capfd: pytest.CaptureFixture[str]) -> None:
    def trials(begin: Callable[[str], None]) -> list[Seen]:
        raise KeyboardInterrupt

    apart(trials)
    assert capfd.readouterr().err == ""


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
    assert try_class("slsm.judge", "no_such_folder:Judge", 60)[0].problem


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
