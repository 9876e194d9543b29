"""What users get wrong: each gives one error that says what, where and how to mend, and costs nothing finished."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config.config import Config
from engine.config.file import load_config
from engine.errors import DataError, ModelError, SteerError
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.files import read_jsonl, write_jsonl
from engine.lm.loading.load import EMBEDDED, load_model
from engine.lm.transformers.model import TransformersModel
from engine.tasks.generated.arithmetic import generate
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.tiny_models import save_tiny

SMALL = ("task.train_size=16", "task.eval_size=8", "offline_mine.K=4", "online.record_null=false")


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=64)


def configured(*overrides: str) -> Config:
    return load_config(DEMO, [*SMALL, *overrides])


@pytest.fixture(scope="module")
def mined(model: TransformersModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with everything but `eval`."""
    folder = tmp_path_factory.mktemp("mined")
    for stage in (Mine(), Select(), BuildMemory()):
        run_stage(stage, configured(), folder, model)
    return folder


@pytest.fixture
def run(mined: Path, tmp_path: Path) -> Path:
    """A copy of it to be broken."""
    return Path(shutil.copytree(mined, tmp_path / "run"))


def assert_one_error(error: SteerError, *words: str) -> None:
    """What, where and how to mend, with these words among them."""
    assert error.what and error.where and error.hint
    for word in words:
        assert word in str(error), str(error)


# ---------------------------------------------------------------- models


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EMBEDDED, tmp_path / "model"))


def _cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100_000])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "model.safetensors").unlink(),
        _cut,
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: shutil.rmtree(folder),
    ],
    ids=["no weights", "truncated weights", "config is no JSON", "no folder"],
)
def test_model_that_cannot_be_loaded(weights: Path, spoil: Callable[[Path], object]) -> None:
    spoil(weights)
    config = configured("model.backend=transformers", f"model.path={weights}")
    with pytest.raises(ModelError) as caught:
        load_model(config.model)
    assert_one_error(caught.value, str(weights))


# ---------------------------------------------------------------- data


def test_ids_of_examples_name_no_files(model: TransformersModel, tmp_path: Path) -> None:
    """Paths, a NUL, half a letter, letters of another case, and a long one: the run writes into its own folder, and
    deletes nothing outside when it leaves out what is not kept."""
    ids = [f"{tmp_path}/outside/x", "../../x", "a\0b", "\ud800", "Q", "q", "..", "l" * 5000, "a/b", ""]
    outside = tmp_path / "outside"
    outside.mkdir()
    data, run = tmp_path / "data", tmp_path / "deep/er/run"
    data.mkdir()
    problems = generate("train", 24, 0)
    lines = [
        {
            "id": ids[place] if place < len(ids) else str(place),
            "question": one.question,
            "answer": one.solution,
        }
        for place, one in enumerate(problems)
    ]
    (data / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (data / "test.jsonl").write_text(json.dumps({"question": "Other?", "answer": "#### 1"}) + "\n")
    before = set(tmp_path.rglob("*"))
    config = configured(
        "task.dataset=gsm8k", f"task.path={data}", "task.train_size=24", "offline_mine.verify=false",
        "offline_mine.keep_top_C=12", "offline_select.B=6",
    )  # fmt: skip
    for stage in (Mine(), Select(), BuildMemory()):
        run_stage(stage, config, run, model)
    new = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(tmp_path / "deep") for path in new)
    candidates = read_jsonl(run / "esm/mine/candidates.jsonl")
    mined = {line["example_id"] for line in read_jsonl(run / "esm/mine/rollouts.jsonl")}
    assert {*ids[:3], "?", *ids[4:9]} < mined, "the ids themselves stand in the files"
    kept = {
        run / "esm/mine" / row[kind]
        for row in candidates
        for kind in ("key_path", "vector_path")
        if row[kind]
    }
    assert kept == set((run / "esm/mine").rglob("*.pt")), "of the others no file is left"
    assert len(kept) == sum(1 + (row["kind"] == "wrong") for row in candidates) > 0


@pytest.mark.parametrize("name", ["/etc/hostname", "../../elsewhere.pt", "keys/../../x.pt", "", "a\0b"])
def test_files_are_only_read_and_written_inside_their_folders(
    run: Path, model: TransformersModel, name: str
) -> None:
    """A list of candidates, or of entries, that names files elsewhere."""
    path = run / "esm/mine/candidates.jsonl"
    rows = read_jsonl(path)
    write_jsonl(path, [rows[0] | {"key_path": name}, *rows[1:]])
    with pytest.raises(
        DataError,
        match=exactly(
            f"a file is named {name!r}, which is not in the folder it has to be in (…/run/esm/mine): restore "
            "the file, or "
            "remove it so that its stage writes it again"
        ),
    ) as caught:
        run_stage(Select(), configured(), run, model)
    assert_one_error(caught.value, "esm/mine")
    path = run / "esm/library/library.jsonl"
    rows = read_jsonl(path)
    write_jsonl(path, [rows[0] | {"key_path": name}, *rows[1:]])
    with pytest.raises(
        DataError,
        match=exactly(
            f"a file is named {name!r}, which is not in the folder it has to be in (…/run/esm/library): restore "
            "the file, or "
            "remove it so that its stage writes it again"
        ),
    ):
        run_stage(BuildMemory(), configured(), run, model)


# ---------------------------------------------------------------- library and memory


def test_a_library_of_another_model_is_named(run: Path, model: TransformersModel) -> None:
    path = run / "esm/library/library.jsonl"
    write_jsonl(path, [{**row, "model": "another"} for row in read_jsonl(path)])
    words = (
        f"the library was mined with another model (another, here {model.info.fingerprint}) (…/esm/library): "
        "mine again "
        "with this model"
    )
    with pytest.raises(DataError, match=exactly(words)):
        run_stage(BuildMemory(), configured(), run, model)


def _vector(run: Path) -> Path:
    rows = [json.loads(line) for line in (run / "esm/memory/entries.jsonl").read_text().splitlines()]
    return run / "esm/library" / next(row["vector_path"] for row in rows if row["vector_path"])


def _other_entries(run: Path) -> None:
    path = run / "esm/memory/entries.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda run: _vector(run).unlink(), ("vector", "No such file")),
        (lambda run: torch.save(torch.zeros(7), _vector(run)), ("vector", "shape")),
        (lambda run: torch.save(torch.full((128,), float("nan")), _vector(run)), ("NaN",)),
        (lambda run: _vector(run).write_bytes(b"\x80\x04cos\nsystem\n"), ("vector", "cannot be read")),
        (lambda run: np.save(run / "esm/memory/keys.npy", np.zeros((3, 5), np.float32)), ("keys", "(3, 5)")),
        (lambda run: (run / "esm/memory/keys.npy").write_bytes(b"no array"), ("keys", "cannot be read")),
        (lambda run: (run / "esm/memory/keys.npy").unlink(), ("keys.npy", "memory")),
        (lambda run: (run / "esm/memory/entries.jsonl").write_text("{broken\n"), ("entries.jsonl",)),
        (_other_entries, ("keys",)),
    ],
    ids=[
        "vector gone", "vector of another shape", "vector of NaN", "vector is a pickle", "keys of another shape",
        "keys garbage", "no keys", "entries no JSON", "entries and keys apart",
    ],
)  # fmt: skip
def test_broken_memory_is_told_and_greedy_is_kept(
    run: Path, model: TransformersModel, spoil: Callable[[Path], object], words: tuple[str, ...]
) -> None:
    """With the file's name; what another evaluation finished stays."""
    run_stage(Evaluate(), configured("eval.methods=[greedy]", "eval.ablations=[]"), run, model)
    kept = (run / "esm/eval/greedy/per_example.jsonl").read_bytes()
    spoil(run)
    with pytest.raises(DataError) as caught:
        run_stage(Evaluate(), configured(), run, model)
    assert_one_error(caught.value, str(run), *words)
    assert (run / "esm/eval/greedy/per_example.jsonl").read_bytes() == kept


def _other_weights(folder: Path) -> Path:
    shutil.copytree(EMBEDDED, folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.0.mlp.down_proj.weight"] *= 1.01
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("make", [save_tiny, _other_weights], ids=["other shape", "other weights"])
def test_memory_of_another_model_is_refused(run: Path, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    """Whether its vectors would fit or not."""
    other = TransformersModel.load(
        str(make(tmp_path / "other")), device="cpu", dtype="float32", max_num_seqs=8
    )
    with pytest.raises(DataError) as caught:
        run_stage(Evaluate(), configured(), run, other)
    assert_one_error(caught.value, "another model", "memory.json")


@pytest.mark.parametrize(
    ("stage", "missing"), [(Select(), "mine"), (BuildMemory(), "select"), (Evaluate(), "memory")]
)
def test_stage_without_the_one_before_it_names_it(
    stage: Select, missing: str, model: TransformersModel, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        run_stage(stage, configured(), tmp_path, model)
    assert_one_error(caught.value, f"`{missing}`")


# ---------------------------------------------------------------- data


def _gsm8k(path: Path, lines: list[str]) -> str:
    path.mkdir()
    (path / "train.jsonl").write_text("\n".join(lines) + "\n" if lines else "")
    (path / "test.jsonl").write_text(json.dumps({"question": "Q", "answer": "1\n#### 1"}) + "\n")
    return f"task.path={path}"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"question": "a", "answer": "b\\n#### 1"}', "{not json"], ("train.jsonl", "2", "JSON")),
        (['{"question": "a"}'], ("train.jsonl", "1", "answer")),
        ([], ("`train`", "empty")),
    ],
    ids=["line no JSON", "field missing", "empty"],
)
def test_data_set_that_cannot_be_read(
    model: TransformersModel, tmp_path: Path, lines: list[str], words: tuple[str, ...]
) -> None:
    config = configured("task.dataset=gsm8k", _gsm8k(tmp_path / "data", lines))
    with pytest.raises(DataError) as caught:
        run_stage(Mine(), config, tmp_path / "run", model)
    assert_one_error(caught.value, *words)


def test_mined_and_evaluated_examples_never_overlap(run: Path, model: TransformersModel) -> None:
    with pytest.raises(DataError) as caught:
        run_stage(Evaluate(), configured("task.eval_split=train"), run, model)
    assert_one_error(caught.value, "overlap" if "overlap" in str(caught.value) else "both")


def test_delimiter_that_the_model_never_writes(model: TransformersModel, tmp_path: Path) -> None:
    """With the count of rollouts, and what to change."""
    with pytest.raises(DataError) as caught:
        run_stage(Mine(), configured("control_points.segment_delimiter='@@'"), tmp_path, model)
    assert_one_error(caught.value, "64 rollouts", "@@", "control_points.segment_delimiter")
    assert len((tmp_path / "esm/mine/rollouts.jsonl").read_text().splitlines()) == 16
