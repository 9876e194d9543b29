"""How good the evidence is: the reader's answers from it, and the sampled paths beside those of simpler methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.blocks.block import Block, Paragraph, Picture, Table, Target, Words, table_of
from app.blocks.plots import IntervalRow, interval_picture
from app.methods.cells import difference_of, digits, interval_of, linked_counts
from app.methods.chart import Series
from app.methods.gflownet.evidence import PATHS, evidence_name
from app.methods.gflownet.questions import question_rows
from app.state.gflownet import GFlowNetState
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import bounds, fixed, probability
from app.wording.text import counted
from app.wording.words import figure_name, sampler_name
from engine.events import EvidenceCompared, SamplerEvaluated

_SAMPLER = ("gflownet", "distinct")
_SUCCESS, _REACHED, _MEETING = "success@{}", "answer_recall_union@{}", "unique_success_paths@{}"
_NOTES = (
    "independent draws: each path drawn for itself from P_F; the verdict speaks of these",
    "distinct paths: the same sampler, drawing without replacement: no path twice, the most probable first",
    "greedy: the most probable action at every step; beam search: by the edges' log scores",
)
_SETTINGS = {"temperature": "temperature", "edge_bonus": "bonus for each edge", "stop_score": "score of STOP"}


# ---------------------------------------------------------------- the reader's answers


ANSWERED: Sequence[ListColumn[EvidenceCompared]] = (
    ListColumn("evidence", "evidence", 23, value=lambda r: r.method,
               show=lambda m: Cell(evidence_name(m), "strong" if m == PATHS else "")),
    ListColumn("n", "n", 5, "right", 5),
    ListColumn("hit", "hit", 6, "right", help="share of questions whose answer names a right one", show=fixed),
    ListColumn("difference", "− triples", 9, "right", value=difference_of("difference", "low", "high")),
    ListColumn("interval", "95%", 16, "right", 1, value=interval_of("difference", "low", "high")),
    ListColumn("p", "p", 6, "right", 3, help="McNemar, exact", show=probability),
    ListColumn("recall", "recall", 6, "right", 2, help="share of the right answers that are named", show=fixed),
    ListColumn("hit_all", "hit of all", 10, "right", 4,
               help="over all held-out questions; those whose answers no path reaches count as missed", show=fixed),
    ListColumn("triples", "triples", 7, "right", 6, help="of the evidence, mean", show=digits(1)),
    ListColumn("tokens", "tokens", 6, "right", 6, value=lambda r: r.prompt_tokens, show=digits(1)),
)  # fmt: skip


def answered(state: GFlowNetState) -> list[Block]:
    """The reader's hits by kind of evidence, and the questions on which they part."""
    rows = sorted(state.compared.values(), key=lambda row: row.method == PATHS)
    readers = [f"read by {reader}" for reader in dict.fromkeys(row.reader for row in rows)]
    parted = _parted(state) if rows else ""
    return [
        *table_of(ANSWERED, rows, "Answers of the reader, against triples", readers),
        *([Paragraph(parted)] if parted else []),
    ]


def _parted(state: GFlowNetState) -> Words:
    """On how many questions one kind of evidence alone leads to a right answer; the counts lead to the first."""
    signs = [row.sign for row in question_rows(state)]
    better, worse = signs.count(1), signs.count(-1)
    return linked_counts([
        (better, f"▲ {counted(better, 'questions')} right from paths only", "good", Target("better", "")),
        (worse, f"▼ {counted(worse, 'questions')} right from triples only", "bad", Target("worse", "")),
    ])  # fmt: skip


# ---------------------------------------------------------------- the sampled paths


def _at(name: str) -> Callable[[SamplerEvaluated], float | None]:
    return lambda event: event.metrics.get(name.format(event.k))


def _bounds(name: str, digits: int = 3) -> Callable[[SamplerEvaluated], str]:
    return lambda event: bounds(*event.intervals.get(name.format(event.k), (None, None)), digits)


def _distance(event: SamplerEvaluated) -> str:
    listed = f" (n {event.listed})" if event.listed else ""
    return fixed(event.metrics.get("total_variation")) + listed


SAMPLED: Sequence[ListColumn[SamplerEvaluated]] = (
    ListColumn("method", "method", 27, show=lambda m: Cell(sampler_name(m), "strong" if m in _SAMPLER else "")),
    ListColumn("n", "n", 4, "right", 5),
    ListColumn("k", "K", 3, "right", 4, help="paths of a question"),
    ListColumn("reached", "reached@K", 9, "right", help="share of a question's answers that its K paths meet",
               value=_at(_REACHED), show=fixed),
    ListColumn("reached_interval", "95%", 14, "right", 1, value=_bounds(_REACHED)),
    ListColumn("success1", "success@1", 9, "right", help="share of questions whose first path meets an answer",
               value=_at("success@1"), show=fixed),
    ListColumn("success1_interval", "95%", 14, "right", 3, value=_bounds("success@1")),
    ListColumn("success1_all", "of all", 6, "right", 6, value=_at("success_all@1"), show=fixed,
               help="success@1 over all questions, also those whose answers no path reaches"),
    ListColumn("success", "success@K", 9, "right", 2, help="any of the K paths meets an answer", value=_at(_SUCCESS),
               show=fixed),
    ListColumn("hits1", "hits@1", 6, "right", 1, value=_at("hits@1"), show=fixed,
               help="share of questions of which the entity where most of the K paths end is an answer"),
    ListColumn("meeting", "paths@K", 7, "right", 5, help="different paths among the K that meet an answer",
               value=_at(_MEETING), show=digits(1)),
    ListColumn("meeting_interval", "95%", 10, "right", 7, value=_bounds(_MEETING, 1)),
    ListColumn("path_f1", "path F1", 7, "right", 3, help="of a path's edges against the shortest paths",
               value=_at("path_hit_f1"), show=fixed),
    ListColumn("distance", "TV", 12, "right", 2, value=_distance,
               help="total variation between P_F and R / sum R, 0 for a perfect sampler with P_B = 1, over the n "
                    "questions whose paths can all be listed"),
    ListColumn("rank", "ρ", 6, "right", 6, help="Spearman: log P_F against log R", value=_at("logpf_logr_spearman"),
               show=fixed),
)  # fmt: skip


def sampled(state: GFlowNetState) -> list[Block]:
    """The sampler beside simpler methods at equally many paths."""
    return list(table_of(SAMPLED, state.test, "Paths of the held-out questions", _NOTES))


def coverage(state: GFlowNetState) -> list[Block]:
    """What was left out, what was chosen on validation, and every figure of every method."""
    if not state.test:
        return []
    missed = max(event.missed for event in state.test)
    lines = [f"left out: {counted(missed, 'questions')} whose answers no path reaches"] if missed else []
    lines += [
        f"{sampler_name(event.method)}: {_SETTINGS[name]} {value:g}, chosen on validation"
        for event in state.test
        for name, value in event.settings.items()
        if name in _SETTINGS
    ]
    return [*(Paragraph(line, "dim") for line in lines), _every_figure(state.test)]


def _every_figure(events: Sequence[SamplerEvaluated]) -> Table:
    rows = [
        (figure_name(name), *("" if (value := e.metrics.get(name)) is None else fixed(value) for e in events))
        for name in dict.fromkeys(name for event in events for name in event.metrics)
    ]
    header = ("figure", *(sampler_name(event.method) for event in events))
    notes = [
        "@10: among the first 10 paths of a question; path hit precision, recall, F1 @3: of each path's first 3 edges",
        "hits @1: whether the end of most paths (distinct paths, beam search: the end of most weight) is an answer",
    ]
    return Table(header, rows, len(events), "Every figure", notes, priority=[0, *range(len(events))])


# ---------------------------------------------------------------- curves and pictures


def _by_k(event: SamplerEvaluated) -> Series:
    """What a method reaches over the number of paths; a single point is no line."""
    stem = _REACHED.format("")
    ks = sorted(int(metric.removeprefix(stem)) for metric in event.metrics if metric.startswith(stem))
    ks = ks if len(ks) > 1 else []
    return Series(sampler_name(event.method), ks, [event.metrics[_REACHED.format(k)] for k in ks])


def reached_by_k(state: RunState) -> list[Series]:
    """The share of the answers that the first K paths meet."""
    return [_by_k(event) for event in state.gflownet.test]


def pictures(state: GFlowNetState) -> list[Picture]:
    """The methods' figures with their intervals."""
    captions = {
        "success@1": "Share of first paths that meet an answer",
        _REACHED: "Share of the answers that K paths meet",
    }
    where = "on held-out questions, with 95% intervals where they were computed"
    return [
        picture
        for name, caption in captions.items()
        for picture in interval_picture(_intervals(state.test, name), f"{caption}, {where}")
    ]


def _intervals(events: Sequence[SamplerEvaluated], name: str) -> Iterator[IntervalRow]:
    for event in events:
        low, high = event.intervals.get(name.format(event.k), (None, None))
        yield sampler_name(event.method), _at(name)(event), low, high
