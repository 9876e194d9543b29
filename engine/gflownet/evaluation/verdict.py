"""The verdict on a sampler: the share of a question's answers that its independent draws meet, beside beam search."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.closest import with_closest
from engine.events.verdict import Closest, Verdict
from engine.gflownet.evaluation.evaluator import Evaluation
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.verdict_curve import running


def sampler_verdict(evaluations: Mapping[str, Evaluation], run_seed: int) -> Verdict:
    """From the evaluations on the test split, by method: at equally many paths. Its remark has the distinct paths,
    which were drawn without replacement."""
    own = evaluations["gflownet"]
    name = f"answer_recall_union@{own.k}"
    mine, theirs, prior, distinct = (
        np.array(evaluations[method].figures[name]) for method in ("gflownet", "beam", "prior", "distinct")
    )
    seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
    interval, beside = paired_bootstrap(mine, theirs, seed), paired_bootstrap(prior, mine, seed)
    verdict = Verdict(
        method="gflownet",
        baseline="beam",
        metric="answer_recall",
        items="questions",
        graded=True,
        k=own.k,
        n=own.n,
        value=float(mine.mean()),
        baseline_value=float(theirs.mean()),
        difference=interval.difference,
        low=interval.low,
        high=interval.high,
        fixed=int((mine > theirs).sum()),
        broken=int((mine < theirs).sum()),
        ahead=["prior"] if prior.mean() > mine.mean() else [],
        curve=running(mine),
        remark=f"These are independent draws; {own.k} distinct paths reach {distinct.mean():.1%}.",
    )
    simple = Closest(
        method="prior",
        n=own.n,
        value=float(prior.mean()),
        difference=beside.difference,
        low=beside.low,
        high=beside.high,
    )
    return with_closest(verdict, [simple])
