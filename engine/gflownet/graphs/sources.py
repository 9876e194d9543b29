"""Where raw questions come from, as a configuration names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from engine.config.gflownet import GraphsSection
from engine.gflownet.graphs.generated.questions import GeneratedSource
from engine.gflownet.graphs.raw import RawSample, Unreadable
from engine.parquet import require_pyarrow

ROG_HUB_FILES = "data/*.parquet"
"""In `hub:rmanluo/RoG-webqsp` and `hub:rmanluo/RoG-cwq`."""


class RawSource(Protocol):
    """Gives the questions of a split, the same ones in the same order each time."""

    @property
    def remark(self) -> str:
        """What a check of the configuration says besides the sizes; empty, or it begins with `; `."""
        ...

    def size(self, split: str) -> int:
        """How many rows `read` gives."""
        ...

    def read(self, split: str) -> Iterator[RawSample | Unreadable]:
        """The rows in order. Raises DataError for an unreadable file."""
        ...


def make_source(section: GraphsSection, seed: int) -> RawSource:
    """The configured source. Raises DataError where files are missing."""
    if section.dataset == "rog":
        require_pyarrow("graphs.dataset")
        from engine.gflownet.graphs.rog import RogSource

        return RogSource(section)
    if section.dataset == "pathquestion":
        from engine.gflownet.graphs.pathquestion.source import PathQuestionSource

        return PathQuestionSource(section)
    return GeneratedSource(section, seed)
