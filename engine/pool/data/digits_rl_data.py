"""Generates RL data like an earlier beam search: pools of any size, missed positives (spec Pool, Overview)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.pool.data.digits import DigitsDataset
from engine.pool.data.records import RLData, RLQueryData, TrajectoryData
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import VQAAsk, official_vqa_accuracy
from engine.seeds import generator

SMALLEST_POOL, LARGEST_POOL = 8, 128
_NEIGHBOURS = 300
"""Most similar demonstrations from which half of a pool is drawn; the other half is drawn from all."""
_MISSED = 0.4
"""Share of training queries whose pool has no demonstration with a fully right answer."""
_BEAMS, _SAMPLES, _RANDOMS = 4, 4, 4
_SAMPLING_TEMPERATURE = 0.02

Evaluate = Callable[[Sequence[VQAAsk]], Iterable[EvaluatedPair]]


def initial_rl_data(dataset: DigitsDataset, evaluate: Evaluate, made_by: str, seed: int) -> RLData:
    """RL data for every query. Training queries have trajectories, scored by `evaluate`; held-out queries have a pool,
    drawn without their answers, and no trajectories. `made_by`: a note kept with the data."""
    trained = set(dataset.splits["train"])
    pools = {name: _pool(dataset, name, seed, name in trained) for name in dataset.query_ids}
    drawn = {name: list(_trajectories(dataset, name, seed, pools[name])) for name in dataset.splits["train"]}
    asks = [
        VQAAsk(name, trajectory.rows) for name, trajectories in drawn.items() for trajectory in trajectories
    ]
    evaluated = iter(evaluate(asks))
    return RLData(
        {
            name: RLQueryData(
                query_id=name,
                candidate_pool_indices=pool,
                pointer_candidates=[_scored(new, next(evaluated).score) for new in drawn.get(name, ())],
            )
            for name, pool in pools.items()
        },
        {"_made_by": f"{made_by}, seed {seed}"},
    )


def _pool(dataset: DigitsDataset, name: str, seed: int, training: bool) -> list[int]:
    draws = generator(seed, "digits", f"pool {name}")
    size = int(np.exp(draws.uniform(np.log(SMALLEST_POOL), np.log(LARGEST_POOL + 1))))
    missed = bool(draws.random() < _MISSED) and training
    order = np.argsort(-_similarity(dataset, name), kind="stable")
    if missed:
        annotations = dataset.annotations(name)
        right = {answer for answer in set(annotations) if official_vqa_accuracy(answer, annotations) == 1}
        order = np.array([row for row in order.tolist() if dataset.demonstration(row)[1] not in right])
    near = draws.permutation(order[:_NEIGHBOURS])[: (size + 1) // 2]
    rest = draws.permutation(np.setdiff1d(order, near))[: size - len(near)]
    return draws.permutation(np.concatenate([near, rest])).tolist()


def _trajectories(dataset: DigitsDataset, name: str, seed: int, pool: list[int]) -> Iterator[TrajectoryData]:
    """Beams: pairs of the four most similar rows; samples: drawn by similarity; random: drawn evenly."""
    draws = generator(seed, "digits", f"trajectories {name}")
    similarity = _similarity(dataset, name)[pool]
    best = np.argsort(-similarity, kind="stable")[:4].tolist()
    pairs = [(first, last) for last in best for first in best if first != last]
    for first, last in sorted(pairs, key=lambda pair: -similarity[list(pair)].sum())[:_BEAMS]:
        yield _unscored(pool, first, last, "beam", beam_score=float(similarity[[first, last]].sum()))
    weights = np.exp((similarity - similarity.max()) / _SAMPLING_TEMPERATURE)
    chances = weights / weights.sum()
    for _ in range(_SAMPLES):
        first, last = draws.choice(len(pool), 2, replace=False, p=chances).tolist()
        logprob = np.log(chances[first]) + np.log(chances[last] / (1 - chances[first]))
        yield _unscored(pool, first, last, "sample", logprob_score=float(logprob))
    for _ in range(_RANDOMS):
        first, last = draws.choice(len(pool), 2, replace=False).tolist()
        yield _unscored(pool, first, last, "random")


def _similarity(dataset: DigitsDataset, name: str) -> NDArray[np.float32]:
    """Similarity [N] of every demonstration to the query."""
    return dataset.embeddings @ dataset.query_embedding(name)


def _unscored(pool: list[int], first: int, last: int, method: str, **extra: float) -> TrajectoryData:
    return TrajectoryData(
        pointer=[first, last],
        pointer_global=[pool[first], pool[last]],
        vqa_correct=0,
        vqa_acc_score=0.0,
        gen_method=method,
        extra=extra,
    )


def _scored(drawn: TrajectoryData, score: float | None) -> TrajectoryData:
    if score is None:
        return msgspec.structs.replace(drawn, extra={**drawn.extra, "eval_failed": True})
    return msgspec.structs.replace(drawn, vqa_correct=int(score == 1), vqa_acc_score=score)
