"""Base of a method's part of the configuration: its sections as fields, and its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from engine.config.section import Section


@dataclass(frozen=True)
class StageEntry:
    """`target` is `module:Class`, imported when the stage runs; `needs` are the stages whose files it reads; `writes`
    are patterns of the files and folders that are its own, below the run's folder: they are put aside when the stage is
    begun again. `reads` are the sections and fields of the configuration that its result depends on, `reads_if` those
    that count only where the field before them is true. Without `reads` a sweep does the stage anew in every run."""

    name: str
    target: str
    needs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    reads_if: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


class MethodSections(Section):
    """Base class for each method: a field for each of its sections, and `stage_entries` in their order."""

    stage_entries: ClassVar[tuple[StageEntry, ...]] = ()
