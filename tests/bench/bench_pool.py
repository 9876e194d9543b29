"""What pools and selector are worth on the digits: three seeds.

    python -m tests.bench.bench_pool [seed ...]

Every seed has pictures, pools, queries and a selector of its own. `pool.csv`: training queries whose pool has a fully
right pair, before injection (of the pairs that came with the data) and after it.
`selector.csv`: the methods on the held-out queries, by seed and together; also the selector without policy-gradient
steps, and with recorded trajectories alone. Each selector twice: trained on committed trajectories, repeated where
they are too few, as the spec has it, and with `pool.fill_with_refused` ("filled"). `pool_filled.csv`: filled minus
committed, paired by query.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.config.config import Config
from engine.events import Event, PoolTotals, SelectorPicked
from engine.files import csv_text, write_atomic
from engine.pool.selector.comparison import Scored, accuracies, compare
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.run.registry import resolve_stage
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.wilson import wilson
from tests.run_stage import run_stage

RESULTS = Path(__file__).parent / "results"
POOL = {"train_queries": 600, "heldout_queries": 300}
VARIANTS: dict[str, dict[str, Any]] = {
    "selector": {},
    "selector, supervised only": {"policy_steps": 0},
    "selector, nothing drawn": {"rollouts": 0},
}
COLUMNS = (
    "seed", "method", "n", "accuracy", "low", "high", "difference", "difference_low", "difference_high",
)  # fmt: skip


FILLED = ", filled"


def run(
    name: str, seed: int, folder: Path, selector: dict[str, Any], filled: bool
) -> tuple[list[Event], float]:
    """A stage's events, and its seconds."""
    pool = POOL | {"fill_with_refused": filled}
    config = Config.model_validate({"run": {"seed": seed}, "pool": pool, "selector": selector})
    began = time.monotonic()
    return run_stage(resolve_stage(name), config, folder), time.monotonic() - began


def scored(events: list[Event], names: dict[str, str]) -> dict[str, Scored]:
    """Picks by method, called as `names` says, and query."""
    found: dict[str, dict[str, list[EvaluatedPair]]] = {name: {} for name in names.values()}
    for event in events:
        if isinstance(event, SelectorPicked):
            for pick in event.picks:
                if pick.method in names:
                    pair = (pick.pair[0], pick.pair[1])
                    one = EvaluatedPair(
                        query_id=event.query_id, pair=pair, model="", answer=pick.answer, score=pick.score
                    )
                    found[names[pick.method]].setdefault(event.query_id, []).append(one)
    return dict(found)


def one_seed(seed: int, filled: bool) -> tuple[PoolTotals, dict[str, Scored], dict[str, float]]:
    """Totals of the pools, picks by method, and seconds by stage."""
    suffix = FILLED if filled else ""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pool"
        events, seconds = run("pool", seed, folder, {}, filled)
        (totals,) = [event for event in events if isinstance(event, PoolTotals)]
        took = {f"pool{suffix}": seconds}
        methods: dict[str, Scored] = {}
        for variant, settings in VARIANTS.items():
            copy = Path(place) / "copy"
            shutil.copytree(folder, copy)
            events, took[variant + suffix] = run("selector", seed, copy, settings, filled)
            names = {"selector": variant + suffix}
            if variant == "selector" and not filled:
                names |= {name: name for name in ("random", "rices")}
            methods |= scored(events, names)
            shutil.rmtree(copy)
    return totals, methods, took


def rows_of(seed: int | str, methods: Mapping[str, Scored]) -> list[dict[str, Any]]:
    """Rounded rows of selector.csv."""
    return [
        {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in {"seed": seed, **msgspec.to_builtins(row)}.items()
        }
        for row in compare(methods, 0)
    ]


def filled_rows(seed: int | str, methods: Mapping[str, Scored]) -> list[dict[str, Any]]:
    """Rows of pool_filled.csv: what filling changes, by selector."""
    rows: list[dict[str, Any]] = []
    for variant in VARIANTS:
        pair = {name: methods[name] for name in (variant, variant + FILLED)}
        committed, filled = accuracies(pair).values()
        found = paired_bootstrap(filled, committed, derive_seed(0, "bench", "filled"))
        rows.append(
            {"seed": seed, "method": variant, "n": len(filled), "committed": round(float(committed.mean()), 4),
             "filled": round(float(filled.mean()), 4), "difference": round(found.difference, 4),
             "low": round(found.low, 4), "high": round(found.high, 4)}
        )  # fmt: skip
    return rows


def pool_rows(seed: int, filled: bool, totals: PoolTotals) -> list[dict[str, Any]]:
    """Rows of pool.csv."""
    rows: list[dict[str, Any]] = []
    for when in ("before", "after"):
        oracle = getattr(totals, when)
        low, high = wilson(oracle.positive, totals.queries)
        rows.append(
            {"seed": seed, "filled": filled, "when": when, "queries": totals.queries,
             "oracle": round(oracle.mean, 4), "with_positive": round(oracle.positive / totals.queries, 4),
             "low": round(low, 4), "high": round(high, 4), "asked": totals.asked, "injected": totals.injected,
             "reserve": totals.reserve, "repeated": totals.repeated}
        )  # fmt: skip
    return rows


def main(seeds: list[int]) -> None:
    tables: dict[str, list[dict[str, Any]]] = {"pool": [], "selector": [], "pool_filled": []}
    together: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        methods: dict[str, Scored] = {}
        for filled in (False, True):
            totals, own, took = one_seed(seed, filled)
            tables["pool"] += pool_rows(seed, filled, totals)
            methods |= own
            print(seed, {name: round(seconds, 1) for name, seconds in took.items()}, flush=True)
        tables["selector"] += rows_of(seed, methods)
        tables["pool_filled"] += filled_rows(seed, methods)
        for method, found in methods.items():
            together.setdefault(method, {}).update({f"{seed} {name}": picks for name, picks in found.items()})
    tables["selector"] += rows_of("all", together)
    tables["pool_filled"] += filled_rows("all", together)
    for name, rows in tables.items():
        write_atomic(RESULTS / f"{name}.csv", csv_text(rows, COLUMNS if name == "selector" else None))
        print((RESULTS / f"{name}.csv").read_text())


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0, 1, 2])
