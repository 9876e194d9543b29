"""What the settings of a sweep reached: read from the folders of its runs; nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.comparison.run_items import RunItems, read_items
from engine.errors import SteerError
from engine.events.verdict import Verdict, rank
from engine.run.directory import RunRecord, RunStatus
from engine.sweep.sweep import SEED, Point, SweepFolder, SweepRecord

if TYPE_CHECKING:  # numpy: too slow for the console's start
    from engine.statistics import Interval
    from engine.sweep.resolution import Resolution

Key = tuple[str, str]
"""An item's id, and what it asks."""


@dataclass(frozen=True)
class RunScores:
    """A finished run: its verdict, and the scores of the method and of its baseline by item; none where the method's
    items are not scored one by one."""

    verdict: Verdict
    scores: Mapping[Key, float] = field(default_factory=dict)
    base: Mapping[Key, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SettingResult:
    """A setting over all its seeds. `states`: of its runs, "" for one that has not begun; `value`, `baseline_value`:
    means over `n` items; `gain`: the method minus its baseline, with the paired interval. All of the runs that
    are finished; None before."""

    setting: Mapping[str, Any]
    points: tuple[Point, ...]
    states: tuple[str, ...]
    verdict: Verdict | None = None
    n: int = 0
    value: float | None = None
    baseline_value: float | None = None
    gain: Interval | None = None
    tokens: float | None = None
    scores: Mapping[Key, float] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether it has its result: over all its runs."""
        return self.value is not None and all(state == "finished" for state in self.states)


@dataclass(frozen=True)
class SweepResults:
    """`runs`: by run id, of all that have begun. `resolution`: over the settings in `compared`, numbers of `settings`.
    `report`: the chosen setting on the split that played no part in the choice."""

    folder: SweepFolder
    record: SweepRecord
    runs: Mapping[str, RunStatus]
    settings: Sequence[SettingResult]
    resolution: Resolution | None
    compared: Sequence[int]
    report: SettingResult | None
    alive: bool

    @property
    def fields(self) -> list[str]:
        """The fields with several values, without the seed."""
        return [axis.field for axis in self.record.axes if len(axis.values) > 1 and axis.field != SEED]

    @property
    def best(self) -> SettingResult | None:
        """The setting with the best figure; of equal ones that with fewer tokens, then the first."""
        return _best(self.settings)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """By stage: how often it was done, and how often taken over."""
        return stage_counts(status.record for status in self.runs.values())

    @property
    def done(self) -> int:
        """Runs that are finished."""
        return sum(status.state == "finished" for status in self.runs.values())

    @property
    def total(self) -> int:
        """Runs, with the one that is reported."""
        return len(self.record.points) + bool(self.record.choose_on)

    @property
    def state(self) -> str:
        """As the record says; `interrupted` where its queue vanished."""
        if self.record.status in ("running", "prepared") and not self.alive:
            return "interrupted" if self.record.status == "running" else "prepared"
        return self.record.status


def _best(settings: Sequence[SettingResult]) -> SettingResult | None:
    return min((one for one in settings if one.whole), key=_order, default=None)


def _order(one: SettingResult) -> tuple[float, float, int]:
    assert one.verdict is not None and one.value is not None
    return *rank(one.value, one.tokens, one.verdict.lower_is_better), one.points[0].number


class SweepReader:
    """Reads a sweep again and again; the items of a finished run are read once."""

    def __init__(self, folder: SweepFolder) -> None:
        self.folder = folder
        self._scores: dict[str, RunScores | None] = {}

    def read(self) -> SweepResults:
        """The sweep as it is now. Raises RunError if it is none."""
        from engine.sweep.resolution import resolution

        record = self.folder.read()
        runs = {
            point.run_id: status
            for point in record.all_points
            if (status := self.folder.status(point)) is not None
        }
        groups: dict[str, list[Point]] = defaultdict(list)
        for point in record.points:
            groups[str({name: value for name, value in point.setting.items() if name != SEED})].append(point)
        settings = [self._setting(group, runs) for group in groups.values()]
        shared, compared = _table(settings)
        best = next((at for at, number in enumerate(compared) if settings[number] is _best(settings)), None)
        lower = any(one.verdict is not None and one.verdict.lower_is_better for one in settings)
        return SweepResults(
            self.folder, record, runs, settings, resolution(shared, best, lower) if shared else None, compared,
            self._setting([record.report], runs) if record.report else None, self.folder.queue() is not None,
        )  # fmt: skip

    def _setting(self, points: Sequence[Point], runs: Mapping[str, RunStatus]) -> SettingResult:
        setting = {name: value for name, value in points[0].setting.items() if name != SEED}
        states = tuple(runs[point.run_id].state if point.run_id in runs else "" for point in points)
        plain = SettingResult(setting, tuple(points), states)
        done = [point for point, state in zip(points, states, strict=True) if state == "finished"]
        results = [self._of_run(runs[point.run_id].record, self.folder.run(point).path) for point in done]
        known = [scores for scores in results if scores is not None]
        if not known or len(known) < len(results):
            return plain
        return _pooled(plain, known)

    def _of_run(self, record: RunRecord, path: Path) -> RunScores | None:
        if record.run_id not in self._scores:
            self._scores[record.run_id] = _scores(record, path)
        return self._scores[record.run_id]


def _scores(record: RunRecord, path: Path) -> RunScores | None:
    """None without a verdict: then the run has no figure by which settings could be compared."""
    verdict = next((stage.verdict for stage in reversed(record.stages.values()) if stage.verdict), None)
    if verdict is None:
        return None
    try:
        items = read_items(path)
    except SteerError:
        return RunScores(verdict)
    scores, base = _arm(items, verdict.method), _arm(items, verdict.baseline)
    mean = sum(scores.values()) / len(scores) if scores else None
    # Only if the items' scores are what the verdict is about.
    if mean is None or scores.keys() != base.keys() or abs(mean - verdict.value) > 1e-6:
        return RunScores(verdict)
    return RunScores(verdict, scores, base)


def _arm(items: RunItems, name: str) -> dict[Key, float]:
    arm = next((arm for arm in items.arms.values() if arm.name == name), None)
    if arm is None:
        return {}
    return {(item.id, item.asked): item.score for item in arm.items.values() if item.score is not None}


def _pooled(plain: SettingResult, runs: Sequence[RunScores]) -> SettingResult:
    from engine.seeds import derive_seed
    from engine.statistics import Interval, paired_bootstrap

    verdict = runs[0].verdict
    scores, base = _averaged([run.scores for run in runs]), _averaged([run.base for run in runs])
    tokens = [run.verdict.tokens for run in runs if run.verdict.tokens is not None]
    n, value = verdict.n, _mean(run.verdict.value for run in runs)
    base_value, gain = _mean(run.verdict.baseline_value for run in runs), None
    if len(runs) == 1:  # the same comparison has one interval, wherever it is looked at
        gain = Interval(verdict.difference, verdict.low, verdict.high)
    elif scores:  # without items several seeds have a mean, and no interval
        n, value, base_value = len(scores), _mean(scores.values()), _mean(base.values())
        gain = paired_bootstrap(list(scores.values()), list(base.values()), derive_seed(0, "sweep", "gain"))
    return SettingResult(
        plain.setting, plain.points, plain.states, verdict, n, value, base_value, gain,
        _mean(tokens) if tokens else None, scores,
    )  # fmt: skip


def _averaged(tables: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    """Each item's mean over the seeds that have it: its draws are no further items."""
    grouped: dict[Key, list[float]] = defaultdict(list)
    for table in tables:
        for key, score in table.items():
            grouped[key].append(score)
    return {key: _mean(scores) for key, scores in grouped.items()}


def _table(settings: Sequence[SettingResult]) -> tuple[list[list[float]], list[int]]:
    """The scores of the settings that have items, over the items that all of them have."""
    compared = [number for number, one in enumerate(settings) if one.whole and one.scores]
    if not compared:
        return [], []
    keys = set.intersection(*(set(settings[number].scores) for number in compared))
    if not keys:
        return [], []
    ordered = sorted(keys)
    return [[settings[number].scores[key] for key in ordered] for number in compared], compared


def _mean(values: Any) -> float:
    known = list(values)
    return sum(known) / len(known)


def stage_counts(records: Iterable[RunRecord]) -> dict[str, tuple[int, int]]:
    """By stage: how many of the runs did it themselves, and how many took it over."""
    counts: dict[str, tuple[int, int]] = {}
    for record in records:
        for name, stage in record.stages.items():
            done, shared = counts.get(name, (0, 0))
            is_shared = bool(stage.shared_from)
            counts[name] = (done + (stage.status == "finished" and not is_shared), shared + is_shared)
    return counts
