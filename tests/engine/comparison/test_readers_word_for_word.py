"""The items and the steps of each method in runs made by hand, in which every branch occurs. After a change that is
meant: `pytest tests/engine/comparison/test_readers_word_for_word.py --snapshot-update`, and read the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from engine.comparison.methods.esm import ESMReader
from engine.comparison.methods.evolution import EvolutionReader
from engine.comparison.methods.gflownet import GFlowNetReader
from engine.comparison.methods.pool import PoolReader
from engine.comparison.methods.slsm import SLSMReader
from engine.run.event_log import LogPlace
from tests.app.methods.test_pages_word_for_word import RUNS
from tests.page_text import TextFile

READERS: dict[str, Callable[[], Any]] = {
    "ESM": ESMReader, "Evolution": EvolutionReader, "GFlowNet questions": GFlowNetReader, "Pool": PoolReader,
    "SLSM": SLSMReader,
}  # fmt: skip


def lines(name: str) -> Iterator[str]:
    reader, events = READERS[name](), RUNS[name][0]
    for at, event in enumerate(events):
        if isinstance(event, reader.kinds):
            reader.take(event, LogPlace(at, 1))
    for arm in reader.arms():
        yield f"=== {arm.system} {arm.name}: {arm.stage}, {arm.right_means}"
        for item in arm.items.values():
            yield repr(item)
            yield from (
                f"  {step}" for step in reader.steps(arm.name, item, lambda place: events[place.offset])
            )


@pytest.mark.parametrize("name", READERS)
def test_the_items_and_steps_of_a_method(name: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(lines(name)) + "\n" == snapshot(extension_class=TextFile)
