"""Vectors of other tools as entries of the memory: round trips, keys, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from app.cli import main
from engine.config.config import Config
from engine.config.file import load_config
from engine.errors import DataError
from engine.esm import layout
from engine.esm.library.imported import Imported, _line, has_texts, keys_of, read_imports
from engine.esm.library.memory import EpisodicMemory
from engine.esm.library.memory_stage import BuildMemory
from engine.events import Event, MemoryBuilt
from engine.files import read_jsonl, write_jsonl
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import ModelInfo, Vector
from engine.lm.transformers.model import TransformersModel
from engine.run.directory import RunDirectory, RunRecord
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.names import FORMATS
from tests.exactly import exactly
from tests.kill_and_resume import DEMO
from tests.run_stage import run_stage
from tests.small_esm import SMALL

LAYER = 2


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32")


@pytest.fixture
def mined(esm_run: tuple[Path, list[Event]], tmp_path: Path) -> Path:
    """A run of its own with the small run's library."""
    folder = tmp_path / "mined"
    shutil.copytree(layout.library(esm_run[0]), layout.library(folder))
    _record(folder, load_config(DEMO, list(SMALL)))
    return folder


def _record(folder: Path, config: Config) -> None:
    told = json.loads(config.model_dump_json())
    RunDirectory(folder).write(
        RunRecord(
            name="r", run_id="r", created=1.0, updated=1.0, seeds={}, stages={}, versions={}, config=told
        )
    )


def _imported(
    index: Path, folder: Path, model: TransformersModel, *overrides: str
) -> tuple[EpisodicMemory, list[Event]]:
    config = load_config(DEMO, [*SMALL, f"offline_memory.imports={index}", *overrides])
    events = run_stage(BuildMemory(), config, folder, model)
    return EpisodicMemory.load(layout.memory(folder), layout.library(folder), model.info), events


def _as_set(memory: EpisodicMemory) -> dict[str, tuple[object, ...]]:
    return {
        entry.tool_name: (
            entry.kind, entry.layer, entry.control_point_m, entry.quality, key.round(5).tolist(),
            None if entry.vector is None else entry.vector.tolist(),
        )
        for entry, key in zip(memory.entries, memory.keys, strict=True)
    }  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_an_exported_memory_comes_back_as_the_same_memory(
    form: str, mined: Path, model: TransformersModel, tmp_path: Path
) -> None:
    """Alone, in a run without a library."""
    out, other = tmp_path / "out", tmp_path / "other"
    assert main(["export", "vectors", str(mined), "--format", form, "--memory", "--out", str(out)]) == 0
    run_stage(BuildMemory(), load_config(DEMO, list(SMALL)), mined, model)
    before = EpisodicMemory.load(layout.memory(mined), layout.library(mined), model.info)
    after, _ = _imported(out / "index.jsonl", other, model)
    assert _as_set(after) == _as_set(before)
    assert {entry.kind for entry in after.entries} == {"wrong", "right"}


def _lines(folder: Path, *lines: dict[str, object]) -> Path:
    path = folder / "imports.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _vector(seed: int, model: TransformersModel) -> Vector:
    return np.random.default_rng(seed).standard_normal(model.info.hidden_size).astype(np.float32)


def test_keys_are_states_of_texts_or_the_means_of_the_library(
    mined: Path, model: TransformersModel, tmp_path: Path
) -> None:
    vectors = {1: _vector(1, model), LAYER: _vector(2, model)}
    (tmp_path / "two.gguf").write_bytes(vector_file("gguf", LayerVectors(vectors), "m", 1.0))
    text = {"prompt": "What is 2 + 3?", "text": "Quick: 6\n\n"}
    index = _lines(
        tmp_path,
        {
            "file": "two.gguf",
            "tool_name": "told",
            "layer": LAYER,
            "m": 1,
            "scale": 3.0,
            "quality": 0.5,
            **text,
        },
        {"file": "two.gguf", "tool_name": "usual", "layer": LAYER, "m": [1, 2]},
        {"kind": "right", "layer": LAYER, "tool_name": "leave", "text": "Forward: 5\n\n"},
        {"file": "two.gguf", "text": "both layers", "m": 3},
    )
    memory, _ = _imported(index, mined, model)
    entries = {entry.tool_name: entry for entry in memory.entries}
    keys = {entry.tool_name: key for entry, key in zip(memory.entries, memory.keys, strict=True)}
    told = entries["told"]
    np.testing.assert_array_equal(told.vector, np.float32(3) * vectors[LAYER])
    assert (told.layer, told.control_point_m, told.quality, told.source) == (LAYER, 1, 0.5, "imported")
    tokens = [*model.tokenizer.encode_chat("What is 2 + 3?"), *model.tokenizer.encode("Quick: 6\n\n")]
    state = model.states([tokens], [[len(tokens) - 1]], [LAYER])[0][0, 0]
    np.testing.assert_allclose(keys["told"], state / np.linalg.norm(state), atol=1e-5)
    hits = memory.similarities(1, np.stack([state] * len(memory.layers)))
    assert told is memory.entries[hits[0][np.argmax(hits[1])]]
    rows = [r for r in read_jsonl(layout.library(mined) / "library.jsonl") if r["kind"] == "wrong"]
    for m in (1, 2):
        own = [r for r in rows if r["control_point_m"] == m] or rows
        raw = np.mean([np.asarray(_load(layout.library(mined) / r["key_path"])) for r in own], axis=0)
        np.testing.assert_allclose(keys[f"usual_m{m}"], raw / np.linalg.norm(raw), atol=1e-5)
    assert [entries[f"leave_m{m}"].kind for m in range(1, 6)] == ["right"] * 5  # M is 6 in the demo
    assert {name for name in entries if name.startswith("imported_00004")} == {
        "imported_00004_l1", f"imported_00004_l{LAYER}",
    }  # fmt: skip
    assert len(read_jsonl(layout.library(mined) / "library.jsonl")) == len(memory.entries) - 10


def test_a_key_by_default_is_the_mean_of_wrong_keys_at_its_layer_and_control_point() -> None:
    """By hand, with one number a key: every other row would change the mean."""
    rows = [
        {"kind": kind, "layer": layer, "control_point_m": m}
        for kind, layer, m in (
            ("wrong", 2, 1), ("wrong", 2, 1), ("right", 2, 1), ("wrong", 3, 1), ("wrong", 2, 4), ("right", 3, 2),
        )
    ]  # fmt: skip
    keys = [np.full(2, value, dtype=np.float32) for value in (1, 3, 10, 20, 100, 50)]
    two = Imported("two", "here", 2, (1, 4, 3), 1.0, None)
    three = Imported("three", "here", 3, (1, 2), 1.0, None)
    found = keys_of([two, three], None, rows, keys)
    assert [[float(key[0]) for key in own] for own in found] == [[2, 100, pytest.approx(104 / 3)], [20, 20]]
    with pytest.raises(
        DataError,
        match=exactly(
            "nothing says when to use this entry, and the library has no wrong keys at layer 1 (here): give a "
            "`text` (with `prompt`), or a `key`"
        ),
    ):
        keys_of([replace(two, layer=1)], None, rows, keys)


def test_keys_are_kept_as_they_are_where_that_is_asked(
    mined: Path, model: TransformersModel, tmp_path: Path
) -> None:
    folder = layout.library(mined)
    raw = np.stack([_load(folder / row["key_path"]) for row in read_jsonl(folder / "library.jsonl")])
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert np.abs(lengths - 1).max() > 0.1
    for normalised, keys in (("false", raw), ("true", raw / lengths)):
        config = load_config(DEMO, [*SMALL, f"offline_memory.normalize_keys={normalised}"])
        run_stage(BuildMemory(), config, mined, model)
        np.testing.assert_allclose(np.load(layout.memory(mined) / "keys.npy"), keys, rtol=1e-5)


def test_what_is_told_of_a_memory(mined: Path, model: TransformersModel) -> None:
    """Three entries: two wrong ones at the first control point, at layers 2 and 1, and a right one at the second."""
    path = layout.library(mined) / "library.jsonl"
    rows = {kind: [row for row in read_jsonl(path) if row["kind"] == kind] for kind in ("wrong", "right")}
    (one, two), other = rows["wrong"][:2], rows["right"][0]
    places = [(one, 1, 2), (two, 1, 1), (other, 2, 2)]
    write_jsonl(path, [row | {"control_point_m": m, "layer": layer} for row, m, layer in places])
    events = run_stage(BuildMemory(), load_config(DEMO, list(SMALL)), mined, model)
    (built,) = [event for event in events if isinstance(event, MemoryBuilt)]
    assert (built.entries, built.hidden_size, built.layers) == (3, model.info.hidden_size, [1, 2])
    assert built.by_control_point == {"1": [2, 0], "2": [0, 1]}


def _load(path: Path) -> Vector:
    from engine.esm.vectors import load_vector

    return load_vector(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"kind": "wrong", "layer": 2, "text": "a"}, "a wrong entry has a `file`, a right one has none"),
        ({"kind": "right", "layer": 2}, "a right entry needs `layer`, and `text` or `key`"),
        ({"file": "one.pt", "layer": 9, "text": "a"}, "layer 9 does not exist"),
        ({"file": "one.pt", "text": "a"}, "one.pt does not say its layer"),
        ({"file": "one.pt", "layer": 2, "prompt": "a"}, "`prompt` without `text`"),
        ({"file": "one.pt", "layer": 2, "text": "a", "m": 0}, "`m` counts control points from 1"),
        ({"file": "one.pt", "layer": 2, "text": "a", "quality": -2}, "`quality`"),
        ({"file": "one.pt", "layer": 2, "words": "a"}, "unknown field `words`"),
        ({"file": "gone.pt", "layer": 2, "text": "a"}, "cannot be read"),
        ({"file": "short.pt", "layer": 2, "text": "a"}, "the vector has 3 numbers"),
        ({"file": "one.pt", "layer": 2, "key": "../one.pt"}, "not in the folder"),
        ({"file": "one.pt", "layer": 2, "key": "short.pt"}, "a vector has shape (3,), expected"),
    ],
)
def test_a_line_that_is_no_entry_is_told(
    line: dict[str, object], said: str, model: TransformersModel, tmp_path: Path
) -> None:
    for name, vector in (("one.pt", _vector(1, model)), ("short.pt", np.ones(3, dtype=np.float32))):
        torch.save(torch.from_numpy(vector), tmp_path / name)
    index = _lines(tmp_path, {"file": "one.pt", "layer": 2, "text": "fine"}, line)
    with pytest.raises(DataError) as caught:
        read_imports(index, Config(), model.info, model)
    assert said in str(caught.value)


def test_names_and_keys_that_are_missing_are_told(
    mined: Path, model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save(torch.from_numpy(_vector(1, model)), tmp_path / "one.pt")
    bare = {"file": "one.pt", "layer": 2, "tool_name": "same", "m": 1}
    with pytest.raises(
        DataError,
        match=exactly(
            "1 entries are called as another one is, same among them (…/imports.jsonl): give each a `tool_name` "
            "of its own"
        ),
    ):
        _imported(_lines(tmp_path, bare, bare), mined, model)
    with pytest.raises(
        DataError,
        match=exactly(
            "nothing says when to use this entry, and the library has no wrong keys at layer 2 "
            "(…/imports.jsonl:1): give a `text` (with `prompt`), or a `key`"
        ),
    ):
        _imported(_lines(tmp_path, bare), tmp_path / "new", model)
    with pytest.raises(
        DataError,
        match=exactly(
            "the file names no entries (…/imports.jsonl): see engine/esm/README.md, Vectors in and out"
        ),
    ):
        _lines(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        _imported(Path("~/imports.jsonl"), tmp_path / "new", model)


def test_an_empty_text_needs_the_model_too(tmp_path: Path) -> None:
    path = tmp_path / "entries.jsonl"
    for record, needed in (({"text": ""}, True), ({"text": "x"}, True), ({"text": None}, False), ({}, False)):
        write_jsonl(path, [{"key": "k.pt"}, record])
        assert has_texts(path) is needed


def test_a_right_entry_may_stand_at_layer_0() -> None:
    info = ModelInfo("m", "transformers", "cpu", "float32", 4, 8, 16, 1, "print")
    line = _line("x:1", {"kind": "right", "layer": 0, "key": "k.pt"}, info)
    assert (line.layer, line.key, line.file) == (0, "k.pt", None)
    with pytest.raises(DataError, match="a right entry needs `layer`"):
        _line("x:1", {"kind": "right", "key": "k.pt"}, info)
