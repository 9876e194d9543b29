"""Arrays from .npy and .npz files, which may lie: no pickled code, no header that claims more than the file holds, no
archive that unpacks to far more than it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from engine.regular_file import open_to_read

_MOST_UNPACKED = 64
"""Times its own size an archive may unpack to: floats hardly shrink."""
_SMALL = 1 << 26
"""Bytes that any archive may unpack to."""


def load_array(path: Path, mapped: bool = False) -> NDArray[Any]:
    """The array of a .npy file; `mapped`: not read into memory. Raises OSError, and ValueError for anything else."""
    with open_to_read(path) as file:
        _check_header(file, path.stat().st_size)
    try:
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # numpy's reader raises what its parser of headers does
        raise _unreadable(error) from error


def load_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """The arrays of a .npz file by name. Raises OSError, and ValueError for anything else."""
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
            _check_unpacked(members, path.stat().st_size)
            for member in members:
                with archive.open(member) as file:
                    _check_header(file, member.file_size)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError):
        raise
    except Exception as error:  # of zipfile, zlib and numpy
        raise _unreadable(error) from error


def is_archive(path: Path) -> bool:
    """Whether a file holds several arrays (.npz), by its first bytes. Raises OSError."""
    with open_to_read(path) as file:
        return file.read(2) == b"PK"


def _check_unpacked(members: list[ZipInfo], size: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(_SMALL, _MOST_UNPACKED * size):
        raise ValueError(f"its {size:,} bytes unpack to {unpacked:,}")


def _check_header(file: IO[bytes], size: int) -> None:
    """That the file holds the numbers its header speaks of: numpy makes room for them before it looks."""
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"version {version} of .npy files is not known here")
        shape, _, dtype = read(file)
    except Exception as error:
        raise _unreadable(error) from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    if any(length < 0 for length in shape):
        raise ValueError(f"its shape {list(shape)} cannot be")
    claimed = dtype.itemsize
    for length in shape:
        claimed *= length
    if claimed > (there := size - file.tell()):
        raise ValueError(f"its header speaks of {claimed:,} bytes of numbers, there are {there:,}")


def _unreadable(error: Exception) -> ValueError:
    text = str(error).partition("\n")[0][:200]
    return ValueError(text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}")
