"""How long a run will still take, as far as that can be known.

The stage at work goes on at its pace so far. A stage that waits takes as long as it took in earlier runs with the same
configuration, if there were any; else nobody knows, and that is what is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from app.wording.stage_words import listed
from app.wording.text import counted, duration
from engine.config.changes import differing_fields
from engine.errors import RunError
from engine.run.directory import RunDirectory, RunRecord
from engine.run.stage_state import FINISHED, SKIPPED, StageState

_MOST_NAMES = 3
MOST_RUNS = 100
"""Earlier runs that are looked at, the newest first."""

Earlier = Mapping[str, Sequence[float]]
"""By stage: its seconds in earlier runs with the same configuration."""


@dataclass(frozen=True)
class TimeLeft:
    """`seconds` of all unfinished stages but those of `unknown`; `from_earlier`: stages of which earlier runs tell,
    `runs` of them."""

    seconds: float
    unknown: tuple[str, ...] = ()
    from_earlier: tuple[str, ...] = ()
    runs: int = 0

    @property
    def whole(self) -> float | None:
        """Seconds until all stages are done; None where that is not known."""
        return None if self.unknown else self.seconds


def time_left(stages: Iterable[StageState], earlier: Earlier) -> TimeLeft | None:
    """Of a run whose worker works; None where nothing is left to do, and of a server, which works until a stop."""
    left = [stage for stage in stages if stage.status not in (FINISHED, SKIPPED) and stage.name != "serve"]
    if not left:
        return None
    seconds, unknown, known = 0.0, [], []
    for stage in left:
        if stage.eta is not None:
            seconds += stage.eta
        elif stage.active and stage.done >= stage.total > 0:
            pass  # it writes its results
        elif stage.name in earlier:
            seconds += median(earlier[stage.name]) * (1 - stage.fraction)
            known.append(stage.name)
        else:
            unknown.append(stage.name)
    runs = max((len(earlier[name]) for name in known), default=0)
    return TimeLeft(seconds, tuple(unknown), tuple(known), runs)


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
    if not left.from_earlier:
        return f"about {duration(left.seconds)} left"
    runs = counted(left.runs, "earlier runs")
    return f"about {duration(left.seconds)} left ({_listed(left.from_earlier)} as in {runs})"


def _listed(stages: Sequence[str]) -> str:
    if len(stages) > _MOST_NAMES:
        return f"{len(stages)} stages"
    return listed(stages)


def earlier_times(record: RunRecord, others: Iterable[RunRecord]) -> dict[str, list[float]]:
    """How long the stages took in `others`, as far as they are runs with the configuration of `record`: name, seed,
    place and choice of stages may differ, and fields that only one of two versions has."""
    setting = _setting(record)
    times: dict[str, list[float]] = {}
    for other in others:
        if other.run_id != record.run_id and _agree(setting, _setting(other)):
            for name, stage in other.stages.items():
                if name in record.stages and stage.status == "finished":
                    times.setdefault(name, []).append(stage.seconds)
    return times


def read_earlier_times(run: Path) -> dict[str, list[float]]:
    """The same for the runs in the outputs folder of `run`."""
    outputs = run.absolute().parent.parent
    try:
        record = RunDirectory(run).read()
        records = sorted(outputs.glob("*/*/run.json"), key=lambda path: path.parent.name, reverse=True)
    except (RunError, OSError):
        return {}
    return earlier_times(record, _records(records[:MOST_RUNS]))


def _records(paths: Iterable[Path]) -> Iterable[RunRecord]:
    for path in paths:
        try:
            yield RunDirectory(path.parent).read()
        except (RunError, OSError):
            continue


def _setting(record: RunRecord) -> dict[str, object]:
    return {name: section for name, section in record.config.items() if name != "run"}


def _agree(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return not any(all(texts) for texts in differing_fields((one, other)).values())
