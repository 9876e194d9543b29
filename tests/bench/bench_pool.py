"""What pools and selector are worth on the digits: three seeds.

    python -m tests.bench.bench_pool [seed ...]

Every seed has pictures, pools, queries and a selector of its own. `pool.csv`: training queries whose pool has a fully
right pair, before injection (of the pairs that came with the data, then of all that were asked) and after it.
`selector.csv`: the methods on the held-out queries, by seed and together; also the selector without policy-gradient
steps, and with recorded trajectories alone.
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
from engine.pool.selector.comparison import Scored, compare
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.run.registry import resolve_stage
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
    "seed", "method", "n", "accuracy", "low", "high", "positive", "positive_low", "positive_high", "difference",
    "difference_low", "difference_high", "p",
)  # fmt: skip


def run(name: str, seed: int, folder: Path, selector: dict[str, Any]) -> tuple[list[Event], float]:
    """A stage's events, and its seconds."""
    config = Config.model_validate({"run": {"seed": seed}, "pool": POOL, "selector": selector})
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


def one_seed(seed: int) -> tuple[PoolTotals, dict[str, Scored], dict[str, float]]:
    """Totals of the pools, picks by method, and seconds by stage."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pool"
        events, seconds = run("pool", seed, folder, {})
        (totals,) = [event for event in events if isinstance(event, PoolTotals)]
        took = {"pool": seconds}
        methods: dict[str, Scored] = {}
        for variant, settings in VARIANTS.items():
            copy = Path(place) / "copy"
            shutil.copytree(folder, copy)
            events, took[variant] = run("selector", seed, copy, settings)
            names = {"selector": variant}
            if variant == "selector":
                names |= {name: name for name in ("random", "rices", "oracle")}
            methods |= scored(events, names)
            shutil.rmtree(copy)
    return totals, methods, took


def rows_of(seed: int | str, methods: Mapping[str, Scored]) -> list[dict[str, Any]]:
    """Rounded rows of selector.csv."""
    return [
        {
            key: round(value, 4) if isinstance(value, float) and key != "p" else value
            for key, value in {"seed": seed, **msgspec.to_builtins(row)}.items()
        }
        for row in compare(methods, 0)
    ]


def main(seeds: list[int]) -> None:
    pools: list[dict[str, Any]] = []
    selectors: list[dict[str, Any]] = []
    together: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        totals, methods, took = one_seed(seed)
        for when in ("before", "inside", "after"):
            oracle = getattr(totals, when)
            low, high = wilson(oracle.positive, totals.queries)
            pools.append(
                {"seed": seed, "when": when, "queries": totals.queries, "oracle": round(oracle.mean, 4),
                 "with_positive": round(oracle.positive / totals.queries, 4), "low": round(low, 4),
                 "high": round(high, 4), "asked": totals.asked, "injected": totals.injected,
                 "reserve": totals.reserve}
            )  # fmt: skip
        selectors += rows_of(seed, methods)
        for method, found in methods.items():
            together.setdefault(method, {}).update({f"{seed} {name}": picks for name, picks in found.items()})
        print(seed, {name: round(seconds, 1) for name, seconds in took.items()}, flush=True)
    selectors += rows_of("all", together)
    write_atomic(RESULTS / "pool.csv", csv_text(pools))
    write_atomic(RESULTS / "selector.csv", csv_text(selectors, COLUMNS))
    for name in ("pool", "selector"):
        print((RESULTS / f"{name}.csv").read_text())


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0, 1, 2])
