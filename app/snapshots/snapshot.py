"""What a session knows of a log up to some byte: the state there, states on the way, and the index of its events.

A snapshot is used only where it was made by this code from the bytes that stand in the log now. They do if the file
is the one that was read, untouched since (device, inode, size and times are what they were before and after it was
read); else the bytes are read and compared by their checksum. In any doubt there is no snapshot, and the log is read
from its beginning.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from app.snapshots.cache import MOST_BYTES, file_of, make_room
from app.snapshots.code import code_key
from app.snapshots.packing import Packer, Sections, Unpacker
from app.snapshots.section_file import NotWholeError, read_about, read_sections, write_sections
from app.state.event_index import EventIndex, Mark
from app.state.run import RunState
from engine.regular_file import open_to_read

_PIECE = 1 << 22
_NOT_AS_IT_SHOULD_BE = (RuntimeError, ValueError, TypeError, LookupError, AttributeError)
"""Errors that reading a whole file of something else may raise."""
_SETTLED = 2.0
"""Seconds after which a file system surely gives another time to another write."""


class Stamp(NamedTuple):
    """Whether a file is still the one that it was: another of these numbers, and it may not be."""

    device: int
    inode: int
    size: int
    changed: int
    touched: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """None where there is no file."""
        try:
            status = path.stat()
        except OSError:
            return None
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns, status.st_mtime_ns)

    @property
    def settled(self) -> bool:
        """Whether a further write would get another time."""
        return time.time() - max(self.changed, self.touched) / 1e9 > _SETTLED


class Prefix(NamedTuple):
    """The bytes of a log that were read: how many, in how many lines, and their checksum."""

    offset: int = 0
    line: int = 0
    check: int = 0

    def matches(self, log: Path) -> bool:
        """Whether the log begins with these bytes."""
        left, check = self.offset, 0
        try:
            with open_to_read(log) as file:
                while left and (piece := file.read(min(left, _PIECE))):
                    check, left = zlib.crc32(piece, check), left - len(piece)
        except OSError:
            return False
        return not left and check == self.check


@dataclass(frozen=True)
class KeptState:
    """A state on the way. `state` is to be shared before it is folded on."""

    seq: int
    offset: int
    line: int
    state: Callable[[], RunState]


@dataclass(frozen=True)
class Snapshot:
    """`kept`: in the order of the log. `unknown`: skipped events by type; `problems`: what was reported of broken
    lines. `finish`: prepares what is not needed at once, so that nobody has to wait for it later."""

    prefix: Prefix
    state: RunState
    kept: Sequence[KeptState]
    index: EventIndex
    unknown: dict[str, int]
    problems: Sequence[str] = ()
    finish: Callable[[], None] = lambda: None


class _Kept(NamedTuple):
    seq: int
    offset: int
    line: int
    section: int


class _About(msgspec.Struct, array_like=True):
    """What decides whether a snapshot can be used, without reading its sections."""

    code: str
    log: str
    stamp: Stamp | None
    prefix: Prefix


class _Contents(msgspec.Struct, array_like=True):
    """In which sections what is."""

    state: int
    kept: list[_Kept]
    marks: list[Mark]
    arrays: dict[str, int]
    unknown: dict[str, int]
    problems: list[str]


def save(log: Path, snapshot: Snapshot, before: Stamp | None) -> None:
    """Write the snapshot of `log`, where that is possible. `before`: the log's stamp before its first byte was
    read."""
    try:
        path = file_of(log)
        sections = _pack(snapshot)
        if sum(map(len, sections)) > MOST_BYTES:
            return  # `load` would not read it
        stamp = before if before is not None and before == Stamp.of(log) and before.settled else None
        about = _About(code_key(), str(log.resolve()), stamp, snapshot.prefix)
        write_sections(path, msgspec.msgpack.encode(about), sections)
        make_room(path)
    except (OSError, RuntimeError, OverflowError, TypeError, ValueError):
        pass  # a console without a cache reads the log


def load(log: Path) -> tuple[Snapshot, bool] | None:
    """The snapshot of `log`, and whether its stamp was enough to trust it; None where there is none to trust."""
    try:
        path = file_of(log)
        if path.stat().st_size > MOST_BYTES:  # a file of holes claims any size, and room is made for it
            return None
        about = msgspec.msgpack.decode(read_about(path), type=_About)
        if about.code != code_key() or about.log != str(log.resolve()):
            return None
        proven = about.stamp is not None and about.stamp == Stamp.of(log)
        if not proven and not about.prefix.matches(log):
            return None
        snapshot = _unpack(read_sections(path), about.prefix)
    except (OSError, NotWholeError, msgspec.MsgspecError, *_NOT_AS_IT_SHOULD_BE):
        return None
    with suppress(OSError):
        os.utime(path)
    return snapshot, proven


def _pack(snapshot: Snapshot) -> Sections:
    packer = Packer()
    contents = packer.section(b"")
    state = packer.section(packer.state(snapshot.state))
    kept = [_Kept(k.seq, k.offset, k.line, packer.section(packer.state(k.state()))) for k in snapshot.kept]
    arrays = {name: packer.section(values.tobytes()) for name, values in snapshot.index.arrays().items()}
    packer.sections[contents] = msgspec.msgpack.encode(
        _Contents(state, kept, snapshot.index.marks, arrays, snapshot.unknown, list(snapshot.problems))
    )
    return packer.close()


def _unpack(sections: Sections, prefix: Prefix) -> Snapshot:
    contents = msgspec.msgpack.decode(sections[1], type=_Contents)
    unpacker = Unpacker(sections)
    state = RunState()
    unpacker.fill(state, sections[contents.state])
    index = EventIndex()
    index.marks.extend(contents.marks)
    for name, values in index.arrays().items():
        values.frombytes(unpacker.take(contents.arrays[name]))
    end = state.share()
    kept = [_kept(unpacker, end, each, sections) for each in contents.kept]
    return Snapshot(prefix, state, kept, index, contents.unknown, contents.problems, unpacker.find_keys)


def _kept(unpacker: Unpacker, end: RunState, kept: _Kept, sections: Sections) -> KeptState:
    def state() -> RunState:
        made = end.share()
        unpacker.fill(made, sections[kept.section])
        return made

    return KeptState(kept.seq, kept.offset, kept.line, state)
