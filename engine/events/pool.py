"""Events of the stages pool and selector."""

from __future__ import annotations

import msgspec

from engine.events.base import Event


class PoolTrajectory(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A pair of demonstrations a query was asked with. `pair`: rows of the table, in the prompt's order; `score`: VQA
    accuracy, None where the model failed; `origin`: gen_method; `verdict`: given, committed or refused, by `rule`;
    `kept`: how often it stands in the final data; `answer`: the model's, of what was asked in this run."""

    pair: tuple[int, int]
    score: float | None
    origin: str
    verdict: str
    rule: str = ""
    kept: int = 0
    answer: str = ""


class PoolPairEvaluated(Event, tag=True, kw_only=True, frozen=True):
    """The model was asked a training query with a pair of demonstrations. `pair`: rows of the table, in the prompt's
    order; `score`: VQA accuracy, None where the model failed."""

    query_id: str
    pair: tuple[int, int]
    score: float | None
    answer: str = ""


class PoolQueryDone(Event, tag=True, kw_only=True, frozen=True):
    """A training query has its final pool and trajectories (a line of `pool/decisions.jsonl`).

    `answers`: what people said, with how many said it. `given_pool`: size of the pool as it came. `pool_before`: its
    64 rows before injection, of which `filled` were added to make 64 and `cut` rows were taken out; `pool_after`:
    after; both by place. `injected`: places with new rows; `referenced`: places that the final trajectories point to;
    `similarity`: of `pool_after`. Oracles: best score known of a pair in the pool, of those that came with the data,
    and of all after injection. `dropped`: candidates and trajectories by reason. `asked`, `failed`: pairs
    the model was asked with. `picture`: of the included digits, the pixels that tell this
    query from that of another seed; a hexadecimal digit each.
    """

    query_id: str
    question: str
    answers: dict[str, int]
    given_pool: int
    pool_before: list[int]
    pool_after: list[int]
    similarity: list[float]
    injected: list[int]
    referenced: list[int]
    oracle_before: float
    oracle_after: float
    trajectories: list[PoolTrajectory]
    filled: int = 0
    cut: int = 0
    dropped: dict[str, int] = {}
    asked: int = 0
    failed: int = 0
    warning: str = ""
    picture: str = ""


class OracleTotal(msgspec.Struct, kw_only=True, frozen=True):
    """oracle@64 over queries: its `mean`, and how many are `positive`, that is have a fully right pair. `low`, `high`:
    95% Wilson interval of the share of those."""

    mean: float
    positive: int
    low: float
    high: float


class PoolTotals(Event, tag=True, kw_only=True, frozen=True):
    """All training queries together (`pool/report.json`). `before`, `after`: as the oracles of
    `PoolQueryDone`; `rules`: mined trajectories by verdict and rule; `reserve`, `repeated`: trajectories of
    the data that were refused, and that repeat another."""

    queries: int
    before: OracleTotal
    after: OracleTotal
    left_out: dict[str, int] = {}
    heldout: int = 0
    injected: int = 0
    warnings: int = 0
    dropped: dict[str, int] = {}
    rules: dict[str, int] = {}
    reserve: int = 0
    repeated: int = 0
    asked: int = 0
    failed: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    model: str = ""
