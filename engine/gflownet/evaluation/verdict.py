"""The verdict on a sampler: the share of a question's answers that its independent draws meet, beside beam search."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.events.verdict import Verdict
from engine.gflownet.evaluation.evaluator import Evaluation
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.verdict_curve import running


def sampler_verdict(evaluations: Mapping[str, Evaluation], run_seed: int) -> Verdict:
    """From the evaluations on the test split, by method: at equally many paths. Its remark has the distinct paths,
    which were drawn without replacement."""
    own, beam = evaluations["gflownet"], evaluations["beam"]
    name = f"answer_recall_union@{own.k}"
    mine, theirs = (np.array(each.figures[name]) for each in (own, beam))
    seed = derive_seed(run_seed, "gflownet", f"bootstrap {name}")
    interval = paired_bootstrap(mine, theirs, seed)
    prior, distinct = (float(np.mean(evaluations[method].figures[name])) for method in ("prior", "distinct"))
    return Verdict(
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
        ahead=["prior"] if prior > mine.mean() else [],
        curve=running(mine),
        remark=f"These are independent draws; {own.k} distinct paths reach {distinct:.1%}.",
    )
