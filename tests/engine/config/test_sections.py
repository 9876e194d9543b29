"""What a section refuses of fields that do not go together, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.config import Config

FILE = {"kind": "file", "path": "answers.jsonl"}
SETS = (
    "`brief_prompts` and `length_caps` are chosen on the validation set and compared on the test set: set "
    "`validation_size` and `test_size`, or leave them out"
)
FROM_TASK = (
    "`questions: task` takes its questions from the section `task`: leave `financebench` and `pool` out"
)
NO_CONTROLLER = "`disable_controller: true` asks no controller, but `compare` names "
WAYS_OUT = ": take these modes out, or set `disable_controller: false`"
TOGETHER = "`kind: file` and `path` belong together: set both, or neither"


def said(section: str, fields: dict[str, Any]) -> list[str]:
    """What is wrong with a section of these fields."""
    try:
        Config.model_validate({section: fields})
    except ValidationError as error:
        return [one["msg"].removeprefix("Value error, ") for one in error.errors()]
    return []


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ("task", {"dataset": "files", "path": "x"}),
        ("task", {"path": "x"}),
        ("selector", {"supervised_steps": 3, "policy_steps": 3}),
        ("selector", {"supervised_steps": 0}),
        ("selector", {"policy_steps": 0}),
        ("pool", {"positive_quota": 4, "partial_quota": 8, "target_trajectory_count": 12}),
        ("gflownet", {"success_k": []}),
        ("gflownet", {"success_k": [1, 3], "num_eval_rollouts": 3}),
        ("slsm", {"disable_controller": True}),
        ("slsm", {"disable_controller": True, "compare": ["baseline", "reminder"]}),
        ("slsm", {"compare": ["always"]}),
        ("slsm", {"answers": {"kind": "openai"}, "temperature": 2.0}),
        ("slsm", {"temperature": 2.5}),
        ("slsm", {"answers": FILE, "compare": ["baseline"]}),
        ("slsm", {"answers": FILE, "disable_controller": True}),
        ("evolution", {"questions": "task", "judge": {"kind": "task"}}),
        ("evolution", {"financebench": "x.jsonl", "pool": [1, 2]}),
        ("evolution", {"validation_size": 3, "best_by": "validation"}),
        (
            "evolution",
            {"validation_size": 3, "test_size": 3, "brief_prompts": ["Briefly."], "length_caps": 3},
        ),
    ],
)
def test_fields_that_go_together(section: str, fields: dict[str, Any]) -> None:
    assert said(section, fields) == []


@pytest.mark.parametrize(
    ("stages", "task", "right"),
    [
        (["mine"], {"eval_split": "validation"}, False),
        (["eval"], {"train_split": "dev2"}, False),
        (["mine", "eval"], {"train_split": "dev", "eval_split": "train"}, True),
        (["mine"], {"train_split": "training"}, False),
        (["mine"], {"dataset": "gsm8k", "eval_split": "validation"}, True),
        (["pool"], {"eval_split": "validation"}, True),
    ],
)
def test_the_generated_task_has_three_splits(stages: list[str], task: dict[str, Any], right: bool) -> None:
    """Stages that read no task read no split."""
    given = {"run": {"stages": stages}, "task": task}
    if right:
        Config.model_validate(given)
        return
    with pytest.raises(
        ValidationError, match=r"`task\.eval_split` of the generated task: train, dev or test"
    ):
        Config.model_validate(given)


@pytest.mark.parametrize(
    ("section", "fields", "words"),
    [
        (
            "task",
            {"dataset": "files"},
            "dataset `files` needs `task.path`: a file, a folder or hub:owner/name",
        ),
        (
            "selector",
            {"supervised_steps": 0, "policy_steps": 0},
            "supervised_steps and policy_steps are both 0: nothing is trained",
        ),
        (
            "gflownet",
            {"success_k": [4, 1], "num_eval_rollouts": 3},
            "num_eval_rollouts >= every success_k: success@4 takes 4 trajectories a question",
        ),
        ("pool", {"vqa": {"openai": {"template": "The question?"}}}, "`template` needs {question}"),
        (
            "slsm",
            {"disable_controller": True, "compare": ["reminder", "always", "baseline", "never"]},
            f"{NO_CONTROLLER}always, never{WAYS_OUT}",
        ),
        (
            "slsm",
            {"answers": FILE},
            "`answers: {kind: file}` are answers without a note: set `compare: [baseline]`",
        ),
        (
            "slsm",
            {"answers": FILE, "compare": ["baseline"], "attempts": 2},
            "`answers: {kind: file}` has the attempts of its lists: set `attempts: 1`",
        ),
        ("slsm", {"answers": {"kind": "file"}}, TOGETHER),
        ("slsm", {"answers": {"path": "x"}}, TOGETHER),
        *(
            (
                "slsm",
                {"answers": {"kind": "openai", "openai": {name: 1}}},
                f"`openai.{name}` is not used for answers: set `{instead}`, which holds for all models",
            )
            for name, instead in (("max_tokens", "slsm.max_new_tokens"), ("temperature", "slsm.temperature"))
        ),
        (
            "slsm",
            {"judge": {"prompt": "multichallenge"}},
            "`prompt: multichallenge` is for a language model: set `kind: openai`",
        ),
        (
            "evolution",
            {"best_by": "validation", "validation_size": 0},
            "`best_by: validation` chooses on a validation set: set `validation_size`",
        ),
        ("evolution", {"questions": "task", "financebench": "x.jsonl"}, FROM_TASK),
        ("evolution", {"questions": "task", "pool": [1, 2]}, FROM_TASK),
        (
            "evolution",
            {"judge": {"kind": "task"}},
            "`judge.kind: task` judges a task's answers: set `questions: task`",
        ),
        ("evolution", {"brief_prompts": ["Briefly."], "validation_size": 3}, SETS),
        ("evolution", {"length_caps": 3, "test_size": 3}, SETS),
    ],
)
def test_fields_that_do_not_go_together(section: str, fields: dict[str, Any], words: str) -> None:
    assert said(section, fields) == [words]


@pytest.mark.parametrize(
    ("judge", "model", "tokens"),
    [
        ({"kind": "openai"}, None, None),
        ({"kind": "openai", "prompt": "default"}, None, None),
        ({"kind": "openai", "prompt": "multichallenge"}, "gpt-4o-2024-08-06", 4096),
    ],
)
def test_the_judge_of_the_authors_comes_with_their_prompt_alone(
    judge: dict[str, Any], model: str | None, tokens: int | None
) -> None:
    default = Config().slsm.judge.openai
    found = Config.model_validate({"slsm": {"judge": judge}}).slsm.judge
    wanted = (model or default.model, tokens or default.max_tokens)
    assert (found.openai.model, found.openai.max_tokens) == wanted and default.model != model
    assert found.failures_fail is (model is not None)


@pytest.mark.parametrize(
    ("fields", "modes"),
    [
        ({}, ["on_risk"]),
        ({"inject": "always"}, ["always"]),
        ({"disable_controller": True}, ["baseline"]),
        ({"compare": ["never", "always", "never"]}, ["never", "always"]),
    ],
)
def test_the_modes_of_a_run(fields: dict[str, Any], modes: list[str]) -> None:
    assert Config.model_validate({"slsm": fields}).slsm.modes == modes


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({}, 64),
        ({"data": {"path": "x"}}, 1024),
        ({"max_new_tokens": 7}, 7),
        ({"max_new_tokens": 7, "data": {"path": "x"}}, 7),
    ],
)
def test_the_longest_answer(fields: dict[str, Any], tokens: int) -> None:
    assert Config.model_validate({"slsm": fields}).slsm.answer_tokens == tokens


def test_kinds_of_items_that_need_their_quote() -> None:
    def kinds(**fields: Any) -> frozenset[str]:
        return Config.model_validate({"slsm": fields}).slsm.gated_kinds

    assert kinds() == {"facts"} and kinds(gate_kinds=["edits", "facts"]) == {"edits", "facts"}
    assert kinds(gate_facts_by_evidence=False) == frozenset()
