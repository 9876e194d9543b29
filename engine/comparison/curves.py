"""The curves of a run's methods, to be laid over those of another run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from engine.comparison.items import Place
from engine.events import AnswersScored, Event, ExampleEvaluated, PoolQueryDone, SamplerStep, SelectorStep


@dataclass(frozen=True)
class CurveKey:
    """What a curve shows: `y` over `x`, both in words."""

    system: str
    y: str
    x: str


ACCURACY = CurveKey("ESM", "accuracy of esm so far", "problems")
COMPOSITE = CurveKey("Evolution", "composite on the minibatch", "iteration")
RESIDUAL = CurveKey("GFlowNet", "mean residual δ", "step")
SUCCESS = CurveKey("GFlowNet", "share of paths that meet an answer", "step")
ORACLE = CurveKey("Pool", "mean oracle@64 at the end so far", "queries")
SELECTOR = CurveKey("Pool", "expected score of the selector", "step")
KEYS = (ACCURACY, COMPOSITE, RESIDUAL, SUCCESS, ORACLE, SELECTOR)
Points = tuple[list[float], list[float]]
"""x and y."""


@dataclass
class CurveReader:
    """Collects points while a log is read. An event that a resumed run repeats replaces the first one."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        AnswersScored, ExampleEvaluated, PoolQueryDone, SamplerStep, SelectorStep,
    )  # fmt: skip
    _at: dict[CurveKey, dict[float, float]] = field(default_factory=dict)
    _running: dict[CurveKey, dict[str, float]] = field(default_factory=dict)

    def take(self, event: Event, place: Place) -> None:
        """Take in an event of one of `kinds`."""
        match event:
            case AnswersScored() if event.split == "minibatch":
                self._point(COMPOSITE, event.iteration, event.composite)
            case SamplerStep():
                self._point(RESIDUAL, event.step, event.residual)
                self._point(SUCCESS, event.step, event.success_mean)
            case SelectorStep():
                self._point(SELECTOR, event.step, event.expected_score)
            case ExampleEvaluated() if event.method == "esm":
                self._running.setdefault(ACCURACY, {})[event.example] = float(event.correct)
            case PoolQueryDone():
                self._running.setdefault(ORACLE, {})[event.query_id] = event.oracle_after

    def _point(self, key: CurveKey, x: float, y: float) -> None:
        self._at.setdefault(key, {})[x] = y

    def curves(self) -> dict[CurveKey, Points]:
        """Those that have points."""
        found = {key: (list(at), list(at.values())) for key, at in self._at.items()}
        for key, values in self._running.items():
            means, total = list[float](), 0.0
            for count, value in enumerate(values.values(), 1):
                total += value
                means.append(total / count)
            found[key] = ([float(count) for count in range(1, len(means) + 1)], means)
        return {key: found[key] for key in KEYS if key in found}
