"""A whole plausible run of the stages pool and selector as events, the same on every machine: for tests."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from engine import events as ev

BEGIN = 1_760_000_000.0
POOL = list(range(64))


def pool_events(finish: bool = True) -> Iterator[ev.Event]:
    """The run's events in order, stamped."""
    stage = "pool"
    for seq, event in enumerate(_events(finish)):
        stage = "selector" if isinstance(event, ev.SelectorCompared | ev.SelectorStep) else stage
        yield msgspec.structs.replace(event, seq=seq, time=BEGIN + 0.2 * seq, stage=event.stage or stage)


def _events(finish: bool) -> Iterator[ev.Event]:
    stages = ["pool", "selector"]
    yield ev.Header(
        schema_version=1, name="demo", run_id="2025-10-09T08-53-20", seed=0, stages=stages, versions={}
    )
    yield ev.WorkerStarted(pid=4711, attempt=1, stages=stages)
    yield ev.StageStarted(total=3, unit="queries")
    yield improved()
    yield _as_it_was()
    yield _in_vain()
    if not finish:
        return
    yield _totals()
    yield ev.StageFinished(seconds=6.0, summary={"queries": 3}, files=["pool/rl_data.json"])
    yield from _selector()
    yield ev.WorkerStopped(status="finished")


def improved() -> ev.PoolQueryDone:
    """Two candidates in, one trajectory lost, two committed, four refused of which one fills a place."""
    after = list(POOL)
    after[7], after[24] = 100, 101
    return ev.PoolQueryDone(
        query_id="train-0000", question="Which digit is this?", answers={"7": 9, "1": 1}, given_pool=70,
        pool_before=POOL, pool_after=after, similarity=[round(0.95 - place / 200, 4) for place in range(64)],
        injected=[7, 24], referenced=[0, 1, 7, 24], oracle_before=0.3, oracle_after=1.0,
        trajectories=[
            _given((0, 1), 0.3, kept=1),
            _given((0, 24), 0.0, rule="its candidate was replaced"),
            _given((2, 3), None, rule="never scored"),
            _mined((100, 101), 1.0, "committed", "higher maximum", kept=2, answer="7"),
            _mined((1, 100), 0.6, "committed", "new score", kept=1, answer="1"),
            _mined((101, 1), 0.6, "refused", "no improvement", kept=1, answer="1"),
            _mined((130, 1), 0.0, "refused", "wrong, and not in the pool", answer="4"),
            _mined((131, 132), 1.0, "refused", "no improvement", answer="7"),
            _mined((5, 6), None, "refused", "never scored"),
        ],
        cut=6, dropped={"trajectory: same pair as another": 2}, asked=6, failed=1,
    )  # fmt: skip


def _given(pair: tuple[int, int], score: float | None, kept: int = 0, rule: str = "") -> ev.PoolTrajectory:
    return ev.PoolTrajectory(pair=pair, score=score, origin="beam", verdict="given", kept=kept, rule=rule)


def _mined(
    pair: tuple[int, int], score: float | None, verdict: str, rule: str, kept: int = 0, answer: str = ""
) -> ev.PoolTrajectory:
    return ev.PoolTrajectory(
        pair=pair, score=score, origin="global_positive_transfer", verdict=verdict, rule=rule, kept=kept,
        answer=answer,
    )  # fmt: skip


def _as_it_was() -> ev.PoolQueryDone:
    pairs = [(0, 1), (1, 0), (2, 3)]
    return ev.PoolQueryDone(
        query_id="train-0001", question="Is this digit even?", answers={"no": 10}, given_pool=20, pool_before=POOL,
        pool_after=POOL, similarity=[0.9] * 64, injected=[], referenced=[0, 1, 2, 3], oracle_before=1.0,
        oracle_after=1.0, filled=44, asked=2,
        trajectories=[
            ev.PoolTrajectory(pair=pair, score=1.0, origin="sample", verdict="given", kept=4) for pair in pairs
        ],
    )  # fmt: skip


def _in_vain() -> ev.PoolQueryDone:
    after = [*POOL[:-1], 139]
    return ev.PoolQueryDone(
        query_id="train-0002", question="Which digit comes after this one?", answers={"8": 6, "2": 4}, given_pool=64,
        pool_before=POOL, pool_after=after, similarity=[0.9] * 64, injected=[63], referenced=[63], oracle_before=0.6,
        oracle_after=0.6, asked=2, warning="injection did not raise oracle@64",
        trajectories=[
            _given((8, 9), 0.6, kept=6),
            _mined((8, 139), 0.3, "committed", "new score", kept=6, answer="2"),
        ],
    )  # fmt: skip


def _totals() -> ev.PoolTotals:
    return ev.PoolTotals(
        queries=3, heldout=2, injected=3, warnings=1, asked=10, failed=1, calls=11, tokens=2_400, cost=0.0125,
        model="vision-1",
        before=ev.OracleTotal(mean=1.9 / 3, positive=1, low=0.061, high=0.792),
        after=ev.OracleTotal(mean=2.6 / 3, positive=2, low=0.208, high=0.939),
        left_out={"embedding not finite": 4}, dropped={"trajectory: same pair as another": 2},
        rules={"refused: no improvement": 1, "committed: higher maximum": 1, "committed: new score": 2},
    )  # fmt: skip


def _selector() -> Iterator[ev.Event]:
    for method, accuracy in (("random", 0.45), ("rices", 0.81)):
        yield _compared(method, accuracy)
    for step in range(10, 401, 10):
        supervised = step <= 200
        yield ev.SelectorStep(
            step=step, steps=400, phase="supervised" if supervised else "policy_gradient",
            loss=5.0 - step / 100 if supervised else -0.03, expected_score=0.6 + step / 1000, gradient_norm=1.5,
            pairs=384, heldout_accuracy=0.7 + step / 2000 if step % 40 == 0 else None,
        )  # fmt: skip
    yield _compared("selector", 0.9)
    for number, score in enumerate((1.0, 0.0)):
        rices = 0.3 if number == 0 else 1.0
        chosen = (
            ("random", 0.0, 12, 13),
            ("random", 1.0, 14, 15),
            ("rices", rices, 0, 1),
        )
        yield ev.SelectorPicked(
            query_id=f"heldout-{number:04d}", question="Which digit is this?", answers={"7": 10}, pool=POOL,
            stage="selector",
            picks=[
                *(_pick(*pick) for pick in chosen),
                ev.SelectorPick(method="selector", pointer=[4, 5], pair=[4, 5], answer="7", score=score,
                                probability=0.169),
            ],
        )  # fmt: skip


def _compared(method: str, accuracy: float) -> ev.SelectorCompared:
    row = ev.SelectorCompared(
        method=method, n=2, accuracy=accuracy, low=accuracy - 0.1, high=min(1.0, accuracy + 0.1),
        asked=4 if method == "random" else 2,
    )  # fmt: skip
    if method == "rices":
        return row
    against = accuracy - 0.81
    return msgspec.structs.replace(
        row, difference=against, difference_low=against - 0.05, difference_high=against + 0.05,
    )  # fmt: skip


def _pick(method: str, score: float, first: int, last: int) -> ev.SelectorPick:
    pair = [first, last]
    return ev.SelectorPick(method=method, pointer=pair, pair=pair, answer="7" if score else "4", score=score)
