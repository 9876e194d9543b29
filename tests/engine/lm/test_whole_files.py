"""Models whose files are cut, damaged or of another kind, in the published formats: one error for a check and a run."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from engine.check.finding import Finding, Findings
from engine.check.requirements import _model
from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.loading import whole_files
from engine.lm.loading.gguf_reader import read_header
from engine.lm.loading.load import load_model
from engine.lm.loading.weight_files import total_size, weight_files
from engine.lm.loading.whole_files import check_files
from tests.tiny_models import save_tiny

HEADER = 4 + 4 + 8 + 8
"""Bytes: magic, version, number of tensors, number of fields."""
FIELD = 8 + len("general.architecture") + 4 + 8 + len("llama")
NUMBER = 8 + len("tiny.number") + 4 + 4
WORDS = 8 + len("tiny.words") + 4 + 4 + 8 + (8 + 1) + (8 + 2)
TENSOR = 8 + 1 + 4 + 2 * 8 + 4 + 8
"""Bytes: length and letter of the name, number of dimensions, two of them, type, offset."""
INFOS = HEADER + FIELD + NUMBER + WORDS + 2 * TENSOR
DATA = (INFOS + 31) // 32 * 32
WHOLE = DATA + 4 * 32 * 4 + 3 * 34
"""`a`: 4 times 32 float32, `b`: 3 blocks of 32 numbers in eight bits, each with a scale of two bytes."""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf_bytes(architecture: str = "llama", tensors: int = 2, kind: int = 8) -> bytes:
    """A file of two tensors, byte by byte as the format's page describes it."""
    fields = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    fields += text("tiny.number") + struct.pack("<II", 4, 7)
    fields += text("tiny.words") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
    infos = text("a") + struct.pack("<IQQIQ", 2, 32, 4, 0, 0)
    infos += text("b") + struct.pack("<IQQIQ", 2, 32, 3, kind, 4 * 32 * 4)
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, 3) + fields + infos
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + bytes(4 * 32 * 4 + 3 * 34)


@pytest.fixture
def check(tmp_path: Path) -> Callable[[bytes], None]:
    def check_bytes(content: bytes) -> None:
        file = tmp_path / "model.gguf"
        file.write_bytes(content)
        check_files(str(file))

    return check_bytes


def test_each_part_of_a_model_in_parts_has_to_be_whole(tmp_path: Path) -> None:
    for number, cut in ((1, 0), (2, 1)):
        (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(gguf_bytes()[: WHOLE - cut])
    with pytest.raises(ModelError) as caught:
        check_files(str(tmp_path / "m-00001-of-00002.gguf"))
    assert caught.value.where == str(tmp_path / "m-00002-of-00002.gguf")


def test_a_whole_file_passes(check: Callable[[bytes], None], tmp_path: Path) -> None:
    assert len(gguf_bytes()) == WHOLE
    check(gguf_bytes())
    assert read_header(tmp_path / "model.gguf") == ("llama", WHOLE)
    check(gguf_bytes() + bytes(26))  # padded to the alignment, as the writer does
    infos = gguf_bytes()[INFOS - 2 * TENSOR : INFOS]
    check(gguf_bytes().replace(infos, infos[TENSOR:] + infos[:TENSOR]))
    assert read_header(tmp_path / "model.gguf") == ("llama", WHOLE), "in whatever order tensors are named"


@pytest.mark.parametrize(
    "size",
    [
        4,
        7,
        8,
        HEADER - 1,
        HEADER,
        HEADER + FIELD - 1,
        HEADER + FIELD + NUMBER + 20,
        INFOS - TENSOR,
        INFOS - 1,
    ],
)
def test_a_file_cut_in_its_header(check: Callable[[bytes], None], size: int) -> None:
    with pytest.raises(
        ModelError, match=f"this file is cut within its header, after {size} bytes, or the header is damaged"
    ) as raised:
        check(gguf_bytes()[:size])
    assert (
        raised.value.where.endswith("model.gguf")
        and raised.value.hint == "copy or download the model again, or upgrade the package gguf"
    )


@pytest.mark.parametrize("size", [INFOS, DATA, DATA + 1, DATA + 4 * 32 * 4, WHOLE - 1])
def test_a_file_cut_in_its_weights(check: Callable[[bytes], None], size: int) -> None:
    with pytest.raises(ModelError, match=f"this file is cut: it has {size} of its {WHOLE} bytes"):
        check(gguf_bytes()[:size])


def test_alignment_and_byte_order_are_read_from_the_file(tmp_path: Path) -> None:
    """As the format's own package writes them; the end of the last tensor is the file's, but for its padding."""
    for alignment, order in (
        (32, gguf.GGUFEndian.LITTLE),
        (256, gguf.GGUFEndian.LITTLE),
        (64, gguf.GGUFEndian.BIG),
    ):
        file = tmp_path / f"{alignment}.gguf"
        writer = gguf.GGUFWriter(file, "llama", endianess=order)
        writer.add_custom_alignment(alignment)
        writer.add_array("numbers", [1, 2, 3])
        writer.add_bool("flag", True)
        writer.add_float64("wide", 0.5)
        writer.add_tensor("a", np.zeros((3, 5), dtype=np.float32))
        writer.add_tensor("b", np.zeros(7, dtype=np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        padding = -14 % alignment
        assert read_header(file) == ("llama", file.stat().st_size - padding)


def test_a_header_that_says_too_much_is_damaged_or_cut(check: Callable[[bytes], None]) -> None:
    """Counts beyond the file, numbers as its last field among them, and arrays in arrays without end."""
    field = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 9)
    for content in (
        field + struct.pack("<IQ", 4, 3) + bytes(8),
        field + struct.pack("<IQ", 9, 1) * 5000,
        field + struct.pack("<IQ", 8, 2) + struct.pack("<Q", 2**63) + bytes(16),
        b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63),
        gguf_bytes().replace(struct.pack("<IIQ", 9, 8, 2), struct.pack("<IIQ", 9, 8, 2**60)),
        gguf_bytes().replace(struct.pack("<IIQ", 9, 8, 2), struct.pack("<IIQ", 9, 4, 2**60)),
    ):
        with pytest.raises(ModelError, match=r"is cut within its header, after .*, or the header is damaged"):
            check(content)
    for content in (
        gguf_bytes().replace(struct.pack("<IIQ", 9, 8, 2), struct.pack("<IIQ", 9, 9, 2)),
        gguf_bytes(kind=999),
    ):
        with pytest.raises(ModelError, match="or the header is damaged"):
            check(content)


def test_a_tensor_that_lies_beyond_all_files_is_cut_off(check: Callable[[bytes], None]) -> None:
    """The end of the last tensor is no number of 64 bits any more."""
    infos = struct.pack("<IQ", 8, 4 * 32 * 4)
    assert gguf_bytes().count(infos) == 1
    with pytest.raises(ModelError, match=f"has {WHOLE} of its {DATA + 2**64 - 32 + 3 * 34:,} bytes"):
        check(gguf_bytes().replace(infos, struct.pack("<IQ", 8, 2**64 - 32)))


@pytest.mark.parametrize(
    ("architecture", "what"),
    [
        ("mamba", "the architecture 'mamba' cannot be steered: it is recurrent"),
        ("zzzzz", "has no causal model of the architecture 'zzzzz as a GGUF file'"),
        ("t5", "has no causal model of the architecture 't5'"),
        ("rwkv6", "has no causal model of the architecture 'rwkv6 as a GGUF file'"),
    ],
)
def test_an_architecture_that_cannot_be_steered(
    check: Callable[[bytes], None], architecture: str, what: str
) -> None:
    with pytest.raises(ModelError, match=what) as raised:
        check(gguf_bytes(architecture))
    assert "Qwen2, Llama or Gemma" in raised.value.hint


def test_another_engine_may_take_a_file_of_any_architecture(
    check: Callable[[bytes], None], tmp_path: Path
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(gguf_bytes("mamba"))
    check_files(str(file), steered=False)
    file.write_bytes(gguf_bytes("mamba")[:-1])
    with pytest.raises(ModelError, match="this file is cut"):
        check_files(str(file), steered=False)


def test_a_file_is_not_looked_at_where_nothing_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading says what is lacking."""
    (tmp_path / "model.gguf").write_bytes(gguf_bytes()[:-1])
    monkeypatch.setattr(whole_files, "lacking_packages", lambda: ["gguf"])
    check_files(str(tmp_path / "model.gguf"))


@pytest.mark.parametrize(
    "architecture", ["llama", "qwen2", "qwen2moe", "qwen3moe", "gpt-oss", "gemma3", "minimax-m2"]
)
def test_names_of_llama_cpp_are_known(check: Callable[[bytes], None], architecture: str) -> None:
    check(gguf_bytes(architecture))


# ---------------------------------------------------------------- folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "tiny")


def found(path: Path) -> Finding:
    findings = Findings()
    with findings.at("model.path"):
        _model(findings, "model", ModelSection(backend="transformers", path=str(path), device="cpu"))
    return findings.all[-1]


def refused(path: Path, what: str) -> ModelError:
    """The error of a run; the check says the same."""
    with pytest.raises(ModelError, match=what) as raised:
        load_model(ModelSection(backend="transformers", path=str(path), device="cpu"))
    finding = found(path)
    assert (finding.kind, finding.what, finding.hint) == (
        "wrong",
        f"{raised.value.what} ({raised.value.where})",
        raised.value.hint,
    )
    return raised.value


def test_safetensors_cut_at_any_place(folder: Path) -> None:
    file = folder / "model.safetensors"
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert found(folder).kind == "here"
    for size in (8, 9, 8 + length - 1):
        file.write_bytes(content[:size])
        assert refused(folder, f"it ends within its header, after {size:,} bytes").where == str(file)
    for size in (8 + length, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        refused(folder, f"this file is cut: it has {size:,} of its {len(content):,} bytes")
    for damaged in (
        b"",
        content[:7],
        b"version https://git-lfs.github.com/spec/v1\n",
        b"\x02" + bytes(7) + b"[]",
        b"\x08" + bytes(7) + b'{"a": 5}',
    ):
        file.write_bytes(damaged)
        refused(folder, "no safetensors file" if len(damaged) > 7 else "is cut")


def test_the_header_of_a_model_of_very_many_tensors_is_read_whole(folder: Path) -> None:
    """Hundreds of thousands of bytes: the library refuses more than a hundred million."""
    file = folder / "model.safetensors"
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = b"{" + b" " * 500_000 + content[9 : 8 + length]
    file.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])
    check_files(str(folder))


def test_the_files_of_a_hub_name_are_looked_at_in_the_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "cached_folder", {"owner/name": folder}.get)
    check_files("owner/name")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    check_files("owner/other")
    with pytest.raises(ModelError, match="this file is cut"):
        check_files("owner/name")


def test_a_folder_without_a_configuration_is_left_to_the_library(folder: Path) -> None:
    (folder / "config.json").unlink()
    check_files(str(folder))


def test_a_header_is_read_to_its_last_sign(folder: Path) -> None:
    """Most have spaces behind it."""
    (folder / "model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
    check_files(str(folder))


def test_safetensors_with_something_behind_the_weights(folder: Path) -> None:
    """The library refuses them as well: the file and its header do not belong together."""
    file = folder / "model.safetensors"
    size = len(file.read_bytes())
    with file.open("ab") as opened:
        opened.write(b"xyz")
    refused(folder, f"this file has 3 bytes beyond its {size:,}")


def test_each_shard_of_an_index_is_looked_at(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": names[0], "b": names[1]}})
    )
    (folder / names[0]).write_bytes(content)
    (folder / names[1]).write_bytes(content[:-1])
    assert refused(folder, "this file is cut").where == str(folder / names[1])


def test_what_is_not_loaded_may_be_cut(folder: Path) -> None:
    (folder / "adapter.safetensors").write_bytes(b"1234567890")
    assert found(folder).kind == "here"


def test_an_archive_of_torchs_has_its_table_at_the_end(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    torch.save({"a": torch.zeros(1000)}, file)
    assert found(folder).kind == "here"
    content = file.read_bytes()
    half = len(content) // 2
    file.write_bytes(content[:half])
    refused(folder, f"this file is cut: it ends within its header, after {half:,} bytes")


def test_a_file_of_torchs_of_before_its_archives_passes(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(3)}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    check_files(str(folder))


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"model_type": "mamba"}, "'mamba' cannot be steered: it is recurrent"),
        ({"model_type": "jamba"}, "'jamba' cannot be steered: it is recurrent, in some layers or all"),
        ({"model_type": "zzzzz"}, "no causal model of the architecture 'zzzzz'"),
        ({"model_type": "vit"}, "no causal model of the architecture 'vit'"),
        ({}, "config.json does not name its `model_type`"),
        ([], "config.json does not name its `model_type`"),
    ],
)
def test_a_configuration_of_another_kind(folder: Path, config: object, what: str) -> None:
    (folder / "config.json").write_text(json.dumps(config))
    assert refused(folder, what).where == str(folder / "config.json")


def test_weights_are_safetensors_or_else_of_the_older_kind(tmp_path: Path) -> None:
    """A folder that has both has the model twice."""
    names = (
        "pytorch_model-2.bin",
        "pytorch_model-1.bin",
        "training_args.bin",
        "b.safetensors",
        "a.safetensors",
    )
    for name, size in zip(names, (1, 2, 4, 8, 16), strict=True):
        (tmp_path / name).write_bytes(b"x" * size)
    for name in "hfcedgi":
        (tmp_path / f"{name}.safetensors").touch()
    files = weight_files(tmp_path)
    assert [file.stem for file in files] == list("abcdefghi") and total_size(files) == 24
    for file in files:
        file.unlink()
    older = weight_files(tmp_path)
    assert [file.name for file in older] == ["pytorch_model-1.bin", "pytorch_model-2.bin"]
    assert total_size([*older, *files]) == 3, "of those that are there"
