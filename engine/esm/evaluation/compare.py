"""A method against greedy over the same examples: paired interval and McNemar's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from engine.config.config import Config
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.seeds import derive_seed
from engine.statistics import Interval, mcnemar, paired_bootstrap


@dataclass(frozen=True)
class Comparison(Interval):
    """`difference` = accuracy minus the baseline's, with a paired bootstrap 95% interval; `p` is McNemar's
    exact two-sided one; `fixed`/`broken`: examples right here and wrong there, and the other way."""

    p: float
    fixed: int
    broken: int


def compared(lines: Sequence[AnswerLine], baseline: Sequence[AnswerLine], config: Config) -> Comparison:
    """Compare lines of per_example.jsonl, matched by their order (checked by id)."""
    if [line.example_id for line in lines] != [line.example_id for line in baseline]:
        raise ValueError("a comparison needs the same examples in the same order")
    here = np.array([line.correct for line in lines], dtype=bool)
    there = np.array([line.correct for line in baseline], dtype=bool)
    seed = derive_seed(config.run.seed, "bootstrap", "accuracy")
    interval = paired_bootstrap(here, there, seed, config.eval.bootstrap_resamples)
    return Comparison(
        **asdict(interval),
        p=mcnemar(here, there),
        fixed=int((here & ~there).sum()),
        broken=int((~here & there).sum()),
    )
