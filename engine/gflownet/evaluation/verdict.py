"""The verdict on a sampler beside beam search: the share of a question's answers that its independent draws meet, or,
where questions have so few paths that any K of them reach all answers, whether the draws name an answer (hits@1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.closest import paired_closest, paired_verdict, with_closest
from engine.events.verdict import Verdict
from engine.gflownet.evaluation.evaluator import Evaluation, deciding_figure
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.verdict_curve import running

_OF_MANY = "These are independent draws; {k} distinct paths reach {distinct:.1%}, {more} against beam search."
_OF_FEW = (
    "Most questions have fewer than {k} paths. These are independent draws; distinct paths have {distinct:.1%}, {more} "
    "against beam search."
)


def sampler_verdict(evaluations: Mapping[str, Evaluation], run_seed: int) -> Verdict:
    """From the evaluations on the test split, by method: at equally many paths. Its remark has the distinct paths,
    which were drawn without replacement."""
    evaluation = evaluations["gflownet"]
    name = deciding_figure(evaluations["beam"])
    few = name == "hits@1"
    mine, theirs, prior, distinct = (
        np.array(evaluations[method].figures[name]) for method in ("gflownet", "beam", "prior", "distinct")
    )
    seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
    more = paired_bootstrap(distinct, theirs, seed)
    points = f"{_points(more.difference, '+')} points [{_points(more.low)}, {_points(more.high)}]"
    verdict = paired_verdict(
        "gflownet",
        "beam",
        "hits@1" if few else "answer_recall",
        mine,
        theirs,
        seed,
        items="questions",
        graded=not few,
        k=None if few else evaluation.k,
        ahead=["prior"] if prior.mean() > mine.mean() else [],
        curve=running(mine),
        remark=(_OF_FEW if few else _OF_MANY).format(k=evaluation.k, distinct=distinct.mean(), more=points),
    )
    return with_closest(verdict, [paired_closest("prior", prior, mine, seed)])


def _points(share: float, sign: str = "") -> str:
    """Percentage points; what rounds to zero has no sign."""
    points = round(100 * share, 1) or 0.0
    return f"{points:{sign if points else ''}.1f}".replace("-", "−")
