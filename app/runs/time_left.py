"""How long a run will still take, as far as that can be known.

The stage at work goes on at its pace so far. A stage that waits takes as long as it took in earlier runs with the same
configuration, if there were any; in the demo, as long as on two cores, at the pace of the stages that began here. Else
nobody knows, and that is what is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from app.wording.text import counted, duration, listed
from engine.config.changes import differing_fields
from engine.errors import RunError
from engine.run.directory import RunDirectory, RunRecord, run_folders
from engine.run.stage_state import FINISHED, SKIPPED, StageState

_MOST_NAMES = 3
MOST_RUNS = 100
"""Earlier runs that are looked at, the newest first."""

DEMO = {
    "mine": 31.0, "select": 0.5, "memory": 0.5, "eval": 25.0, "clusters": 4.0, "evolve": 27.5, "graphs": 10.0,
    "retriever": 22.5, "agent-graphs": 0.5, "gflownet": 33.5, "answer": 8.0, "slsm": 9.0, "pool": 3.5, "selector": 10.5,
}  # fmt: skip
"""Seconds of the stages of configs/demo.yaml on a machine of two cores."""


@dataclass(frozen=True)
class Earlier:
    """`times`: by stage, its seconds in earlier runs with the same configuration; `shipped`: its seconds on another
    machine."""

    times: Mapping[str, Sequence[float]] = field(default_factory=dict)
    shipped: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TimeLeft:
    """`seconds` of all unfinished stages but those of `unknown`; `from_earlier`: stages that are known from `runs`
    earlier runs; `shipped`: those known from another machine."""

    seconds: float
    unknown: tuple[str, ...] = ()
    from_earlier: tuple[str, ...] = ()
    runs: int = 0
    shipped: tuple[str, ...] = ()

    @property
    def whole(self) -> float | None:
        """Seconds until all stages are done; None where that is not known."""
        return None if self.unknown else self.seconds


def time_left(stages: Iterable[StageState], earlier: Earlier) -> TimeLeft | None:
    """Of a run whose worker works; None where nothing is left to do, and of a server, which works until a stop."""
    stages = list(stages)
    left = [stage for stage in stages if stage.status not in (FINISHED, SKIPPED) and stage.name != "serve"]
    if not left:
        return None
    pace = _pace(stages, earlier.shipped)
    seconds, unknown, known, shipped = 0.0, [], [], []
    for stage in left:
        if stage.eta is not None:
            seconds += stage.eta
        elif stage.active and stage.done >= stage.total > 0:
            pass  # it writes its results
        elif stage.name in earlier.times:
            seconds += median(earlier.times[stage.name]) * (1 - stage.fraction)
            known.append(stage.name)
        elif stage.name in earlier.shipped:
            seconds += pace * earlier.shipped[stage.name] * (1 - stage.fraction)
            shipped.append(stage.name)
        else:
            unknown.append(stage.name)
    runs = max((len(earlier.times[name]) for name in known), default=0)
    return TimeLeft(seconds, tuple(unknown), tuple(known), runs, tuple(shipped))


def _pace(stages: Iterable[StageState], shipped: Mapping[str, float]) -> float:
    """How many times as long the stages that began here take; 1 before anything is known."""
    here = elsewhere = 0.0
    for stage in stages:
        if stage.name in shipped and (seconds := _whole(stage)):
            here, elsewhere = here + seconds, elsewhere + shipped[stage.name]
    return here / elsewhere if here else 1.0


def _whole(stage: StageState) -> float:
    """Seconds of all its items, at the pace so far; 0 where that is not known."""
    if stage.status == FINISHED:
        return stage.seconds
    return 0.0 if stage.eta is None or stage.begun_at else stage.elapsed + stage.eta


def time_left_short(left: TimeLeft) -> str:
    """`all stages 12:30`, or `all stages: not known yet`."""
    return "all stages: not known yet" if left.whole is None else f"all stages {duration(left.whole)}"


def time_left_sentence(left: TimeLeft) -> str:
    """`about 12:30 left (eval as in 2 earlier runs)`; `at least 0:42 left, without select and eval: no
    earlier run tells how long that takes`."""
    if left.unknown and not left.seconds:
        return f"time left not known yet: no earlier run tells how long {_listed(left.unknown)} will take"
    if left.unknown:
        least = f"at least {duration(left.seconds)} left"
        return f"{least}, without {_listed(left.unknown)}: no earlier run tells how long that takes"
    sources = []
    if left.from_earlier:
        sources.append(f"{_listed(left.from_earlier)} as in {counted(left.runs, 'earlier runs')}")
    if left.shipped:
        sources.append(f"{_listed(left.shipped)} as on another machine, at the pace here")
    return f"about {duration(left.seconds)} left" + (f" ({'; '.join(sources)})" if sources else "")


def _listed(stages: Sequence[str]) -> str:
    if len(stages) > _MOST_NAMES:
        return f"{len(stages)} stages"
    return listed(stages)


def earlier_times(record: RunRecord, others: Iterable[RunRecord]) -> Earlier:
    """How long the stages took in `others`, as far as they are runs with the configuration of `record`: name, seed,
    place and choice of stages may differ, and fields that only one of two versions has. Of the demo, also how long they
    took elsewhere."""
    setting = _setting(record)
    times: dict[str, list[float]] = {}
    for other in others:
        if other.run_id != record.run_id and _agree(setting, _setting(other)):
            for name, stage in other.stages.items():
                if name in record.stages and stage.status == "finished":
                    times.setdefault(name, []).append(stage.seconds)
    return Earlier(times, DEMO if record.name == "demo" and record.stages.keys() <= DEMO.keys() else {})


def read_earlier_times(run: Path) -> Earlier:
    """The same for the runs in the outputs folder of `run`."""
    try:
        record = RunDirectory(run).read()
    except RunError:
        return Earlier()
    paths = sorted(run_folders(run.absolute().parent.parent), key=lambda path: path.name, reverse=True)
    return earlier_times(record, _records(paths[:MOST_RUNS]))


def _records(paths: Iterable[Path]) -> Iterable[RunRecord]:
    for path in paths:
        try:
            yield RunDirectory(path).read()
        except RunError:
            continue


def _setting(record: RunRecord) -> dict[str, object]:
    return {name: section for name, section in record.config.items() if name != "run"}


def _agree(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return not any(all(texts) for texts in differing_fields((one, other)).values())
