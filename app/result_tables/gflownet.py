"""The evidence paths: the sampler beside its baselines, and the answers from its paths beside those from triples."""

from __future__ import annotations

from rich.table import Table

from app.figures import bounds, fixed, interval, probability, signed
from app.result_tables.layout import result_tables
from app.state.run import RunState
from app.words import method_name, sampler_name
from engine.events import SamplerEvaluated

_INTERVAL = "95% interval"
_SAMPLED = (
    "n",
    "paths",
    "success@1",
    _INTERVAL,
    "of all",
    "success@K",
    "recall@K",
    _INTERVAL,
    "hits@K",
    _INTERVAL,
    "TV to R",
)
_NOTES = (
    "independent draws: each path drawn for itself from P_F, as in the verdict; distinct paths: without replacement",
    "success@1: the first path meets an answer (@K: any of K does); of all: over all questions, also those left out",
    "recall@K: share of the answers that K paths meet; hits@K: different ones of them that meet an answer",
    "TV to R: total variation between the paths' probabilities and their rewards, 0 for a perfect sampler",
)
_ANSWERED = ("n", "hit", "recall", "hit of all", "triples", "tokens", "difference", _INTERVAL, "p")


def tables(state: RunState) -> list[Table]:
    """Both comparisons on the held-out questions."""
    answers = [
        (
            method_name(row.method), row.reader, str(row.n), fixed(row.hit), fixed(row.recall), fixed(row.hit_all),
            f"{row.triples:.1f}", f"{row.prompt_tokens:.1f}", signed(row.difference),
            interval(row.low, row.high), probability(row.p),
        )
        for row in state.gflownet.compared.values()
    ]  # fmt: skip
    return [
        *result_tables(
            "Evidence paths, on held-out questions",
            ["method"],
            _SAMPLED,
            map(_row, state.gflownet.test),
            notes=_NOTES,
        ),
        *result_tables(
            "Answers, against triples", ["evidence", "reader"], _ANSWERED, answers, folded="reader"
        ),
    ]


def _row(sampler: SamplerEvaluated) -> list[str]:
    cells = [sampler_name(sampler.method), str(sampler.n), str(sampler.k)]
    for name, digits in (("success@1", 3), ("answer_recall_union@{}", 3), ("unique_success_paths@{}", 1)):
        name = name.format(sampler.k)
        value, ends = sampler.metrics.get(name), sampler.intervals.get(name, (None, None))
        cells += [fixed(value, digits), bounds(*ends, digits)]
        if name == "success@1":
            cells += [fixed(sampler.metrics.get(each)) for each in ("success_all@1", f"success@{sampler.k}")]
    distance = fixed(sampler.metrics.get("total_variation"))
    return [*cells, f"{distance} (n {sampler.listed})" if sampler.listed else ""]
