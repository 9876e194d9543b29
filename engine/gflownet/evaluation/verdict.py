"""The verdict on a sampler beside beam search: the share of a question's answers that its independent draws meet, or,
where questions have so few paths that any K of them reach all answers, whether the draws name an answer (hits@1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from engine.closest import with_closest
from engine.events.verdict import Closest, Verdict
from engine.gflownet.evaluation.evaluator import Evaluation, deciding_figure
from engine.seeds import derive_seed
from engine.statistics import paired_bootstrap
from engine.verdict_curve import running

_OF_MANY = "These are independent draws; {k} distinct paths reach {distinct:.1%}."
_OF_FEW = "Most questions have fewer than {k} paths. These are independent draws; distinct paths have {distinct:.1%}."


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
    interval, beside = paired_bootstrap(mine, theirs, seed), paired_bootstrap(prior, mine, seed)
    verdict = Verdict(
        method="gflownet",
        baseline="beam",
        metric="hits@1" if few else "answer_recall",
        items="questions",
        graded=not few,
        k=None if few else evaluation.k,
        n=evaluation.n,
        value=float(mine.mean()),
        baseline_value=float(theirs.mean()),
        **asdict(interval),
        fixed=int((mine > theirs).sum()),
        broken=int((mine < theirs).sum()),
        ahead=["prior"] if prior.mean() > mine.mean() else [],
        curve=running(mine),
        remark=(_OF_FEW if few else _OF_MANY).format(k=evaluation.k, distinct=distinct.mean()),
    )
    simple = Closest(
        method="prior",
        n=evaluation.n,
        value=float(prior.mean()),
        **asdict(beside),
    )
    return with_closest(verdict, [simple])
