"""Pools, totals and the selector, folded from the events of their stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.run.event_log import LogPlace

_RIGHT = 1 - 1e-9
"""From this score on an answer is fully right."""


def is_right(score: float | None) -> bool:
    """Whether an answer with this score is fully right."""
    return score is not None and score >= _RIGHT


class QueryRow(NamedTuple):
    """A training query as a list shows it; its pool and trajectories stand in the log.

    `right_before`, `right_after`: distinct fully right trajectories that came with it, and that it ends with.
    """

    query_id: str
    question: str
    given_pool: int
    before: float
    after: float
    right_before: int
    right_after: int
    injected: int
    committed: int
    refused: int
    failed: int
    warning: str
    place: LogPlace


class PickRow(NamedTuple):
    """A held-out query as a list shows it: the score of each method's pick, of random the mean of its draws; None
    where the model failed."""

    query_id: str
    question: str
    selector: float | None
    rices: float | None
    random: float | None
    place: LogPlace

    def sign(self, method: str) -> int:
        """1: the method's pick scores more than that of RICES, -1: less, 0: as much, or one of them failed."""
        score: float | None = getattr(self, method, None)
        return 0 if score is None or self.rices is None else (score > self.rices) - (score < self.rices)


class PoolState(MethodState):
    """Everything the pool screen knows. Read it; only `apply` of a fold changes it.

    `under_way`: of queries that are not finished, the scores of the pairs that were tried.
    """

    title = "Pool"
    stages_shown = ("pool", "selector")
    page = "app.methods.pool.page:PAGE"
    fields_of_stage: ClassVar = {"selector": ("steps", "compared", "picks")}

    def __init__(self) -> None:
        self.queries: AppendOnlyList[QueryRow] = AppendOnlyList()
        self.under_way: dict[str, dict[tuple[int, int], float | None]] = {}
        self.totals: ev.PoolTotals | None = None
        self.steps: AppendOnlyList[ev.SelectorStep] = AppendOnlyList()
        self.compared: dict[str, ev.SelectorCompared] = {}
        self.picks: AppendOnlyList[PickRow] = AppendOnlyList()


PoolState.keeps(ev.PoolTotals, "totals")
PoolState.keeps(ev.SelectorStep, "steps", "step")
PoolState.keeps(ev.SelectorCompared, "compared", "method")


@PoolState.on(ev.PoolPairEvaluated)
def _pair(state: PoolState, event: ev.PoolPairEvaluated, place: LogPlace) -> None:
    state.under_way.setdefault(event.query_id, {})[event.pair] = event.score


@PoolState.on(ev.PoolQueryDone)
def _query(state: PoolState, event: ev.PoolQueryDone, place: LogPlace) -> None:
    state.under_way.pop(event.query_id, None)
    right = [t for t in event.trajectories if is_right(t.score)]
    verdicts = Counter(t.verdict for t in event.trajectories)
    row = row_of(
        QueryRow, event, place,
        before=event.oracle_before, after=event.oracle_after,
        right_before=len({t.pair for t in right if t.verdict == "given"}),
        right_after=len({t.pair for t in right if t.kept}),
        injected=len(event.injected), committed=verdicts["committed"], refused=verdicts["refused"],
    )  # fmt: skip
    state.queries.append(row, key=event.query_id)


@PoolState.on(ev.SelectorPicked)
def _picked(state: PoolState, event: ev.SelectorPicked, place: LogPlace) -> None:
    def score(method: str) -> float | None:
        return _mean([pick.score for pick in event.picks if pick.method == method])

    scores = {method: score(method) for method in ("selector", "rices", "random")}
    row = row_of(PickRow, event, place, **scores)
    state.picks.append(row, key=event.query_id)


def _mean(scores: Iterable[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None
