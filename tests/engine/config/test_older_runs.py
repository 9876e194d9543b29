"""The configuration of a run that was made before a field was there: it says what that run did."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.section import RECORDED, Section
from tests.bench.count_settings import sections

LATER = {
    ("clusters", "numbers"): "written",
    ("evolution", "best_by"): "validation",
    ("gflownet", "embedder"): {"use_retriever_projector": False, "freeze_projector": True},
    ("gflownet", "early_stopping"): {"monitor": "rollout_reward", "restore_best": False, "patience": None},
    ("slsm", "detector"): "both",
    ("slsm", "gate_kinds"): ["facts", "constraints", "assumptions", "unknowns", "edits"],
    ("pool", "fill_with_refused"): True,
}


def resolved() -> dict[str, Any]:
    """Every field written out; sets for validation, as every older run had them."""
    return Config.model_validate({"evolution": {"validation_size": 150, "test_size": 150}}).model_dump(
        mode="json"
    )


@pytest.mark.parametrize("record", ["run.json", "sweep.json"])
def test_an_older_run_is_read_as_it_was(record: str, tmp_path: Path) -> None:
    (tmp_path / record).touch()
    assert later_fields(tmp_path) == LATER


def test_what_a_record_has_counts_more_than_what_older_runs_did(tmp_path: Path) -> None:
    (tmp_path / "run.json").touch()
    (tmp_path / "config.yaml").write_text("pool: {fill_with_refused: false}\nslsm: {detector: checks}\n")
    read = load_config(tmp_path / "config.yaml")
    assert (read.pool.fill_with_refused, read.slsm.detector) == (False, "checks")


def test_a_users_file_with_all_fields_but_these_gets_the_documents_values(tmp_path: Path) -> None:
    """Also beside a record."""
    new = resolved()
    documents = {(section, field): new[section][field] for section, field in LATER}
    assert later_fields(tmp_path) == documents
    (tmp_path / "run.json").touch()
    assert later_fields(tmp_path, "mine.yaml") == documents


def later_fields(folder: Path, name: str = "config.yaml") -> dict[tuple[str, str], Any]:
    """The later fields as they are read from a file in `folder` that names every other one."""
    old = resolved()
    for section, field in LATER:
        del old[section][field]
    del old["gflownet"]["auto_add_path_hit_f1"]
    (folder / name).write_text(yaml.safe_dump(old))
    read = load_config(folder / name).model_dump(mode="json")
    return {(section, field): read[section][field] for section, field in LATER}


def test_a_run_of_today_and_a_file_of_a_user_get_what_they_say() -> None:
    """A file names few fields: what it leaves out is the document's."""
    today = resolved()
    assert Config.model_validate(today).model_dump(mode="json") == today
    few = Config.model_validate({"slsm": {"inject": "always"}, "pool": {"batch_size": 4}})
    assert (few.slsm.detector, few.slsm.gate_kinds, few.pool.fill_with_refused) == (
        "controller",
        ["facts"],
        False,
    )
    assert (few.evolution.best_by, few.clusters.numbers) == ("minibatch", "arithmetic")


@pytest.mark.parametrize("section", [s for s in Config.model_fields if s != "model"])
def test_what_is_older_names_fields(section: str) -> None:
    kind = Config.model_fields[section].annotation
    assert isinstance(kind, type) and issubclass(kind, Section)
    assert kind.OLDER.keys() <= kind.model_fields.keys()


FIXED = {
    ("retriever", "distance_rounds"): 2, ("selector", "policy_learning_rate"): 0.001, ("selector", "grad_clip"): 1.0,
    ("eval", "bootstrap_resamples"): 10_000, ("model", "vllm", "block_size"): None,
    ("clusters", "frequency_corpus"): None, ("clusters", "tokens_listed"): 12, ("slsm", "data", "turns"): 3,
    ("evolution", "judge", "text_threshold"): None,
    ("clusters", "pca_dim"): 50, ("evolution", "max_calls"): None,
    ("evolution", "target"): None, ("evolution", "max_tokens"): None,
    ("evolution", "branch_of"): None, ("evolution", "branch_iteration"): 0, ("evolution", "reflector", "limit"): 8.0,
    ("evolution", "reflector", "answer_characters"): 4000, ("evolution", "judge", "attempts"): 3,
    ("evolution", "judge", "labels"): None,
    ("evolution", "server", "health_interval"): 2.0, ("evolution", "server", "grace"): 15.0,
    ("slsm", "judge", "attempts"): 3, ("scale", "dashboard"): False,
    ("scale", "engine"): "local", ("eval", "cases"): 10, ("eval", "side_effects"): 0,
    ("eval", "contrast", "arms"): ["contrast_mean", "contrast_pca"], ("graphs", "batch_size"): 256,
    ("graphs", "hold_out"): "questions",
    ("retriever", "recall_k"): [10, 50, 100], ("gflownet", "learning_rate_end"): 2e-4,
    ("gflownet", "log_z_learning_rate"): 1e-2, ("gflownet", "grad_clip"): 1.0, ("gflownet", "log_every"): 10,
    ("selector", "inner"): 256, ("selector", "weight_decay"): 1e-2, ("selector", "random_pairs"): 4,
    ("selector", "oracle_pairs"): 500, ("pool", "files", "query_id"): "question_id",
    ("selector", "log_every"): 10, ("serve", "max_body"): 1_048_576, ("serve", "client_timeout"): 30.0,
    ("model", "vllm", "pipeline_parallel_size"): 1, ("model", "vllm", "max_num_batched_tokens"): None,
    ("model", "vllm", "enable_prefix_caching"): True, ("model", "vllm", "enforce_eager"): False,
    ("model", "vllm", "tensor_parallel_size"): 1, ("model", "vllm", "cpu_kvcache_gib"): 4,
    ("serve", "key_file"): None, ("serve", "max_waiting"): 64,
    ("eval", "field", "reflection"): [
        "verify", "make sure", "hold on", "think again", "'s correct", "'s incorrect", "Let me check", "seems right",
    ],
    ("eval", "field", "transition"): [
        "think differently", "another way", "another approach", "another method", "another solution",
        "another strategy", "another technique",
    ],
    ("evolution", "failures"): 3, ("evolution", "server", "startup_timeout"): 600.0,
    ("evolution", "server", "request_timeout"): 300.0, ("retriever", "learning_rate"): 1e-3,
    ("agent_graphs", "force_include_gt"): True, ("gflownet", "policy", "dropout"): 0.0,
    ("pool", "enough_positives"): 0, ("pool", "files", "heldout_share"): 0.2, ("pool", "vqa", "openai", "workers"): 8,
    ("selector", "hidden"): 64, ("selector", "batch_size"): 32, ("selector", "learning_rate"): 2e-3,
    ("selector", "eval_every"): 40, ("selector", "checkpoint_every"): 50,
}  # fmt: skip
"""What was a setting once, with the value that it always has now."""


@pytest.mark.parametrize("place", FIXED)
def test_what_was_a_setting_is_read_with_its_value_and_refused_with_another(place: tuple[str, ...]) -> None:
    *above, name = place

    def old(value: Any) -> dict[str, Any]:
        found = resolved()
        section = found
        for key in above:
            section = section[key]
        assert name not in section
        section[name] = value
        return found

    assert Config.model_validate(old(FIXED[place])).model_dump(mode="json") == resolved()
    message = re.escape(f"{name} is {FIXED[place]} and can no longer be set: leave it out")
    with pytest.raises(ValueError, match=message):
        Config.model_validate(old(7))


def test_an_older_run_may_lack_a_later_field_and_name_a_fixed_one() -> None:
    class Later(Section):
        OLDER = {"order": "as it came"}
        FIXED = ("width",)
        width: ClassVar[int] = 3
        order: str = "by size"
        count: int = 1

    assert Later.model_validate({"count": 2, "width": 3}, context=RECORDED).order == "as it came"
    assert Later.model_validate({"count": 2, "width": 3}).order == "by size"


def test_every_fixed_name_is_tested_here() -> None:
    kinds = {kind for kind in sections() if kind.fixed()}
    assert sorted(name for kind in kinds for name in kind.fixed()) == sorted(place[-1] for place in FIXED)
