"""Reads the outcomes of a run, finished or under way, from its folder; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.comparison.items import Arm, Item
from engine.comparison.methods.esm import ESMReader
from engine.comparison.methods.evolution import EvolutionReader
from engine.comparison.methods.gflownet import GFlowNetReader
from engine.comparison.methods.pool import PoolReader
from engine.comparison.methods.reader import MethodReader
from engine.comparison.methods.slsm import SLSMReader
from engine.comparison.trace import Step
from engine.errors import DataError
from engine.events import Event, ModelLoaded, Unknown, decode
from engine.plugins import plugins
from engine.regular_file import open_to_read
from engine.run.directory import RunDirectory, RunStatus, inspect
from engine.run.event_log import LONGEST_LINE, LogPlace, read_event

_READERS: Sequence[type[MethodReader]] = (ESMReader, EvolutionReader, GFlowNetReader, SLSMReader, PoolReader)
Takers = dict[type[Event], list[MethodReader]]


@dataclass
class RunItems:
    """A run with its outcomes. `models`: loaded models with their fingerprints; `broken`: lines of the log that are no
    events; `missing`: there is no log."""

    status: RunStatus
    arms: dict[tuple[str, str], Arm] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    broken: int = 0
    missing: bool = False
    _readers: dict[str, MethodReader] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.status.directory.path

    def steps(self, arm: Arm, item: Item) -> Sequence[Step]:
        """The item's trace under an arm. Raises DataError where the log has been changed meanwhile."""
        return self._readers[arm.system].steps(arm.name, item, self.read)

    def read(self, place: LogPlace) -> Event:
        """An event of the log, whole. Raises DataError."""
        return read_event(self.status.directory.events, *place)


def read_items(path: Path) -> RunItems:
    """The outcomes of the run at `path`, as far as its log goes. Raises RunError if it is no run, or if a later
    version wrote it."""
    kinds = (*_READERS, *plugins("comparisons").values())
    run = RunItems(inspect(path), _readers={kind.system: kind() for kind in kinds})
    takers: Takers = {}
    for reader in run._readers.values():
        for kind in reader.kinds:
            takers.setdefault(kind, []).append(reader)
    heads = {f'{{"type":"{kind.__name__}"'.encode() for kind in (*takers, ModelLoaded)}
    try:
        since = _begun_again(run)
        for line, place in _lines(RunDirectory(path).events):
            if line[: line.find(b",")] in heads:
                _take(run, takers, line, place, since)
    except FileNotFoundError:
        run.missing = True
    except OSError as error:
        what = f"the log cannot be read: {error.strerror}"
        raise DataError(what=what, where=str(RunDirectory(path).events), hint="make it readable") from error
    run.arms = {arm.key: arm for reader in run._readers.values() for arm in reader.arms()}
    return run


def _begun_again(run: RunItems) -> dict[str, int]:
    """By stage: the byte of the log behind which its events are those of its last attempt."""
    if not run.status.record.begun_again:
        return {}
    since: dict[str, int] = {}
    for line, place in _lines(run.status.directory.events):
        if line.startswith(b'{"type":"StageBegunAgain"'):
            with suppress(msgspec.DecodeError):  # a damaged line, which is counted as one below
                event = decode(line)
                since |= {event.stage: place.offset} if isinstance(event, Event) else {}
    return since


def _take(run: RunItems, takers: Takers, line: bytes, place: LogPlace, since: Mapping[str, int]) -> None:
    try:
        event = decode(line)
    except msgspec.DecodeError:
        run.broken += 1
        return
    if isinstance(event, ModelLoaded):
        run.models[event.name] = event.fingerprint
    elif not isinstance(event, Unknown) and place.offset >= since.get(event.stage, 0):
        for reader in takers[type(event)]:
            reader.take(event, place)


def _lines(path: Path) -> Iterator[tuple[bytes, LogPlace]]:
    """Whole lines without their newline; a last line that is still being written is left alone."""
    offset = 0
    with open_to_read(path) as file:
        # What is longer is no event, and its end will be none either.
        while line := file.readline(LONGEST_LINE):
            if line.endswith(b"\n"):
                yield line[:-1], LogPlace(offset, len(line) - 1)
            offset += len(line)
