"""ESM takes the same decisions on vLLM as on transformers: same memory, same questions, every control point."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import pytest

from engine.config.file import load_config
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.esm.vectors import load_vector
from engine.events import DecisionTaken, ExampleEvaluated
from engine.files import read_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import LanguageModel
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.vllm.conftest import running
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage

pytest.importorskip("vllm", reason="vLLM is not installed here: `make test-vllm` has it")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SIZES = [
    "task.train_size=24",
    "task.eval_size=16",
    "offline_mine.K=6",
    "offline_select.B=64",
    "eval.ablations=[no_probing]",
]
Evaluated = tuple[list[Any], list[Any]]


@pytest.fixture(scope="module")
def models() -> Iterator[tuple[LanguageModel, LanguageModel]]:
    with running(EMBEDDED, max_num_seqs=256) as model:
        yield TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32"), model


@pytest.fixture(scope="module")
def mined(
    models: tuple[LanguageModel, LanguageModel], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """A run folder of each backend, mined."""
    folders = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("theirs")
    for folder, model in zip(folders, models, strict=True):
        run_stage(Mine(), load_config(DEMO, SIZES), folder, model)
    return folders


def test_the_same_rollouts_are_mined(mined: tuple[Path, Path]) -> None:
    """Sampled at temperature 1: the draws are the same on both."""
    ours, theirs = (read_jsonl(folder / "esm/mine/rollouts.jsonl") for folder in mined)
    assert ours == theirs and len(ours) == 24
    pairs = [read_jsonl(folder / "esm/mine/pairs.jsonl") for folder in mined]
    assert len(pairs[0]) > 30
    assert_close(pairs[0], pairs[1])
    keys = [sorted((folder / "esm/mine/keys").glob("*.pt")) for folder in mined]
    assert [key.name for key in keys[0]] == [key.name for key in keys[1]]
    for mine, other in zip(*keys, strict=True):
        assert abs(load_vector(mine) - load_vector(other)).max() < 1e-3


@pytest.fixture(scope="module", params=["unsteered_prefix", "carried_steering"])
def evaluated(
    request: pytest.FixtureRequest,
    models: tuple[LanguageModel, LanguageModel],
    mined: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Evaluated:
    """Events of the evaluation on each backend with one memory (picks of equal worth may fall either way)."""
    carry = request.param == "carried_steering"
    config = load_config(DEMO, [*SIZES, f"online.carry_steering={str(carry).lower()}"])
    found: list[list[Any]] = []
    for model in models:
        folder = tmp_path_factory.mktemp("run")
        copytree(mined[0], folder, dirs_exist_ok=True)
        run_stage(Select(), config, folder, models[0])
        run_stage(BuildMemory(), config, folder, models[0])
        found.append(run_stage(Evaluate(), config, folder, model))
    return found[0], found[1]


def test_every_decision_is_equal(evaluated: Evaluated) -> None:
    ours, theirs = (in_order(events, DecisionTaken) for events in evaluated)
    assert len(ours) == len(theirs) > 50
    assert sum(decision.chosen is not None for decision in ours) > 5, "some control points are steered"
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(msgspec.to_builtins(mine), msgspec.to_builtins(other))


def test_answers_are_equal(evaluated: Evaluated) -> None:
    ours, theirs = (in_order(events, ExampleEvaluated) for events in evaluated)
    assert len(ours) == len(theirs) >= 48
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(msgspec.to_builtins(mine), msgspec.to_builtins(other))


def in_order(events: list[Any], kind: type[Any]) -> list[Any]:
    """By method, example and segment: each backend reports them as they end."""
    found = [event for event in events if isinstance(event, kind)]
    return sorted(found, key=lambda event: (event.method, event.example, getattr(event, "m", 0)))


def assert_close(ours: Any, theirs: Any, where: str = "") -> None:
    """Equal, numbers up to 1e-3; times are no result."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            if key not in ("seconds", "time", "seq"):
                assert_close(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), where
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_close(mine, other, f"{where}[{index}]")
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, abs=1e-3), where
    else:
        assert ours == theirs, where
