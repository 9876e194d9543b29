"""Vectors written for other tools are read by what those tools rely on, and come back as they were."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import gguf
import numpy as np
import pytest
import safetensors.numpy
import torch

from engine.errors import DataError
from engine.vectors.formats import read_vectors, vector_file
from engine.vectors.layer_vectors import LayerVectors, the_vector
from engine.vectors.names import FORMATS

SIZE = 12


def _vectors(*layers: int) -> LayerVectors:
    draw = np.random.default_rng(5)
    return LayerVectors(
        {n: draw.standard_normal(SIZE).astype(np.float32) for n in layers}, notes={"method": "mean"}
    )


def _written(folder: Path, form: str, vectors: LayerVectors, scale: float = 1.0) -> Path:
    path = folder / f"vectors{FORMATS[form].suffix}"
    path.write_bytes(vector_file(form, vectors, "some-model", scale))
    return path


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_what_is_written_is_read_back(form: str, scale: float, tmp_path: Path) -> None:
    vectors = _vectors(3) if form == "easysteer" else _vectors(3, 1, 7)
    read = read_vectors(_written(tmp_path, form, vectors, scale))
    for layer in vectors.layers:
        chosen, vector = the_vector(read, tmp_path, layer, SIZE, 8)
        assert chosen == layer and vector.dtype == np.float32
        np.testing.assert_array_equal(vector, np.float32(scale) * vectors.vectors[layer])
    assert read.layers == ([] if form == "easysteer" else [1, 3, 7])


def test_a_control_vector_has_the_names_and_types_that_llama_cpp_takes(tmp_path: Path) -> None:
    vectors = _vectors(2, 5)
    reader = gguf.GGUFReader(_written(tmp_path, "gguf", vectors))
    told = {name: reader.fields[name].contents() for name in reader.fields if not name.startswith("GGUF.")}
    assert told["general.architecture"] == "controlvector"
    assert told["controlvector.model_hint"] == "some-model" and told["controlvector.layer_count"] == 2
    assert told["controlvector.method"] == "mean", "what the vectors came from"
    assert [tensor.name for tensor in reader.tensors] == ["direction.2", "direction.5"]
    for tensor, layer in zip(reader.tensors, (2, 5), strict=True):
        assert tensor.tensor_type == gguf.GGMLQuantizationType.F32 and list(tensor.shape) == [SIZE]
        np.testing.assert_array_equal(tensor.data, vectors.vectors[layer])


def test_layer_0_is_refused_for_llama_cpp_alone(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no layer 0"):
        vector_file("gguf", _vectors(0, 1), "m", 1.0)
    assert read_vectors(_written(tmp_path, "repeng", _vectors(0, 1))).layers == [0, 1]


def test_easysteer_takes_one_layer() -> None:
    with pytest.raises(DataError, match="layers 1, 2"):
        vector_file("easysteer", _vectors(1, 2), "m", 1.0)


def test_the_harness_gets_its_hookpoints_and_the_scale_as_coefficient(tmp_path: Path) -> None:
    vectors = _vectors(4)
    path = tmp_path / "steer.pt"
    path.write_bytes(vector_file("lm-eval", vectors, "m", 0.5, "h.{N}"))
    content = torch.load(path, weights_only=True)
    assert content.keys() == {"h.4"}
    assert content["h.4"]["steering_coefficient"] == 0.5 and content["h.4"]["action"] == "add"
    np.testing.assert_array_equal(content["h.4"]["steering_vector"].numpy(), vectors.vectors[4])


def test_each_tool_finds_the_layers_under_their_own_numbers_and_signs(tmp_path: Path) -> None:
    """Read by the plain libraries: what this project reads back could be wrong twice."""
    vectors = _vectors(0, 3)
    plain = safetensors.numpy.load_file(_written(tmp_path, "safetensors", vectors, -2.0))
    assert plain.keys() == {"direction.0", "direction.3"}
    content = torch.load(_written(tmp_path, "steering-vectors", vectors, -2.0), weights_only=True)
    assert content["layer_type"] == "decoder_block" and content["layer_activations"].keys() == {0, 3}
    for layer, vector in vectors.vectors.items():
        np.testing.assert_array_equal(plain[f"direction.{layer}"], -2 * vector)
        np.testing.assert_array_equal(content["layer_activations"][layer].numpy(), -2 * vector)
    only = torch.load(_written(tmp_path, "easysteer", _vectors(3), -2.0), weights_only=True)
    np.testing.assert_array_equal(only.numpy(), -2 * _vectors(3).vectors[3])


def test_files_that_other_tools_wrote(tmp_path: Path) -> None:
    vector = torch.arange(1.0, SIZE + 1)
    harness = {"steering_vector": vector, "action": "add", "bias": None, "head_index": None}
    written: dict[str, tuple[object, float]] = {
        "no coefficient": ({"model.layers.2": harness}, 1.0),
        "a coefficient": ({"transformer.h.2": {**harness, "steering_coefficient": -3.0}}, -3.0),
        "layer to tensor": ({2: vector}, 1.0),
        "steering-vectors without a type": ({"layer_activations": {2: vector}}, 1.0),
    }
    for name, (content, times) in written.items():
        (tmp_path / "a.pt").write_bytes(_torch(content))
        found = read_vectors(tmp_path / "a.pt")
        assert found.layers == [2], name
        np.testing.assert_array_equal(found.vectors[2], times * vector.numpy())
    for key in ("2", "layer.2", "layers.2", "direction.2"):
        safetensors.numpy.save_file({key: vector.numpy()}, tmp_path / "a.safetensors")
        assert read_vectors(tmp_path / "a.safetensors").layers == [2]


def _gguf(folder: Path, tensors: dict[str, np.ndarray], raw: gguf.GGMLQuantizationType | None = None) -> Path:
    writer = gguf.GGUFWriter(folder / "other.gguf", "controlvector")
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return folder / "other.gguf"


def test_tensors_that_are_no_whole_layer_s_vector_are_left_out(tmp_path: Path) -> None:
    vector, other = np.arange(8, dtype=np.float16), np.ones(8, dtype=np.float32)
    named = {"direction.2": vector, "direction.3.bias": other, "x.direction.4": other}
    read = read_vectors(_gguf(tmp_path, named))
    assert read.layers == [2]
    np.testing.assert_array_equal(read.vectors[2], vector.astype(np.float32))
    named = {"direction.2": vector, "layers.3.weight": other, "4.bias": other}
    safetensors.numpy.save_file(named, tmp_path / "a.safetensors")
    assert read_vectors(tmp_path / "a.safetensors").layers == [2]


def test_a_quantised_vector_is_refused(tmp_path: Path) -> None:
    """Its bytes are no numbers, though they are finite."""
    q8 = gguf.GGMLQuantizationType.Q8_0
    packed = gguf.quants.quantize(np.arange(32, dtype=np.float32), q8)
    with pytest.raises(DataError, match="stored as Q8_0"):
        read_vectors(_gguf(tmp_path, {"direction.2": packed}, q8))


def test_axes_of_length_1_are_no_axes(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(_torch({2: torch.arange(1.0, SIZE + 1)[None, None]}))
    np.testing.assert_array_equal(read_vectors(tmp_path / "a.pt").vectors[2], np.arange(1.0, SIZE + 1))


def _torch(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


class Pickled:
    """As a SteeringVector that was saved whole."""

    layer_activations = {1: torch.ones(SIZE)}


BAD = {
    "pickled Python objects are refused": ("a.pt", lambda: _torch(Pickled())),
    "pickled Python objects": ("a.pt", lambda: pickle.dumps(Pickled(), protocol=2)),
    "pickled Python": ("a.pt", lambda: b""),
    "none of the forms": ("a.pt", lambda: _torch({"x": 3})),
    "NaN or infinity": ("a.pt", lambda: _torch(torch.full((SIZE,), torch.nan))),
    r"shape \(2, 12\)": ("a.pt", lambda: _torch({1: torch.ones(2, SIZE)})),
    "layer type `mlp`": (
        "a.pt",
        lambda: _torch({"layer_activations": {1: torch.ones(3)}, "layer_type": "mlp"}),
    ),
    "not a whole decoder layer": ("a.pt", lambda: _torch({"layers.1.mlp": {"action": "add"}})),
    "only the action `add`": ("a.pt", lambda: _torch({"layers.1": {"action": "clamp"}})),
    "without bias": (
        "a.pt",
        lambda: _torch({"layers.1": {"action": "add", "bias": 1.0, "steering_vector": torch.ones(3)}}),
    ),
    "and head_index": (
        "a.pt",
        lambda: _torch({"layers.1": {"action": "add", "head_index": 0, "steering_vector": torch.ones(3)}}),
    ),
    "expected a tensor": ("a.pt", lambda: _torch({"layers.1": {"action": "add"}})),
    "not a readable GGUF": ("a.gguf", lambda: b"GGUF????"),
    "not a readable safetensors": ("a.safetensors", lambda: b"nonsense"),
}


@pytest.mark.parametrize("said", BAD)
def test_a_file_that_is_no_vector_is_told(said: str, tmp_path: Path) -> None:
    name, content = BAD[said]
    (tmp_path / name).write_bytes(content())
    with pytest.raises(DataError, match=said):
        read_vectors(tmp_path / name)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_vectors(tmp_path / "none.gguf")


@pytest.mark.parametrize(
    ("layer", "size", "layers", "said"),
    [
        (None, SIZE, 8, "vectors for layers 1, 3"),
        (2, SIZE, 8, "no vector for layer 2, only for 1, 3"),
        (3, SIZE, 3, "the model has layers 0 to 2"),
        (3, 99, 8, "12 numbers, the model's states have 99"),
    ],
)
def test_a_vector_that_does_not_fit_is_told(layer: int | None, size: int, layers: int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        the_vector(_vectors(1, 3), Path("file"), layer, size, layers)


def test_a_file_without_a_layer_needs_one() -> None:
    bare = LayerVectors({}, unplaced=np.ones(SIZE, dtype=np.float32))
    with pytest.raises(DataError, match="does not say for which layer"):
        the_vector(bare, Path("file"), None, SIZE, 8)
    assert the_vector(bare, Path("file"), 2, SIZE, 8)[0] == 2
