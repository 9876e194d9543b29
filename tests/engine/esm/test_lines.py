"""ESM's files are checked by content: each fault is one error that names file, line and field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.esm import EvalSection
from engine.config.file import load_config
from engine.errors import DataError
from engine.esm import layout
from engine.esm.evaluation import eval_stage
from engine.esm.evaluation.answer_lines import checked_answers
from engine.esm.evaluation.compare import compared
from engine.esm.library.memory import EpisodicMemory
from engine.esm.library.select_stage import Select
from engine.esm.lines import read_entries, read_mined, read_pairs
from engine.esm.mining import mine_stage
from engine.esm.vectors import load_vector, vector_bytes
from engine.events import Notice
from engine.files import write_jsonl
from engine.lm.protocol import ModelInfo
from engine.run.stage import StageResult
from engine.tasks.example import TaskExample
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import answer_line

INFO = ModelInfo("m", "transformers", "cpu", "float32", 4, 8, 16, 1, "print")
WRONG: dict[str, Any] = {
    "lib_id": "lib_00000", "tool_name": "a_wrong", "kind": "wrong", "pair_id": "a", "example_id": "e",
    "control_point_m": 1, "layer": 2, "quality": 1.5, "source": "rollout", "key_path": "keys/a.pt",
    "vector_path": "vectors/a.pt", "model": "print",
}  # fmt: skip
RIGHT = WRONG | {"tool_name": "a_right", "kind": "right", "vector_path": None}
ANSWERED: dict[str, Any] = {
    "index": 0, "example_id": "e", "question": "q", "text": "t", "pred": "1", "gold": "1", "correct": True,
    "correct_strict": True, "tokens_used": 3, "probe_tokens_used": 0, "budget_used": 3, "steered": 0, "steps": [],
}  # fmt: skip


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in WRONG.items() if key != name}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (WRONG | {"layer": 4}, ("`layer` is 4", "layers 0 to 3")),
        (WRONG | {"layer": -1}, ("`layer`", ">= 0")),
        (WRONG | {"layer": "2"}, ("`layer`", "expected int, got str")),
        (WRONG | {"quality": "high"}, ("`quality`", "expected float, got str")),
        (WRONG | {"quality": float("nan")}, ("`quality`", "float > -1")),
        (WRONG | {"quality": float("inf")}, ("`quality`", "float <= 1.7")),
        (WRONG | {"quality": -1.0}, ("`quality`", "float > -1")),
        (WRONG | {"control_point_m": 0}, ("`control_point_m`",)),
        (WRONG | {"control_point_m": 10**30}, ("`control_point_m`",)),
        (WRONG | {"layer": 10**30}, ("`layer`",)),
        (WRONG | {"kind": "other"}, ("`kind`", "other")),
        (WRONG | {"tool_name": ""}, ("`tool_name`", "length >= 1")),
        (WRONG | {"vector_path": None}, ("`vector_path` is None",)),
        (RIGHT | {"vector_path": "vectors/a.pt"}, ("`vector_path` is 'vectors/a.pt'",)),
        (without("quality"), ("no field `quality`",)),
        (without("model"), ("no field `model`",)),
        (RIGHT, ("`tool_name`", "line 1")),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, row: dict[str, Any], words: tuple[str, ...]) -> None:
    path = tmp_path / "library.jsonl"
    path.write_text(json.dumps(RIGHT) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(DataError) as caught:
        read_entries(path, "select", 4)
    assert caught.value.where == f"{path}:2" and "`select`" in caught.value.hint
    assert all(word in caught.value.what for word in words), caught.value.what


def test_a_last_line_that_is_cut_off_is_told(tmp_path: Path) -> None:
    """Also where it is JSON still: these files are written whole."""
    path = tmp_path / "library.jsonl"
    path.write_text(json.dumps(RIGHT) + "\n" + json.dumps(WRONG))
    with pytest.raises(
        DataError,
        match=exactly(
            "the last line is cut off (…/library.jsonl:2): run the stage `select` again, which writes this file"
        ),
    ) as caught:
        read_entries(path, "select")
    assert caught.value.where == f"{path}:2"
    path.write_text(json.dumps(RIGHT) + "\n" + json.dumps(WRONG) + "\n")
    assert read_entries(path, "select") == [RIGHT, WRONG]


@pytest.mark.parametrize(
    ("read", "row", "words"),
    [
        (read_pairs, {"pair_id": "a"}, "no field `example_id`"),
        (read_pairs, WRONG | {"quality": float("nan")}, "`quality`: expected float > -1.0"),
        (read_pairs, WRONG | {"pair_id": ""}, "`pair_id`: expected str of length >= 1"),
        (
            read_mined,
            {"example_id": "e", "rollouts": [{"correct": "yes", "segments": 1}]},
            "`rollouts[0].correct`: expected bool, got str",
        ),
        (checked_answers, ANSWERED | {"correct": "yes"}, "`correct`: expected bool, got str"),
        (checked_answers, ANSWERED | {"steps": [{}]}, "no field `phase`"),
    ],
)
def test_what_a_killed_stage_left_is_checked(
    tmp_path: Path, read: Callable[..., object], row: dict[str, Any], words: str
) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            f"{words} (…/kept.jsonl:1): restore the file, or remove it so that its stage writes it again"
        ),
    ) as caught:
        read([row], tmp_path / "kept.jsonl")
    assert caught.value.where == f"{tmp_path / 'kept.jsonl'}:1"


def test_answers_belong_to_the_examples_at_their_places(tmp_path: Path) -> None:
    examples = [TaskExample("e", "q", "1"), TaskExample("f", "q", "1")]
    assert len(checked_answers([ANSWERED], tmp_path / "a", examples)) == 1
    with pytest.raises(
        DataError,
        match=exactly(
            "`example_id` is 'e', the example at this place is 'f' (…/a:1): restore the file, or remove it so "
            "that its stage writes it again"
        ),
    ):
        checked_answers([ANSWERED], tmp_path / "a", examples[1:])


# ---------------------------------------------------------------- the memory


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A memory of two entries."""
    (tmp_path / "library/vectors").mkdir(parents=True)
    (tmp_path / "library/vectors/a.pt").write_bytes(vector_bytes(np.ones(8, np.float32)))
    folder = tmp_path / "memory"
    folder.mkdir()
    write_jsonl(folder / "entries.jsonl", [WRONG, RIGHT])
    np.save(folder / "keys.npy", np.eye(2, 8, dtype=np.float32))
    digest = hashlib.sha256((folder / "keys.npy").read_bytes()).hexdigest()
    built = {"model": "print", "hidden_size": 8, "num_layers": 4, "keys_sha256": digest}
    (folder / "memory.json").write_text(json.dumps(built))
    return folder


def load(memory: Path) -> EpisodicMemory:
    return EpisodicMemory.load(memory, memory.parent / "library", INFO)


def test_a_whole_memory_is_loaded(memory: Path) -> None:
    loaded = load(memory)
    assert [entry.kind for entry in loaded.entries] == ["wrong", "right"]
    wrong = loaded.entries[0]
    assert (wrong.tool_name, wrong.layer, wrong.control_point_m, wrong.quality) == ("a_wrong", 2, 1, 1.5)
    assert (wrong.source, wrong.name) == ("e", "a_wrong"), "without texts the name is the id's"
    assert wrong.vector is not None and wrong.vector.tolist() == [1.0] * 8


def entries(memory: Path, **changes: Any) -> None:
    write_jsonl(memory / "entries.jsonl", [WRONG | changes, RIGHT])


def vector(memory: Path) -> None:
    (memory.parent / "library/vectors/a.pt").write_bytes(vector_bytes(np.full(8, np.nan, np.float32)))


@pytest.mark.parametrize(
    ("spoil", "file", "words"),
    [
        (
            lambda folder: (folder / "memory.json").write_text('{"model": "pr'),
            "memory.json",
            "it does not say which model the memory is for: …",
        ),
        (
            lambda folder: (folder / "memory.json").write_text("[]"),
            "memory.json",
            "it does not say which model the memory is for: …",
        ),
        (
            lambda folder: (folder / "memory.json").write_bytes(b"\xff"),
            "memory.json",
            "it does not say which model the memory is for: …",
        ),
        (
            lambda folder: (folder / "memory.json").write_text('{"model": 1}'),
            "memory.json",
            "it does not say which model the memory is for: …",
        ),
        (
            lambda folder: np.save(folder / "keys.npy", np.full((2, 8), "1")),
            "keys.npy",
            "keys are <U1, not floats",
        ),
        (
            lambda folder: np.save(folder / "keys.npy", np.full((2, 8), np.nan)),
            "keys.npy",
            "keys hold NaN or infinity",
        ),
        (
            lambda folder: np.save(folder / "keys.npy", np.where(np.eye(2, 8), np.inf, 1)),
            "keys.npy",
            "keys hold NaN or infinity",
        ),
        (
            lambda folder: np.save(folder / "keys.npy", np.eye(2, 8, 1, np.float32)),
            "keys.npy",
            "the keys are not as the stage `memory` wrote them: some bytes have changed",
        ),
        (vector, "a.pt", "a vector holds NaN or infinity"),
        (
            lambda folder: entries(folder, layer=9),
            "entries.jsonl:1",
            "`layer` is 9: the model has layers 0 to 3",
        ),
    ],
)
def test_a_broken_memory_is_one_clear_error(
    memory: Path, spoil: Callable[[Path], object], file: str, words: str
) -> None:
    spoil(memory)
    with pytest.raises(DataError, match=exactly(f"{words} (…/{file}): …")) as caught:
        load(memory)
    assert caught.value.where.endswith(file) and caught.value.hint


# ---------------------------------------------------------------- vectors, and stages without entries


MADE_AGAIN = "run the stages `mine`, `select` and `memory` again for this model"


@pytest.mark.parametrize(
    ("tensor", "what"),
    [
        (None, "a vector file cannot be read: No such file or directory"),
        ({"a": torch.ones(8)}, "expected a tensor, found dict"),
        (torch.ones(8, 2), "a tensor has shape (8, 2), not that of one vector"),
        (torch.ones(9), "a vector has shape (9,), expected (8,)"),
        (torch.full((8,), torch.inf), "a vector holds NaN or infinity"),
    ],
)
def test_a_vector_that_does_not_fit(tmp_path: Path, tensor: Any, what: str) -> None:
    path = tmp_path / "a.pt"
    if tensor is not None:
        torch.save(tensor, path)
    with pytest.raises(DataError, match=exactly(f"{what} (…/a.pt): {MADE_AGAIN}")):
        load_vector(path, 8)


def test_without_a_size_a_vector_has_one_dimension(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(torch.arange(3, dtype=torch.float64), path)
    found = load_vector(path)
    assert found.dtype == np.float32 and found.tolist() == [0.0, 1.0, 2.0]
    torch.save(torch.ones(2, 2), path)
    words = f"a tensor has shape (2, 2), not that of one vector (…/a.pt): {MADE_AGAIN}"
    with pytest.raises(DataError, match=exactly(words)):
        load_vector(path)


@pytest.mark.parametrize("verify", [True, False])
def test_without_candidates_the_library_is_empty_only_where_they_were_verified(
    tmp_path: Path, verify: bool
) -> None:
    write_jsonl(tmp_path / "esm/mine/candidates.jsonl", [])
    config = Config.model_validate({"offline_mine": {"verify": verify}})
    results: list[StageResult] = []
    if not verify:
        words = "there are no candidates (…/esm/mine): run the stage `mine` again"
        with pytest.raises(DataError, match=exactly(words)):
            run_stage(Select(), config, tmp_path)
        return
    events = run_stage(Select(), config, tmp_path, results=results)
    assert [(event.level, event.text) for event in events if isinstance(event, Notice)] == [
        ("warning", "verification left no candidate: the library is empty")
    ]
    assert results == [StageResult({"candidates": 0, "picked": 0}, ["esm/library/library.jsonl"])]
    assert (tmp_path / "esm/library/library.jsonl").read_bytes() == b""


def test_answers_are_compared_where_they_are_to_the_same_examples() -> None:
    lines = [answer_line(example_id=key) for key in "ab"]
    with pytest.raises(ValueError, match=exactly("a comparison needs the same examples in the same order")):
        compared(lines, lines[::-1], Config())


def test_an_interval_is_drawn_by_the_run_s_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EvalSection, "bootstrap_resamples", 50)
    plain = [answer_line(example_id=str(i), correct=i < 20) for i in range(40)]
    lines = [answer_line(example_id=str(i), correct=i % 3 > 0) for i in range(40)]

    def interval(seed: int) -> tuple[float, float]:
        comparison = compared(lines, plain, Config.model_validate({"run": {"seed": seed}}))
        return comparison.low, comparison.high

    assert interval(1) == interval(1)
    assert len({interval(seed) for seed in range(1, 6)}) > 1


def test_the_interval_has_as_many_resamples_as_are_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a single resample, both ends are the same figure."""
    monkeypatch.setattr(EvalSection, "bootstrap_resamples", 1)
    plain = [answer_line(example_id=str(i), correct=i < 20) for i in range(40)]
    lines = [answer_line(example_id=str(i), correct=i % 3 > 0) for i in range(40)]
    comparison = compared(lines, plain, Config())
    assert comparison.low == comparison.high


def test_pairs_of_a_batch_that_was_never_finished_are_mined_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in its first batch, between pairs.jsonl and rollouts.jsonl, which tells what is finished."""
    monkeypatch.setattr(mine_stage, "training_examples", lambda config: [TaskExample("e", "?", "1")])
    monkeypatch.setattr(mine_stage, "evaluation_examples", lambda config: [])
    mined = layout.mine(tmp_path)
    write_jsonl(mined / "pairs.jsonl", [WRONG | {"pair_id": "a"}])
    context: Any = SimpleNamespace(config=load_config(DEMO, []), run_dir=tmp_path)
    job = mine_stage._Job(context)
    assert (job.recover(), job.pairs) == (0, [])
    assert (mined / "pairs.jsonl").read_bytes() == b""


@pytest.mark.parametrize("job", [mine_stage._Job, eval_stage._Job])
def test_no_stage_works_on_examples_that_are_both_mined_and_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Callable[[Any], object]
) -> None:
    shared = [TaskExample(name, f"{name}?", "1") for name in "ab"]
    for stage in (mine_stage, eval_stage):
        monkeypatch.setattr(stage, "training_examples", lambda config: shared)
        monkeypatch.setattr(stage, "evaluation_examples", lambda config: shared[1:])
    context: Any = SimpleNamespace(config=load_config(DEMO, []), run_dir=tmp_path, model_info=None)
    with pytest.raises(DataError, match=r"^1 examples are both learnt from and evaluated: b "):
        job(context)
