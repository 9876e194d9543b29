"""Vectors written for other tools are read by what those tools rely on, and come back as they were."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import safetensors.torch
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
    vectors = _vectors(3, 1, 12)
    read = read_vectors(_written(tmp_path, form, vectors, scale))
    for layer in vectors.layers:
        chosen, vector = the_vector(read, tmp_path, layer, SIZE, 13)
        assert chosen == layer and vector.dtype == np.float32
        np.testing.assert_array_equal(vector, np.float32(scale) * vectors.vectors[layer])
    assert read.layers == [1, 3, 12]


def test_a_control_vector_has_the_names_and_types_that_llama_cpp_takes(tmp_path: Path) -> None:
    vectors = _vectors(5, 2)
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
    with pytest.raises(DataError) as caught:
        vector_file("gguf", _vectors(0, 1), "m", 1.0)
    assert str(caught.value) == (
        "llama.cpp steers no layer 0, and refuses a file that has it (--format gguf): leave it out with --layers, or "
        "choose another format"
    )
    assert read_vectors(_written(tmp_path, "repeng", _vectors(0, 1))).layers == [0, 1]


def test_each_tool_finds_the_layers_under_their_own_numbers_and_signs(tmp_path: Path) -> None:
    """Read by the plain libraries: what this project reads back could be wrong twice."""
    vectors = _vectors(0, 3)
    plain = safetensors.numpy.load_file(_written(tmp_path, "safetensors", vectors, -2.0))
    assert plain.keys() == {"direction.0", "direction.3"}
    for layer, vector in vectors.vectors.items():
        np.testing.assert_array_equal(plain[f"direction.{layer}"], -2 * vector)


def test_safetensors_name_the_model_and_what_the_vectors_came_from(tmp_path: Path) -> None:
    path = _written(tmp_path, "safetensors", _vectors(1))
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata() == {"model": "some-model", "method": "mean"}


@pytest.mark.parametrize(
    ("form", "suffix", "end"),
    [
        ("gguf", ".gguf", "`direction.N` is block N counted from 0; no layer 0"),
        ("repeng", ".gguf", "layers counted from 0"),
        ("safetensors", ".safetensors", "layer N, counted from 0"),
    ],
)
def test_how_a_tool_takes_a_file_says_from_where_layers_are_counted(form: str, suffix: str, end: str) -> None:
    assert FORMATS[form].suffix == suffix and FORMATS[form].use.endswith(end)


def test_files_that_other_tools_wrote(tmp_path: Path) -> None:
    vector = torch.arange(1.0, SIZE + 1)
    harness = {"steering_vector": vector, "action": "add", "bias": None, "head_index": None}
    written: dict[str, tuple[object, float]] = {
        "no coefficient": ({"model.layers.2": harness}, 1.0),
        "blocks of 16 bits": ({"blocks.2": {**harness, "steering_vector": vector.bfloat16()}}, 1.0),
        "a trained tensor": ({2: torch.nn.Parameter(vector)}, 1.0),
        "a coefficient": ({"transformer.h.2": {**harness, "steering_coefficient": -3.0}}, -3.0),
        "layer to tensor": ({2: vector}, 1.0),
        "steering-vectors": ({"layer_activations": {2: vector}, "layer_type": "decoder_block"}, 1.0),
        "steering-vectors without a type": ({"layer_activations": {2: vector}}, 1.0),
    }
    for name, (content, times) in written.items():
        (tmp_path / "a.pt").write_bytes(_torch(content))
        found = read_vectors(tmp_path / "a.pt")
        assert found.layers == [2], name
        np.testing.assert_array_equal(found.vectors[2], times * vector.numpy())
    (tmp_path / "a.pt").write_bytes(_torch({"layers.12": harness}))
    assert read_vectors(tmp_path / "a.pt").layers == [12]
    (tmp_path / "a.pt").write_bytes(_torch(vector))
    bare = read_vectors(tmp_path / "a.pt")
    assert bare.layers == []
    np.testing.assert_array_equal(bare.unplaced, vector.numpy())
    np.testing.assert_array_equal(
        read_vectors(_gguf(tmp_path, {"direction.0": np.full(8, 0.1)})).vectors[0],
        np.full(8, np.float32(0.1)),
    )
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


UNSAFE = (
    "the file is not tensors and plain values alone (pickled Python objects are refused, because loading them runs "
    "their code): {} (a.pt): save the tensors: a dictionary from layer to tensor, or a SteeringVector's fields "
    '{{"layer_activations": …, "layer_type": "decoder_block"}}'
)
NO_FORM = (
    "the file has none of the forms of steering-vectors, EasySteer or lm-evaluation-harness (a.pt): save one of them, "
    "or a dictionary from layer to tensor"
)
NO_VECTOR = "only the action `add`, without bias and head_index, is a steering vector (a.pt: layers.1): save it as such"
ADDED = {"action": "add", "steering_vector": torch.ones(3)}
BAD = [
    (_torch(Pickled()), UNSAFE.format("it is not a tensor")),
    (pickle.dumps(Pickled(), protocol=2), UNSAFE.format("it is not a tensor")),
    (b"", UNSAFE.format("EOFError: ")),
    *(
        (_torch(content), NO_FORM)
        for content in (
            {"x": 3},
            {},
            {"layer_activations": {}},
            {1: 2, "x": 3},
            {"layers.1": ADDED, "x": 3},
            [],
        )
    ),
    *(
        (_torch(torch.tensor([1.0, bad])), "a vector holds NaN or infinity (a.pt): make the vectors again")
        for bad in (torch.nan, torch.inf)
    ),
    (
        _torch({1: torch.ones(2, SIZE)}),
        "a tensor has shape (2, 12), not that of one vector (a.pt: layer 1): save one vector a layer",
    ),
    (
        _torch({"layer_activations": {2: torch.ones(0)}}),
        "a tensor has shape (0,), not that of one vector (a.pt: layer 2): save one vector a layer",
    ),
    (
        _torch({"layer_activations": {1: torch.ones(3)}, "layer_type": "mlp"}),
        "the vectors are for layer type `mlp` (a.pt): take vectors for `decoder_block`: ESM steers the output of whole "
        "layers",
    ),
    (
        _torch({"layers.1.mlp": {"action": "add"}}),
        "this hookpoint is not a whole decoder layer (a.pt: layers.1.mlp): hook `layers.N`, counted from 0",
    ),
    *(
        (_torch({"layers.1": ADDED | more}), NO_VECTOR)
        for more in ({"action": "clamp"}, {"bias": 1.0}, {"head_index": 0})
    ),
    (
        _torch({"layers.1": {"action": "add"}}),
        "expected a tensor, found NoneType (a.pt: layers.1): save a tensor",
    ),
    (_torch({3: [1.0, 2.0]}), "expected a tensor, found list (a.pt: layer 3): save a tensor"),
    (
        _torch({"layers.1": ADDED | {"steering_coefficient": "x"}}),
        "layers.1: no coefficient: could not convert string to float: 'x' (a.pt): save it as a number",
    ),
    (
        _torch({"layers.1": ADDED | {"steering_coefficient": None}}),
        "layers.1: no coefficient: TypeError: float() argument must be a string or a real number, not 'NoneType' "
        "(a.pt): save it as a number",
    ),
    (
        _torch({"layers.1": ADDED | {"steering_coefficient": torch.inf}}),
        "a vector holds NaN or infinity (a.pt: layers.1): make the vectors again",
    ),
    (
        _torch({"layer_activations": {"a": torch.ones(3)}}),
        "a layer has no number: invalid literal for int() with base 10: 'a' (a.pt): number them from 0",
    ),
]


@pytest.mark.parametrize(("content", "said"), BAD)
def test_a_file_that_is_no_vector_is_told(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(content)
    assert _refused(tmp_path / "a.pt") == said


def _refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_vectors(path)
    assert caught.value.where.startswith(str(path))
    return str(caught.value).replace(f"{path.parent}/", "")


def test_files_of_other_content_are_told(tmp_path: Path) -> None:
    """Model weights instead of vectors, a quantised vector, whose bytes are no numbers though they are finite."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF????")
    assert _refused(tmp_path / "a.gguf").startswith("this is not a readable GGUF file: ")
    assert _refused(tmp_path / "a.gguf").endswith(" (a.gguf): export the vectors again")
    (tmp_path / "a.safetensors").write_bytes(b"nonsense")
    assert _refused(tmp_path / "a.safetensors").startswith("this is not a readable safetensors file: ")
    assert _refused(tmp_path / "a.safetensors").endswith(" (a.safetensors): export the vectors again")
    header = (
        b'{"direction.1": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}'  # torch cannot widen it
    )
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    assert _refused(tmp_path / "a.safetensors").startswith("this is not a readable safetensors file: NotImpl")
    safetensors.numpy.save_file({"wte": np.ones(3)}, str(tmp_path / "b.safetensors"))
    assert _refused(tmp_path / "b.safetensors") == (
        "no tensor is named `direction.N` (b.safetensors): name the vectors like this, layers counted from 0"
    )
    assert _refused(_gguf(tmp_path, {"blk.2": np.ones(3, np.float32)})) == (
        "the GGUF file has no tensor `direction.N`: it is not a control vector (other.gguf): name a control vector, "
        "not a model"
    )
    q8 = gguf.GGMLQuantizationType.Q8_0
    packed = gguf.quants.quantize(np.arange(32, dtype=np.float32), q8)
    assert _refused(_gguf(tmp_path, {"direction.2": packed}, q8)) == (
        "`direction.2` is stored as Q8_0 (other.gguf): export the vectors as float32, the only form that llama.cpp "
        "takes"
    )
    bad, said = np.full(3, np.nan, np.float32), "a vector holds NaN or infinity ({}): make the vectors again"
    assert _refused(_gguf(tmp_path, {"direction.2": bad})) == said.format("other.gguf: direction.2")
    safetensors.numpy.save_file({"layer.2": bad}, str(tmp_path / "b.safetensors"))
    assert _refused(tmp_path / "b.safetensors") == said.format("b.safetensors: layer.2")
    assert _refused(tmp_path / "none.gguf") == (
        "the file of vectors cannot be read: No such file or directory (none.gguf): name a file"
    )


def test_a_cut_control_vector_is_told_wherever_it_ends(tmp_path: Path) -> None:
    whole = _written(tmp_path, "gguf", _vectors(2))
    content = whole.read_bytes()
    end = len(content) - 16  # of the numbers: what is behind them only fills up to 32 bytes
    for size in (*range(4, end, 7), end - 1):
        (tmp_path / "cut.gguf").write_bytes(content[:size])
        assert _refused(tmp_path / "cut.gguf").startswith("this is not a readable GGUF file: ")


def test_numbers_of_few_bits_are_read(tmp_path: Path) -> None:
    """numpy alone does not know them; each of the three is exact in 8 bits."""
    for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn):
        numbers = torch.tensor([1.0, -0.5, 0.25]).to(dtype)
        safetensors.torch.save_file({"direction.1": numbers}, tmp_path / "a.safetensors")
        read = read_vectors(tmp_path / "a.safetensors").vectors[1]
        assert read.dtype == np.float32 and read.tolist() == [1.0, -0.5, 0.25]


def test_a_file_is_known_by_what_is_in_it_and_not_by_its_ending(tmp_path: Path) -> None:
    written = _written(tmp_path, "gguf", _vectors(2))
    assert read_vectors(written.rename(tmp_path / "vectors.bin")).layers == [2]
    for name in ("a.pth", "a.bin", "a"):
        torch.save({4: torch.ones(3)}, tmp_path / name)
        assert read_vectors(tmp_path / name).layers == [4]


def test_a_folder_is_no_file_of_vectors(tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    said = _refused(tmp_path / "vectors")
    assert said.startswith("the file of vectors cannot be read: ") and said.endswith(
        " (vectors): name a file"
    )


def test_without_the_package_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(DataError) as caught:
        vector_file("gguf", _vectors(1), "m", 1.0)
    assert str(caught.value) == ("GGUF files need the package `gguf` (export): pip install 'steer-tui[gguf]'")


OTHER_MODEL = "take vectors that were made for this model"


@pytest.mark.parametrize(
    ("layer", "size", "layers", "said"),
    [
        (None, SIZE, 8, "the file has vectors for layers 1, 3; ESM adds one at a time (file): choose one with a.layer"),
        (
            2, SIZE, 8,
            "the file has no vector for layer 2, only for 1, 3 (file): choose one of these with a.layer, counted from 0"
            "",
        ),
        (3, SIZE, 3, f"layer 3 does not exist: the model has layers 0 to 2 (file): {OTHER_MODEL}"),
        (3, 5, 8, f"the vector has 12 numbers, the model's states have 5 (file): {OTHER_MODEL}"),
        (3, 99, 8, f"the vector has 12 numbers, the model's states have 99 (file): {OTHER_MODEL}"),
    ],
)  # fmt: skip
def test_a_vector_that_does_not_fit_is_told(layer: int | None, size: int, layers: int, said: str) -> None:
    with pytest.raises(DataError) as caught:
        the_vector(_vectors(3, 1), Path("file"), layer, size, layers, "a.layer")
    assert str(caught.value) == said


def test_a_file_without_a_layer_needs_one() -> None:
    bare = LayerVectors({}, unplaced=np.ones(SIZE, dtype=np.float32))
    with pytest.raises(DataError) as caught:
        the_vector(bare, Path("file"), None, SIZE, 8)
    assert str(caught.value) == (
        "the file does not say for which layer its vector is (file): say it with eval.vector.layer, counted from 0"
    )
    for layer in (0, 7):
        assert the_vector(bare, Path("file"), layer, SIZE, 8)[0] == layer
    for layer in (-1, 8):
        with pytest.raises(
            DataError, match=f"^layer {layer} does not exist: the model has layers 0 to 7 .*{OTHER_MODEL}$"
        ):
            the_vector(bare, Path("file"), layer, SIZE, 8)


def test_the_only_layer_of_a_file_need_not_be_named() -> None:
    vectors = _vectors(3)
    layer, vector = the_vector(vectors, Path("file"), None, SIZE, 8)
    assert layer == 3 and vector is vectors.vectors[3]
