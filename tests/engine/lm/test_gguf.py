"""Models in one GGUF file: the same model as the folder it was written from."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, quants
from transformers.modeling_gguf_pytorch_utils import GGUFTensor, LlamaTensorProcessor, TensorProcessor

from engine.check.finding import Findings
from engine.check.requirements import _model
from engine.config.models.model import ModelSection
from engine.errors import ModelAbsent, ModelError
from engine.lm.loading import gguf_weights, pretrained
from engine.lm.loading.gguf_file import gguf_file, gguf_parts
from engine.lm.loading.gguf_reader import _check_count, reading
from engine.lm.loading.int8_linear import Int8Weights
from engine.lm.loading.load import load_model
from engine.lm.loading.model_size import model_size
from engine.lm.loading.pretrained import load_pretrained, load_text_side, model_fingerprint
from engine.lm.protocol import Request, Sampling, Steer
from tests.engine.lm.same import assert_same
from tests.exactly import exactly
from tests.tiny_models import save_tiny

TEMPLATE = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"), "qwen2", TEMPLATE)


@pytest.fixture(scope="module")
def file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def write_gguf(folder: Path, path: Path, tensors_a_part: int = 0, template: str = TEMPLATE) -> Path:
    """A Qwen2 folder as llama.cpp's converter writes it, in float32: in one file, or in parts whose first is
    returned. Tied weights once."""
    pretrained = load_pretrained(str(folder), "cpu", "float32")
    config, tokenizer = pretrained.model.config, pretrained.tokenizer
    writer = gguf.GGUFWriter(path, "qwen2", split_max_tensors=tensors_a_part)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, tokenizer, config.vocab_size, template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in pretrained.model.state_dict().items():
        stem, _, kind = name.rpartition(".")
        if stem == "lm_head" and config.tie_word_embeddings:
            continue
        writer.add_tensor(f"{names.get_name(stem)}.{kind}", tensor.numpy().astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return next(iter(sorted(path.parent.glob(f"{path.stem}-00001-of-*.gguf"))), path)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any, size: int, template: str) -> None:
    tokens = tokenizer.convert_ids_to_tokens(range(size))
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    kinds = {
        token: gguf.TokenType.CONTROL if added.special else gguf.TokenType.USER_DEFINED
        for token, added in tokenizer.added_tokens_decoder.items()
    }
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in range(size)])
    writer.add_token_merges([" ".join(pair) if isinstance(pair, list) else pair for pair in merges])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(template)


def test_it_writes_what_the_folder_writes(
    folder: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Greedy, sampled and steered; only the additional ends of the generation settings are not in the file. Loading
    prints nothing."""
    there = load_model(ModelSection(backend="transformers", path=str(folder), device="cpu", dtype="float32"))
    here = load_model(ModelSection(backend="transformers", path=str(file), device="cpu", dtype="float32"))
    assert capsys.readouterr() == ("", "")
    assert (here.info.num_layers, here.info.hidden_size) == (there.info.num_layers, there.info.hidden_size)
    assert here.tokenizer.encode_chat("Ann has 12 apples.") == there.tokenizer.encode_chat(
        "Ann has 12 apples."
    )
    vector = np.ones(here.info.hidden_size, dtype=np.float32)
    prompt = here.tokenizer.encode("Ben has 40 pens.\n\n")
    requests = [
        Request(prompt, Sampling(12)),
        Request(prompt, Sampling(12, 1.0), seed=3),
        Request(prompt, Sampling(12), steer=Steer(vector, 1, 2.0), capture_layers=(1,), capture_after="e"),
    ]
    ours, theirs = here.generate(requests), there.generate(requests)
    ended = [completion.ended == "eos" for completion in theirs]
    assert not all(ended), "nothing is compared"
    assert_same(
        [one for one, end in zip(ours, ended, strict=True) if not end],
        [one for one, end in zip(theirs, ended, strict=True) if not end],
    )


def test_the_ending_may_be_written_large(file: Path, tmp_path: Path) -> None:
    large = tmp_path / "TINY.GGUF"
    large.symlink_to(file)
    assert gguf_file(str(large)) == large and gguf_file(str(tmp_path)) is None


def test_the_ending_of_a_part_may_be_written_large() -> None:
    parts = gguf_parts(Path("BIG-00001-OF-00002.GGUF")), gguf_parts(Path("big-00001-of-00002.GGUF"))
    assert [[part.name for part in names] for names in parts] == [
        ["BIG-00001-of-00002.GGUF", "BIG-00002-of-00002.GGUF"],
        ["big-00001-of-00002.GGUF", "big-00002-of-00002.GGUF"],
    ]


def test_a_name_that_is_like_that_of_a_part_of_none_is_one_file() -> None:
    assert gguf_parts(Path("odd-00001-of-00000.gguf")) == [Path("odd-00001-of-00000.gguf")]


def test_the_home_folder_of_a_file_may_be_written_short(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tiny.gguf").symlink_to(file)
    assert gguf_file("~/tiny.gguf") == tmp_path / "tiny.gguf"


def test_the_settings_of_another_model_beside_a_file_do_not_end_its_texts(file: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").symlink_to(file)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 8]}))
    alone = load_text_side(str(file)).eos
    assert alone and not alone & {7, 8}
    for load in (load_text_side, lambda path: load_pretrained(path, "cpu", "float32")):
        assert load(str(tmp_path / "tiny.gguf")).eos == alone


def test_a_fingerprint_goes_with_the_contents(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other-name.gguf"
    copy.write_bytes(file.read_bytes())
    assert model_fingerprint(str(copy)) == model_fingerprint(str(file))
    changed = bytearray(file.read_bytes())
    changed[-1] ^= 1
    copy.write_bytes(changed)
    assert model_fingerprint(str(copy)) != model_fingerprint(str(file))


def test_the_text_side_needs_no_weights(folder: Path, file: Path) -> None:
    here, there = load_text_side(str(file)), load_text_side(str(folder))
    assert here.vocab_size == there.vocab_size
    assert here.tokenizer.encode("3 + 4") == there.tokenizer.encode("3 + 4")


@pytest.fixture
def parts(folder: Path, tmp_path: Path) -> list[Path]:
    write_gguf(folder, tmp_path / "big.gguf", tensors_a_part=16)
    return sorted(tmp_path.glob("big-*.gguf"))


def test_a_model_in_parts_is_as_large_as_all_of_them(parts: list[Path]) -> None:
    config = ModelSection(backend="transformers", path=str(parts[0]), device="cpu")
    assert model_size(config) == sum(part.stat().st_size for part in parts)


def test_parts_are_read_as_one_model(file: Path, parts: list[Path]) -> None:
    assert len(parts) == 3
    whole, there = (
        load_pretrained(str(file), "cpu", "float32"),
        load_pretrained(str(parts[0]), "cpu", "float32"),
    )
    expected = whole.model.state_dict()
    found = there.model.state_dict()
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_array_equal(found[name].numpy(), tensor.numpy(), err_msg=name)
    assert gguf.GGUFReader.__module__ == "gguf.gguf_reader", "the package is left as it was"


def test_the_header_is_read_as_by_the_package(file: Path) -> None:
    expected = gguf.GGUFReader(file)
    with reading(file) as whole:
        fields = whole().fields
    assert list(fields) == list(expected.fields)
    for name, field in expected.fields.items():
        assert (fields[name].types, fields[name].contents()) == (field.types, field.contents()), name


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_of_every_kind_are_read_as_by_the_package(order: str, tmp_path: Path) -> None:
    """Empty ones and arrays of arrays, too, which the package gives as one; in a file of either order of bytes."""

    def packed(form: str, *values: float) -> bytes:
        return struct.pack(order + form, *values)

    def text(value: str) -> bytes:
        return packed("Q", len(value)) + value.encode()

    fields = [
        text("empty") + packed("IIQ", 9, 4, 0),
        text("bytes") + packed("IIQ3B", 9, 0, 3, 1, 2, 3),
        text("numbers") + packed("IIQ3f", 9, 6, 3, 0.5, 1, -2),
        text("rows") + packed("IIQ", 9, 9, 2) + packed("IQ2I", 4, 2, 7, 8) + packed("IQI", 4, 1, 9),
        text("words") + packed("IIQ", 9, 8, 2) + text("a") + text("bc"),
    ]
    file = tmp_path / "arrays.gguf"
    file.write_bytes(b"GGUF" + packed("IQQ", 3, 0, len(fields)) + b"".join(fields))
    expected = gguf.GGUFReader(file).fields
    with reading(file) as whole:
        found = whole().fields
    contents = {
        "empty": [], "bytes": [1, 2, 3], "numbers": [0.5, 1, -2], "rows": [7, 8, 9], "words": ["a", "bc"]
    }  # fmt: skip
    assert {name: found[name].contents() for name in contents} == contents
    assert {name: found[name].types for name in contents} == {name: expected[name].types for name in contents}


def test_another_file_is_read_as_ever_and_the_package_is_left_as_it_was(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    before = gguf.GGUFReader, gguf.get_tensor_name_map
    with reading(file) as whole:
        link = tmp_path / "link.gguf"
        link.symlink_to(file)
        assert gguf.GGUFReader(link) is whole() and whole().tensors
        assert type(gguf.GGUFReader(other)) is before[0] and gguf.GGUFReader(other).tensors == []
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == before


def test_what_was_read_of_all_parts_is_given_back(parts: list[Path]) -> None:
    advised: list[tuple[str, int]] = []

    def mapped(name: str) -> Any:
        return SimpleNamespace(_mmap=SimpleNamespace(madvise=lambda advice: advised.append((name, advice))))

    with reading(parts[0]) as whole:
        reader = whole()
        assert [Path(array.filename).name for array in reader.mapped] == [part.name for part in parts]
        reader.mapped = [mapped("one"), mapped("two")]
        reader.forget_pages()
    assert advised == [("one", mmap.MADV_DONTNEED), ("two", mmap.MADV_DONTNEED)]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    "kind", sorted({*quants._type_traits, GGMLQuantizationType.F16, GGMLQuantizationType.F32})
)
def test_every_type_is_unpacked_as_by_the_package(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows of two blocks, whose bytes are random, in pieces of two rows: what is no number stays none."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    numbers = {GGMLQuantizationType.F16: np.float16, GGMLQuantizationType.F32: np.float32}.get(kind, np.uint8)
    data = np.random.default_rng(0).integers(0, 256, (3, 2 * size), np.uint8).view(numbers)
    shape = np.array([2 * block, 3])
    monkeypatch.setattr(gguf_weights, "CHUNK", 4 * block)
    packed = SimpleNamespace(name="token_embd.weight", data=data, shape=shape, tensor_type=kind)
    for dtype in (torch.float32, torch.bfloat16):
        expected = torch.from_numpy(np.array(gguf.dequantize(data, kind))).to(dtype)
        reader = SimpleNamespace(forget_pages=lambda: None)
        unpacked = gguf_weights.FileWeight(reader, packed, None, dtype, "weight")[...]
        assert unpacked.dtype == dtype and unpacked.shape == (3, 2 * block)
        np.testing.assert_array_equal(unpacked.float().numpy(), expected.float().numpy())


def test_a_row_that_is_longer_than_a_piece_is_unpacked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_weights, "CHUNK", 4)
    numbers = torch.empty(2, 5)
    data = np.arange(10, dtype=np.float32).reshape(2, 5)
    gguf_weights._unpack(SimpleNamespace(data=data, tensor_type=GGMLQuantizationType.F32), numbers)
    assert numbers.tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_weights_are_rounded_to_8_bits_as_they_are_in_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not first to the number type of the model that the others go into."""
    monkeypatch.setattr(pretrained, "check_int8", lambda device: None)
    monkeypatch.setattr(pretrained, "round_linear_layers", lambda model, weights: kept.update(weights))
    monkeypatch.setattr(pretrained, "pick_dtype", lambda *args: (torch.bfloat16, ""))
    kept: dict[str, Int8Weights] = {}
    load_pretrained(str(file), "cpu", "int8")
    name = "model.layers.1.mlp.up_proj.weight"
    there = {one.name: np.array(one.data) for one in gguf.GGUFReader(file).tensors}["blk.1.ffn_up.weight"]
    expected = Int8Weights(torch.from_numpy(there))
    assert torch.equal(kept[name].numbers, expected.numbers)
    assert torch.equal(kept[name].scales, expected.scales)


def test_a_tensor_that_the_model_has_no_place_for_is_left_out(
    folder: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Llama 3.1's files have a table of rotary frequencies, which the configuration says as well."""
    write = gguf.GGUFWriter.write_header_to_file

    def with_one_more(writer: Any) -> None:
        writer.add_tensor("rope_freqs.weight", np.ones(4, dtype=np.float32))
        write(writer)

    expected = load_pretrained(str(file), "cpu", "float32").model.state_dict()
    monkeypatch.setattr(gguf.GGUFWriter, "write_header_to_file", with_one_more)
    more = write_gguf(folder, tmp_path / "more.gguf")
    found = load_pretrained(str(more), "cpu", "float32").model.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


class _Changing(TensorProcessor):
    """Turns the rows of matrices round and takes 1 from norms, as the library does for some architectures."""

    def process(self, weights: Any, name: str, **options: Any) -> Any:
        changed = weights - 1 if "norm" in name else weights[::-1] if weights.ndim == 2 else weights
        return GGUFTensor(weights if name in gguf_weights._TABLES else changed, name, {})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("processor", [TensorProcessor, LlamaTensorProcessor, _Changing])
def test_the_weights_are_those_of_the_library(
    file: Path, processor: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(gguf_weights.TENSOR_PROCESSORS, "qwen2", processor)
    unpacked = load_pretrained(str(file), "cpu", dtype).model.state_dict()
    monkeypatch.setattr(pretrained, "file_model", lambda *args: None)
    expected = load_pretrained(str(file), "cpu", dtype).model.state_dict()
    assert list(unpacked) == list(expected)
    assert [name for name in expected if not torch.equal(unpacked[name], expected[name])] == []
    assert {tensor.dtype for tensor in unpacked.values()} == {getattr(torch, dtype)}


@pytest.mark.parametrize(("name", "known"), [("blk.0.ffn_up_exps.weight", True), ("x", False)])
def test_what_needs_the_library_is_left_to_it(
    file: Path, name: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(*args: Any) -> dict[str, str]:
        if known:
            return {}
        raise NotImplementedError

    config = load_pretrained(str(file), "cpu", "float32").model.config
    monkeypatch.setattr(gguf_weights, "get_gguf_hf_weights_map", names)
    field = SimpleNamespace(contents=lambda: "qwen2")
    reader = SimpleNamespace(tensors=[SimpleNamespace(name=name)], get_field=lambda key: field)
    assert gguf_weights.file_model(reader, config, torch.float32, {}) is None


def test_a_file_is_parsed_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the library's four parses of a header costs seconds. It is looked over once before."""
    parsed: list[object] = []
    parse = gguf.GGUFReader.__init__

    def counting(reader: Any, path: Any, *args: Any) -> None:
        parsed.append(path)
        parse(reader, path, *args)

    monkeypatch.setattr(gguf.GGUFReader, "__init__", counting)
    load_pretrained(str(file), "cpu", "float32")
    assert parsed == [file] * 2
    load_text_side(str(file))
    assert parsed == [file] * 4


def test_a_file_is_not_read_by_the_library_beside_us(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pretrained.transformers.AutoModelForCausalLM,
        "from_pretrained",
        lambda *args, **how: pytest.fail("read"),
    )
    loaded = load_pretrained(str(file), "cpu", "float32")
    assert not loaded.model.training and {weight.requires_grad for weight in loaded.model.parameters()} == {
        False
    }
    assert (loaded.dtype, loaded.dtype_reason) == ("float32", "")


def test_a_fingerprint_goes_with_every_part(parts: list[Path]) -> None:
    before = model_fingerprint(str(parts[0]))
    for part in parts:
        content = part.read_bytes()
        part.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert model_fingerprint(str(part.parent / parts[0].name)) != before
        part.write_bytes(content)


def test_parts_that_do_not_make_a_model_are_one_error(parts: list[Path]) -> None:
    first, second, third = map(str, parts)
    for number, path in ((2, second), (3, third)):
        said = (
            f"this is part {number} of 3 of a model ({path}): give the first part, beside which the others lie: "
            f"{first}"
        )
        with pytest.raises(ModelError, match=exactly(said)):
            gguf_file(path)
    content = parts[1].read_bytes()
    parts[1].write_bytes(parts[2].read_bytes())
    with pytest.raises(ModelError, match="the parts hold"):
        load_pretrained(first, "cpu", "float32")
    parts[1].write_bytes(content[:2])
    said = f"this is no GGUF file ({second}): copy or download the model again"
    with pytest.raises(ModelError, match=exactly(said)):
        gguf_file(first)
    parts[1].unlink()
    said = f"part 2 of 3 of this model is missing ({first}): put {parts[1].name} beside it"
    with pytest.raises(ModelError, match=exactly(said)):
        gguf_file(first)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("gone.gguf", None, "cannot read the file: No such file or directory (…): correct `model.path`"),
        ("text.gguf", b"hello", "this is no GGUF file (…): copy or download the model again"),
        ("short.gguf", b"GGU", "this is no GGUF file (…): copy or download the model again"),
        (
            "cut.gguf",
            b"GGUF\x03\0\0\0",
            "this file is cut within its header, after 8 bytes, or the header is damaged (…): copy or download the "
            "model again, or upgrade the package gguf",
        ),
        (
            "model-00001-of-00003.gguf",
            b"GGUF",
            "part 2 of 3 of this model is missing (…): put model-00002-of-00003.gguf beside it",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(
    tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=exactly(told)) as caught:
        load_text_side(str(tmp_path / name))
    assert caught.value.where == str(tmp_path / name)
    assert isinstance(caught.value, ModelAbsent) == (content is None)


def test_half_a_file_is_one_error(file: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ModelError, match=r"this file is cut: .*half\.gguf"):
        load_pretrained(str(half), "cpu", "float32")


@pytest.mark.parametrize("lacking", [[], ["gguf"], ["accelerate"], ["gguf", "accelerate"]])
def test_the_check_says_what_is_missing(
    file: Path, lacking: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine.check.requirements as requirements
    import engine.lm.loading.gguf_file as reading

    known = requirements.package_version
    for module in (requirements, reading):
        monkeypatch.setattr(module, "package_version", lambda name: None if name in lacking else known(name))
    findings = Findings()
    _model(findings, "model", ModelSection(backend="transformers", path=str(file)))
    assert [finding for finding in findings.all if "gguf" in finding.hint] == [] or lacking
    if lacking:
        needed = f"a GGUF file needs {' and '.join(lacking)} ({file}): pip install 'steer-tui[gguf]'"
        with pytest.raises(ModelError, match=exactly(needed)):
            load_text_side(str(file))
    else:
        assert any(str(file) in finding.what for finding in findings.all)


def test_parts_that_lack_tensors_are_counted() -> None:
    def read(count: int | None) -> Any:
        field = None if count is None else SimpleNamespace(contents=lambda: count)
        return SimpleNamespace(get_field={"split.tensors.count": field}.get, tensors=["a", "b"])

    _check_count(read(None))
    _check_count(read(2))
    with pytest.raises(ValueError, match=exactly("the parts hold 2 of the model's 5 tensors")):
        _check_count(read(5))
