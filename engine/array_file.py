"""Arrays from .npy files, which may lie: no pickled code, no header that claims more than the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from engine.regular_file import open_to_read


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
