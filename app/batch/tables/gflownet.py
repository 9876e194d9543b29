"""The evidence paths: the sampler beside its baselines, and the answers from its paths beside those from triples."""

from __future__ import annotations

from rich.table import Table

from app.batch.tables.layout import figure, interval, probability, result_tables
from app.state.run import RunState
from engine.events import SamplerEvaluated

_INTERVAL = "95% interval"
_SAMPLED = ("n", "paths", "success@1", _INTERVAL, "success@K", _INTERVAL, "recall@K", _INTERVAL, "path F1")
_ANSWERED = ("n", "hit", "recall", "hit of all", "triples", "tokens", "difference", _INTERVAL, "p")


def tables(state: RunState) -> list[Table]:
    """Both comparisons on the held-out questions."""
    answers = [
        (
            row.method, row.reader, str(row.n), figure(row.hit), figure(row.recall), figure(row.hit_all),
            f"{row.triples:.1f}", f"{row.prompt_tokens:.1f}", figure(row.difference, "+"),
            interval(row.low, row.high, "+"), probability(row.p),
        )
        for row in state.gflownet.compared.values()
    ]  # fmt: skip
    return [
        *result_tables(
            "Evidence paths, on held-out questions", ["method"], _SAMPLED, map(_row, state.gflownet.test)
        ),
        *result_tables(
            "Answers, against triples", ["evidence", "reader"], _ANSWERED, answers, folded="reader"
        ),
    ]


def _row(sampler: SamplerEvaluated) -> list[str]:
    cells = [sampler.method, str(sampler.n), str(sampler.k)]
    for name in ("success@1", f"success@{sampler.k}", f"answer_recall_union@{sampler.k}"):
        cells += [figure(sampler.metrics.get(name)), interval(*sampler.intervals.get(name, (None, None)))]
    return [*cells, figure(sampler.metrics.get("path_hit_f1"))]
