"""Each pair that a query is tried with is reported when its reply is there, and counted once."""

from __future__ import annotations

from pathlib import Path

from app.state.run import RunState
from engine.events import PoolPairEvaluated, PoolQueryDone
from engine.files import read_jsonl
from engine.pool import layout
from tests.engine.pool.small_run import run_pool


def test_pairs_are_reported_before_their_query_is_done(tmp_path: Path) -> None:
    """All that evaluated.jsonl holds, in its order; between two queries only the second one's."""
    events = run_pool(tmp_path, train_queries=6, batch_size=5, max_eval_pairs=15)
    asked: dict[str, list[PoolPairEvaluated]] = {}
    for event in events:
        if isinstance(event, PoolPairEvaluated):
            asked.setdefault(event.query_id, []).append(event)
        elif isinstance(event, PoolQueryDone):
            assert len(asked[event.query_id]) == event.asked > 0
    lines = [line for line in read_jsonl(layout.evaluated(tmp_path)) if line["query_id"] in asked]
    reported = [event for one in asked.values() for event in one]
    assert [(e.query_id, list(e.pair), e.score, e.answer) for e in reported] == [
        (line["query_id"], line["pair"], line["score"], line["answer"]) for line in lines
    ]


def test_the_state_counts_the_pairs_of_unfinished_queries_once() -> None:
    state = RunState()
    for query, pair, score in [
        ("q1", (3, 4), 0.3),
        ("q1", (3, 5), None),
        ("q2", (3, 4), 1.0),
        ("q1", (3, 5), 0.6),
    ]:
        state.apply(PoolPairEvaluated(query_id=query, pair=pair, score=score))
    assert state.pool.under_way == {"q1": {(3, 4): 0.3, (3, 5): 0.6}, "q2": {(3, 4): 1.0}}
    kept = state.share()
    state.apply(
        PoolQueryDone(
            query_id="q1", question="?", answers={}, given_pool=0, pool_before=[], pool_after=[], similarity=[],
            injected=[], referenced=[], oracle_before=0.0, oracle_after=0.6, trajectories=[],
        )
    )  # fmt: skip
    assert list(state.pool.under_way) == ["q2"]
    assert sum(map(len, kept.pool.under_way.values())) == 3
