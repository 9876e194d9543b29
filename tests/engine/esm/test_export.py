"""The library of a run as files: the mean a layer, each entry, or picked ones, by the command line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.cli import main
from engine.config.config import Config
from engine.errors import DataError
from engine.esm.export import export, library_vectors
from engine.esm.vectors import load_vector, vector_bytes
from engine.files import read_jsonl, write_jsonl
from engine.lm.protocol import Vector
from engine.run.directory import RunDirectory, RunRecord
from engine.vectors.formats import read_vectors
from tests.exactly import exactly

SIZE = 6
LAYERS = [1, 2, 2, 1]
"""Of the entries; the last is of kind right."""


@pytest.fixture
def vectors() -> list[Vector]:
    return list(np.random.default_rng(1).standard_normal((3, SIZE)).astype(np.float32))


@pytest.fixture
def keys() -> list[Vector]:
    return list(np.random.default_rng(2).standard_normal((4, SIZE)).astype(np.float32))


@pytest.fixture
def run(tmp_path: Path, vectors: list[Vector], keys: list[Vector]) -> Path:
    """A run's folder with a library of three vectors and one entry without; each has a key."""
    folder = tmp_path / "run"
    records = [
        {
            "lib_id": f"lib_{i}",
            "tool_name": f"pair{i}_{'right' if i == 3 else 'wrong'}",
            "name": "A → B, step 1" if i == 1 else "",
            "kind": "right" if i == 3 else "wrong",
            "example_id": f"e{i}",
            "control_point_m": i + 1,
            "layer": layer,
            "quality": 0.5,
            "key_path": f"vectors/key{i}.pt",
            "model": "m",
            "vector_path": None if i == 3 else f"vectors/{i}.pt",
        }
        for i, layer in enumerate(LAYERS)
    ]
    (folder / "esm/library/vectors").mkdir(parents=True)
    write_jsonl(folder / "esm/library/library.jsonl", records)
    for kind, written in (("", vectors), ("key", keys)):
        for i, vector in enumerate(written):
            (folder / f"esm/library/vectors/{kind}{i}.pt").write_bytes(vector_bytes(vector))
    config = msgspec.json.decode(Config().model_dump_json())
    record = RunRecord(
        name="r", run_id="r", created=1.0, updated=1.0, seeds={}, stages={}, versions={}, config=config
    )
    RunDirectory(folder).write(record)
    return folder


def test_the_mean_of_each_layer_is_written(
    run: Path, vectors: list[Vector], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mean.gguf"
    assert main(["export", "vectors", str(run), "--format", "gguf", "--out", str(out), "--scale", "2"]) == 0
    read = read_vectors(out)
    assert b"embedded" in out.read_bytes(), "the model it is for: without a path its backend"
    np.testing.assert_array_equal(read.vectors[1], 2 * vectors[0])
    np.testing.assert_allclose(read.vectors[2], vectors[1] + vectors[2], rtol=1e-6)
    said = capsys.readouterr().out
    assert "3 entries, layers 1, 2 (counted from 0)" in said and "--control-vector-scaled" in said
    assert "ESM adds about 2 times" in said  # k_scale 4 * beta 1 * quality 0.5
    assert "this file holds 2 times" in said and "A file holds one vector a layer" in said


def test_the_strength_is_that_of_a_perfect_match(run: Path, tmp_path: Path) -> None:
    """k_scale * beta * quality, of the entries that are exported."""
    library, directory = run / "esm/library/library.jsonl", RunDirectory(run)
    qualities = (0.25, 0.5, 1.0, 0.75)
    records = [r | {"quality": q} for r, q in zip(read_jsonl(library), qualities, strict=True)]
    write_jsonl(library, records)
    record = directory.read()
    record.config["online"] |= {"beta": 1.5, "k_scale": 2.0}
    record.config["model"]["path"] = "some/model"
    directory.write(record)
    assert export(directory, "gguf", tmp_path / "a.gguf").strength == pytest.approx(3 * 1.75 / 3)
    assert b"some/model" in (tmp_path / "a.gguf").read_bytes()
    own = export(directory, "gguf", tmp_path / "a.gguf", layers=[2], scale=-2.0)
    assert own.strength == pytest.approx(3 * 0.75) and (own.entries, own.layers) == (2, [2])


@pytest.mark.parametrize(
    ("ids", "layers", "kept"),
    [
        ((), (), ["lib_0", "lib_1", "lib_2", "lib_3"]),
        ((), (1,), ["lib_0", "lib_3"]),
        ((), (2,), ["lib_1", "lib_2"]),
        (("lib_0",), (), ["lib_0"]),
    ],
)
def test_a_memory_is_exported_with_its_right_entries_unless_entries_are_named(
    run: Path, vectors: list[Vector], keys: list[Vector], tmp_path: Path,
    ids: tuple[str, ...], layers: tuple[int, ...], kept: list[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    export(RunDirectory(run), "safetensors", out, ids, layers, scale=2.0, memory=True)
    index = read_jsonl(out / "index.jsonl")
    assert [line["lib_id"] for line in index] == kept
    for line in index:
        place = int(line["lib_id"][-1])
        assert (line.get("kind") == "right") is (place == 3) is ("file" not in line)
        vector = {"kind": "right"} if place == 3 else {"file": f"lib_{place:05d}.safetensors"}
        assert line == vector | {
            "lib_id": f"lib_{place}", "tool_name": f"pair{place}_{'right' if place == 3 else 'wrong'}",
            "name": "A → B, step 1" if place == 1 else f"pair{place}_{'right' if place == 3 else 'wrong'}",
            "layer": LAYERS[place], "quality": 0.5, "m": place + 1, "key": f"lib_{place:05d}_key.pt",
        }  # fmt: skip
        np.testing.assert_array_equal(load_vector(out / line["key"]), keys[place])
        if place < len(vectors):
            written = read_vectors(out / line["file"]).vectors
            assert list(written) == [LAYERS[place]]
            np.testing.assert_array_equal(written[LAYERS[place]], 2 * vectors[place])


def test_entries_without_an_id_have_that_of_their_place(run: Path, tmp_path: Path) -> None:
    library = run / "esm/library/library.jsonl"
    write_jsonl(library, [{k: v for k, v in r.items() if k != "lib_id"} for r in read_jsonl(library)])
    ids = ["lib_00000", "lib_00001", "lib_00002", "lib_00003"]
    export(RunDirectory(run), "gguf", tmp_path / "out", memory=True)
    assert [line["lib_id"] for line in read_jsonl(tmp_path / "out" / "index.jsonl")] == ids
    (picked,) = library_vectors(run, ["lib_00001"])
    assert (picked.record["tool_name"], picked.record["file"]) == ("pair1_wrong", "lib_00001")


def test_picked_entries(run: Path, vectors: list[Vector], tmp_path: Path) -> None:
    picked = tmp_path / "picked.safetensors"
    command = ["export", "vectors", str(run), "--format", "safetensors", "--out", str(picked)]
    assert main([*command, "--entries", "A -> B, step 1,lib_0", "--layers", "2"]) == 0
    written = read_vectors(picked).vectors
    assert list(written) == [2]
    np.testing.assert_array_equal(written[2], vectors[1])
    several = library_vectors(run, layers=[2, 1])
    assert [entry.record["lib_id"] for entry in several] == ["lib_0", "lib_1", "lib_2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--entries", "lib_3"], "lib_3 is of kind right"),
        (["--entries", "pair1_wrnog"], "did you mean pair1_wrong?"),
        (["--layers", "5"], "vectors are there for layers: 1, 2"),
        (["--scale", "nan"], "give another"),
    ],
)
def test_what_cannot_be_exported_is_told(
    arguments: list[str], said: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.gguf"
    assert main(["export", "vectors", str(run), "--format", "gguf", "--out", str(out), *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split()) and not out.exists()


def test_the_layers_that_are_there_are_named_in_order(run: Path) -> None:
    library = run / "esm/library/library.jsonl"
    layers = (8, 1, 8, 5)  # the last is of kind right
    write_jsonl(library, [r | {"layer": layer} for r, layer in zip(read_jsonl(library), layers, strict=True)])
    where = f"({run / 'esm/library'})"
    for ids, there in (((), "1, 8"), (["lib_2"], "8")):
        said = f"no entry with a vector is left {where}: vectors are there for layers: {there}"
        with pytest.raises(DataError, match=exactly(said)):
            library_vectors(run, ids, [5])
    write_jsonl(library, read_jsonl(library)[3:])
    said = f"no entry with a vector is left {where}: vectors are there for layers: none"
    with pytest.raises(DataError, match=exactly(said)):
        library_vectors(run)


@pytest.mark.parametrize("name", ["../outside", "/tmp/hostile", "a\0b", "i" * 5000, ".", "", "PAIR"])
def test_no_file_is_named_by_what_the_library_calls_an_entry(run: Path, tmp_path: Path, name: str) -> None:
    library, out = run / "esm/library/library.jsonl", tmp_path / "each"
    records = read_jsonl(library)
    records[0]["lib_id"], records[1]["lib_id"] = name, name.lower()
    write_jsonl(library, records)
    before = set(tmp_path.iterdir())
    assert main(["export", "vectors", str(run), "--format", "gguf", "--out", str(out), "--memory"]) == 0
    assert set(tmp_path.iterdir()) == {*before, out}
    assert [path.name for path in sorted(out.iterdir())] == [
        "index.jsonl",
        *(
            f"lib_{place:05d}{ending}" for place in range(4) for ending in (".gguf", "_key.pt")
            if place < 3 or ending == "_key.pt"
        ),
    ]  # fmt: skip
    assert [line["lib_id"] for line in read_jsonl(out / "index.jsonl")][:2] == [name, name.lower()]


def test_a_library_with_an_entry_that_is_none_is_one_error(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = run / "esm/library/library.jsonl"
    write_jsonl(library, [record | {"lib_id": ["x"]} for record in read_jsonl(library)])
    assert main(["export", "vectors", str(run), "--format", "gguf", "--out", str(run / "x")]) == 2
    assert "library.jsonl:1" in capsys.readouterr().err
