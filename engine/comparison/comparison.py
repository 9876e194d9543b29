"""Two runs compared: changed fields, what stands in the way of a fair comparison, and each method's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.comparison.fields import ChangedField, changed_fields
from engine.comparison.figures import Figures, figures
from engine.comparison.items import Arm, Item
from engine.comparison.pairing import Paired, pair_items
from engine.comparison.remarks import remarks
from engine.comparison.run_items import RunItems, read_items
from engine.comparison.trace import AlignedTraces, align
from engine.errors import RunError

BOOTSTRAP_SEED = 0
"""Of every interval here: the same two runs have the same intervals, whatever their own seeds."""


@dataclass(frozen=True)
class ArmPair:
    """An arm that both runs have, with its items in pairs and its figures."""

    a: Arm
    b: Arm
    paired: Paired
    figures: Figures


@dataclass(frozen=True)
class Comparison:
    """`remarks`: lines about what differs besides the changed fields, and what could not be compared."""

    a: RunItems
    b: RunItems
    changed: list[ChangedField]
    remarks: list[str]
    arms: list[ArmPair]

    def traces(self, arm: ArmPair, first: Item, second: Item) -> AlignedTraces:
        """Both traces of an item, and where they part. Raises DataError where a log was changed meanwhile."""
        return align(self.a.steps(arm.a, first), self.b.steps(arm.b, second))


def compare_runs(a: Path, b: Path) -> Comparison:
    """Compare two runs, finished or under way. Raises RunError if one is no run or both are the same."""
    if a.resolve() == b.resolve():
        raise RunError(what="these are the same run", where=str(a), hint="name two different runs")
    first, second = read_items(a), read_items(b)
    arms = [_arm_pair(first.arms[key], second.arms[key]) for key in first.arms if key in second.arms]
    changed = changed_fields(first.status.record.config, second.status.record.config)
    notes = remarks(first, second, [(pair.a, pair.paired) for pair in arms])
    return Comparison(first, second, changed, notes, arms)


def _arm_pair(a: Arm, b: Arm) -> ArmPair:
    paired = pair_items(a, b)
    return ArmPair(a, b, paired, figures(paired.pairs, BOOTSTRAP_SEED))
