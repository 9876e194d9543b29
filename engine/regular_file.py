"""Files of a run are opened here: it may come from elsewhere, and a pipe that nobody writes to blocks whoever opens it,
a device never ends, and a link leads what is appended to another file.

Whatever is no regular file is an OSError, as any file that cannot be read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

LARGEST_RECORD = 1 << 26
"""Bytes of a file that is read as a whole before anything is known of it."""
_END = 4096
"""Bytes in which the last line of a text is looked for."""


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. Raises OSError, also for a name that no file can have, and where a file that is
    to be written has a second name."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
    except ValueError:  # a NUL, or half a letter
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    status = os.fstat(descriptor)
    mode = status.st_mode
    shared = status.st_nlink > 1 and flags & os.O_ACCMODE != os.O_RDONLY
    if stat.S_ISREG(mode) and not shared:
        return descriptor
    os.close(descriptor)
    if stat.S_ISREG(mode):
        raise OSError(
            errno.EMLINK, "it has another name, a hard link, under which it would be changed, too", str(path)
        )
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file, but a pipe or a device", str(path))


def check_regular(path: Path) -> None:
    """Before other code opens the file by its name. Raises OSError where it cannot be read or is no regular file."""
    os.close(open_regular(path))


def open_to_read(path: Path) -> BinaryIO:
    """A regular file, to be read. Raises OSError."""
    return os.fdopen(open_regular(path), "rb")


def open_to_append(path: Path, buffering: int = -1) -> BinaryIO:
    """A regular file, made if it is not there, to be appended to; never what a link leads to. Raises
    OSError."""
    return os.fdopen(
        open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW), "ab", buffering
    )


def read_regular(path: Path, largest: int | None = None) -> bytes:
    """The bytes of a regular file. Raises OSError, also where it has more than `largest`."""
    with open_to_read(path) as file:
        if largest is None:
            return file.read()
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EINVAL, f"it is larger than {largest >> 20:,} MiB", str(path))
    return data


def last_line(path: Path) -> str:
    """The last line of a text that says something, as far as it stands at the end; "" where there is none."""
    try:
        with open_to_read(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END))
            lines = file.read(_END).decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def written_from(file: int, offset: int) -> int:
    """Where written bytes go on at `offset` or behind it, and the file's size where none do: a file may have any
    apparent size. `offset` where the system does not know."""
    place = os.lseek(file, 0, os.SEEK_CUR)
    try:
        return os.lseek(file, offset, getattr(os, "SEEK_DATA", os.SEEK_SET))
    except OSError as error:
        return os.fstat(file).st_size if error.errno == errno.ENXIO else offset
    finally:
        os.lseek(file, place, os.SEEK_SET)


def file_stamp(path: Path) -> tuple[int, int]:
    """When it was written and its size, which show whether it has changed; zeros where there is none."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
