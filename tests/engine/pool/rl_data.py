"""Hypothesis strategies: RL data as files may hold it, pools of any size, rows twice, scores of every kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine.pool.data.records import RLQueryData, TrajectoryData

ROWS = 40
SCORES = (0.0, 0.3, 0.6, 0.9, 1.0)
METHODS = ("beam", "sample", "random")


@st.composite
def trajectories(draw: st.DrawFn, pool: list[int]) -> TrajectoryData:
    """One that points into `pool`, with or without `pointer_global`, sometimes never scored."""
    place = st.integers(0, len(pool) - 1)
    pointer = [draw(place), draw(place)]
    score = draw(st.sampled_from(SCORES))
    extra: dict[str, Any] = draw(
        st.sampled_from([{}, {"beam_score": -1.5}, {"logprob_score": None}, {"eval_failed": True}])
    )
    return TrajectoryData(
        pointer=pointer,
        pointer_global=draw(st.sampled_from([None, [pool[place] for place in pointer]])),
        vqa_correct=int(score > 0),
        vqa_acc_score=score,
        gen_method=draw(st.sampled_from(METHODS)),
        extra=extra,
    )


@st.composite
def queries(
    draw: st.DrawFn, query_id: str = "7", rows: int = ROWS, sizes: tuple[int, int] = (1, 30)
) -> RLQueryData:
    """One query; its pool may hold a row twice."""
    pool = draw(st.lists(st.integers(0, rows - 1), min_size=sizes[0], max_size=sizes[1]))
    return RLQueryData(
        query_id=query_id,
        candidate_pool_indices=pool,
        pointer_candidates=draw(st.lists(trajectories(pool), max_size=20)),
        extra=draw(st.sampled_from([{}, {"question": "which digit?"}])),
    )
