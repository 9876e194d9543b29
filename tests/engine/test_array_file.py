"""Files of arrays that lie, and those that pack a lot into little."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.array_file import load_array
from engine.errors import DataError
from engine.torch_file import load_torch


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("mapped", [False, True])
def test_an_array_is_read(tmp_path: Path, mapped: bool) -> None:
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.asfortranarray(np.eye(3)), np.array(5)):
        (tmp_path / "a.npy").write_bytes(_npy(array))
        read = load_array(tmp_path / "a.npy", mapped) if mapped else load_array(tmp_path / "a.npy")
        assert np.array_equal(read, array) and isinstance(read, np.memmap) == mapped


def test_the_second_version_of_the_format_is_read(tmp_path: Path) -> None:
    """numpy writes it where the names of fields are long."""
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, np.arange(3), version=(2, 0))
    assert load_array(tmp_path / "a.npy").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (_npy(np.zeros((3, 4), np.float32)).replace(b"(3, 4), }       ", b"(3, 2000000000)}"), "24,000,000,000 bytes"),
        (_npy(np.zeros((3, 4), np.float32))[:-1], "48 bytes of numbers, there are 47"),
        (_npy(np.array([{}, {}], dtype=object)), "Python objects"),
        (b"\x93NUMPY\x09\x00" + b"\0" * 80, "version"),
        (_npy(np.zeros(3)).replace(b"NUMPY\x01", b"NUMPY\x03"), r"version \(3, 0\) of .npy files is not known"),
        (b"", ""),
        (_npy(np.zeros(3)).replace(b"(3,)", b"(3-)"), ""),
    ],
)  # fmt: skip
def test_a_file_that_is_no_array(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "a.npy").write_bytes(data)
    for mapped in (False, True):
        with pytest.raises(ValueError, match=words):
            load_array(tmp_path / "a.npy", mapped)


def test_a_packed_training_state_is_refused(tmp_path: Path) -> None:
    """`torch.save` packs nothing, and its reader unpacks whatever it is given."""
    torch.save({"a": torch.zeros(1 << 16)}, tmp_path / "s.pt")
    assert load_torch(tmp_path / "s.pt", "m")["a"].shape == (1 << 16,)
    with (
        zipfile.ZipFile(tmp_path / "s.pt") as archive,
        zipfile.ZipFile(tmp_path / "p.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    with pytest.raises(DataError, match="unpack to"):
        load_torch(tmp_path / "p.pt", "m")
